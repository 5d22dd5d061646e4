package experiment

import (
	"github.com/csiglab/csiglab/topologies/netbench"
	"github.com/csiglab/csiglab/units"
)

// NetBench is a fabric from a topology file of NetBench, which has neither rates nor
// delays.
type NetBench struct {
	File        string         `yaml:"file,required" is:"file" doc:"NetBench '.topology' file"`
	Servers     int            `yaml:"servers" is:"ports" default:"1" doc:"hosts of each node that is a server and a ToR in one, as 'scenario_topology_extend_servers_per_tl_node' of NetBench"`
	Rate        units.Rate     `yaml:"rate,required" is:"rate" doc:"of the links between switches"`
	HostRate    units.Rate     `yaml:"host_rate" is:"rate or auto" default:"auto" doc:"of the hosts' links; auto: the same"`
	Delay       units.Duration `yaml:"delay,required" is:"link delay" doc:"of the links between switches"`
	HostDelay   units.Duration `yaml:"host_delay" is:"link delay or auto" default:"auto" doc:"of the hosts' links; auto: the same"`
	SwitchDelay units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Ports       int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// Build implements TopologySpec.
func (f NetBench) Build() (Built, error) {
	r, err := openInput(f.File, maxTopologyFile)
	if err != nil {
		return Built{}, err
	}
	defer r.Close() // opened for reading
	custom, err := netbench.Read(f.File, r, netbench.Options{
		Rate: f.Rate, HostRate: f.HostRate, Delay: f.Delay, HostDelay: f.HostDelay, SwitchDelay: f.SwitchDelay, Servers: f.Servers, Ports: f.Ports,
	})
	if err != nil {
		return Built{}, inputError{err}
	}
	return buildCustom(custom)
}

// Auto implements Deriver.
func (f NetBench) Auto(key string) string {
	return map[string]string{"host_rate": f.Rate.String(), "host_delay": f.Delay.String()}[key]
}
