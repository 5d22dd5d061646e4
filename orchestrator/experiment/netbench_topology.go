package experiment

import (
	"github.com/csiglab/csiglab/topologies/netbench"
	"github.com/csiglab/csiglab/units"
)

// NetBench is a fabric from a topology file of NetBench, which has neither rates nor
// delays.
type NetBench struct {
	File        string         `yaml:"file"`
	Servers     int            `yaml:"servers"` // hosts of a node that is a server and a ToR; default 1
	Rate        units.Rate     `yaml:"rate"`
	HostRate    units.Rate     `yaml:"host_rate"` // 0 or "auto": rate
	Delay       units.Duration `yaml:"delay"`
	HostDelay   units.Duration `yaml:"host_delay"` // 0 or "auto": delay
	SwitchDelay units.Duration `yaml:"switch_delay"`
	Ports       int            `yaml:"ports"` // of a switch; 0 or "any": as many as needed
}

var _ = RegisterTopology(TopologyKind{
	Kind: Kind{
		Name: "netbench", Doc: "a NetBench topology file", Rank: 110,
		Keys: []Key{
			{Path: "file", Required: true, Rule: InputFile(), Doc: "NetBench `.topology` file"},
			{Path: "servers", Default: "1", Rule: Between(1, maxPorts), Doc: "hosts of each node that is a server and a ToR in one, as `scenario_topology_extend_servers_per_tl_node` of NetBench"},
			{Path: "rate", Required: true, Rule: Between(minRate, maxRate), Doc: "of the links between switches"},
			{Path: "host_rate", Default: "auto", Rule: Between(minRate, maxRate).Or("auto"), Doc: "of the hosts' links; auto: the same"},
			{Path: "delay", Required: true, Rule: Between(minDelay, maxDelay), Doc: "of the links between switches"},
			{Path: "host_delay", Default: "auto", Rule: Between(minDelay, maxDelay).Or("auto"), Doc: "of the hosts' links; auto: the same"},
			{Path: "switch_delay", Default: "0s", Rule: Between(0, maxDelay), Doc: "of every switch"},
			portsKey,
		},
	},
	Spec: NetBench{},
})

// Check implements TopologySpec: the file is read when the topology is built.
func (NetBench) Check(*Check) int { return 0 }

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
	size, err := custom.Size()
	if err == nil {
		err = fits(size) // before it takes the memory
	}
	if err != nil {
		return Built{}, err
	}
	return buildGraph(custom.Build())
}

// Auto implements Deriver.
func (f NetBench) Auto(key string) string {
	return map[string]string{"host_rate": f.Rate.String(), "host_delay": f.Delay.String()}[key]
}
