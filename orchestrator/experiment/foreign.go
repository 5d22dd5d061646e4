package experiment

import (
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// ForeignNode is a node of the fabric, or several, that is none of csiglab's: csiglab wires it and
// measures at its neighbours.
type ForeignNode struct {
	Name     string   `yaml:"name,required" is:"nodes pattern" doc:"name of a switch or a host, such as 'tor1', or a pattern, such as 'agg*'"`
	Forwards string   `yaml:"forwards" is:"nothing|bridge|router" default:"nothing" doc:"of a switch, what csiglab sets up in the kernel of its network: 'bridge': a Linux bridge that knows the hosts' MAC addresses; 'router': routes for the hosts' IPv4 addresses; 'nothing': its image or 'startup' forwards"`
	Tags     string   `yaml:"tags" is:"kept|stripped" doc:"whether frames have their CSIG tags when they are sent to it: 'stripped': the ports before it end tags as with policy 'terminate', and the host before it puts none on. Without: stripped for hosts and routers, whose kernels drop frames with a tag"`
	Image    string   `yaml:"image" is:"image" doc:"with runtime containerlab, which needs it: image of the container, which must be on the engine. In netns the node is a network namespace with this machine's files"`
	Command  string   `yaml:"command" is:"command" doc:"with 'image': the container's command, or the arguments of the image's entry point"`
	Startup  []string `yaml:"startup" is:"command" doc:"programs of this machine that run in the node's network before the run starts, one after the other, such as '[ip link set p1 mtu 1400]'; what they leave in the background ends with the run"`
}

// Values of ForeignNode.Forwards and ForeignNode.Tags.
const (
	ForwardsNothing = "nothing"
	ForwardsBridge  = "bridge"
	ForwardsRouter  = "router"

	TagsStripped = "stripped"
)

// foreign checks the foreign nodes against the rest.
func (d *decoder) foreign(e *Experiment) {
	if len(e.Nodes) == 0 || !d.sound("nodes", "runtime", "clock") {
		return
	}
	if !e.Way().Has(runtimes.RealTime) {
		d.failAt("nodes", fmt.Sprintf("foreign nodes need clock %s; %s has no time that they could live in", runtimes.Wall, e.Clock), "")
	}
	if e.Runtime == runtimes.Kubernetes {
		d.failAt("nodes", fmt.Sprintf("runtime %s takes no foreign nodes; want %s or %s", e.Runtime, runtimes.Netns, runtimes.Containerlab), "")
	}
	if e.Workload.Spec != nil || len(e.Jobs) > 0 {
		d.failAt("nodes", "packets of csiglab's transport cannot cross a foreign node, only those of applications and generators can; leave workload and jobs out", "")
	}
	if e.CSIG.Collector != nil {
		d.failAt("csig.collector", "postcards are packets of csiglab's transport, which cannot cross a foreign node", "")
	}
	for i, n := range e.Nodes {
		at := fmt.Sprintf("nodes[%d]", i)
		inContainers := e.Runtime == runtimes.Containerlab
		switch {
		case inContainers && n.Image == "":
			d.failAt(at+".image", fmt.Sprintf("is missing; with runtime %s the node is a container", e.Runtime), "")
		case !inContainers && n.Image != "":
			d.failAt(at+".image", fmt.Sprintf("needs runtime %s", runtimes.Containerlab), "")
		case n.Image == "" && n.Command != "":
			d.failAt(at+".command", "needs an image; startup has programs of this machine", "")
		}
		for k, line := range n.Startup {
			if _, err := SplitCommand(line); err != nil {
				d.failAt(fmt.Sprintf("%s.startup[%d]", at, k), err.Error(), "")
			}
		}
		if _, err := SplitCommand(n.Command); n.Command != "" && err != nil {
			d.failAt(at+".command", err.Error(), "")
		}
	}
}
