package plan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// fabric is a topology and what follows from it under a routing policy.
type fabric struct {
	wiring
	routes []topologies.Routes
	groups *topologies.Groups // of a Dragonfly whose routing leaves minimal paths; nil elsewhere
	idle   idle
	notes  []string // on how a file was read
	// foreign are the nodes that are none of csiglab's, ascending.
	foreign []Foreign
}

// wiring is a graph and its ports.
type wiring struct {
	graph     *topologies.Graph
	adjacency [][]topologies.Adjacent
	ports     []switchPort // in order of node and port
	first     []int        // by node: its first port in ports
}

// switchPort is a port of a switch.
type switchPort struct {
	topologies.End
	peer   topologies.End
	link   *topologies.Link
	toHost bool
}

func newWiring(g *topologies.Graph) wiring {
	w := wiring{graph: g, adjacency: g.Adjacency(), first: make([]int, len(g.Nodes))}
	hosts := g.Hosts()
	for n := hosts; n < len(g.Nodes); n++ {
		w.first[n] = len(w.ports)
		for i, a := range w.adjacency[n] {
			w.ports = append(w.ports, switchPort{topologies.End{Node: n, Port: i}, a.Peer, &g.Links[a.Link], a.Peer.Node < hosts})
		}
	}
	return w
}

// portsOf returns the ports of a switch.
func (w *wiring) portsOf(n int) []switchPort { return w.ports[w.first[n]:][:len(w.adjacency[n])] }

// portName returns the name of a port; see PortName.
func (w *wiring) portName(at topologies.End) string {
	return PortName(w.graph, w.adjacency, at.Node, at.Port)
}

// up returns what the NIC of a host leads to.
func (w *wiring) up(h int) topologies.Adjacent { return w.adjacency[h][0] }

// rate returns the rate of a host's NIC.
func (w *wiring) rate(h int) units.Rate { return w.graph.Links[w.up(h).Link].Rate }

// switchNames returns the names of the switches.
func (w *wiring) switchNames() []string { return nodeNames(w.graph.Nodes[w.graph.Hosts():]) }

// detour is what the data of a run may do beside taking a minimal path.
type detour struct {
	taken  bool // it may go over a third group
	router bool // to a router of it, not only into it
}

// newRouting refuses a routing policy that the fabric cannot have, or whose parameters
// make no sense, before a switch is built. It returns the groups of the fabric if the
// policy needs them, else nil.
func newRouting(g *topologies.Graph, a experiment.Algorithm) (groups *topologies.Groups, err error) {
	policy, ok := forward.Table.Lookup(a.Name)
	if !ok {
		return nil, failure.At("routing", fmt.Errorf("unknown routing %q", a.Name))
	}
	if policy.NeedsGroups {
		if groups, err = topologies.NewGroups(g); err != nil {
			reason := strings.TrimPrefix(err.Error(), topologies.ErrInvalid.Error()+": ")
			return nil, failure.At("routing.name", fmt.Errorf("%s leaves minimal paths: %s", a.Name, reason))
		}
		if len(groups.OfRouter) >= math.MaxUint16 { // numbers in wire.Packet.Via, where 0 is none
			return nil, failure.At("routing.name", errors.New("there are more routers than packets can name"))
		}
	}
	ecmp := forward.NewECMP(forward.Config{})
	at := forward.Switch{
		ECMP: &ecmp, Queued: func(int) units.Size { return 0 }, Random: rand.New(rand.NewPCG(0, 0)),
		FromHost: func(int) bool { return false }, Groups: groups,
	}
	if _, err := policy.New(at, a.Params); err != nil {
		return nil, failure.AtParam("routing", err)
	}
	return groups, nil
}

// leastDelay returns the smallest delay of a link.
func leastDelay(g *topologies.Graph) units.Duration {
	least := g.Links[0].Delay
	for _, l := range g.Links {
		least = min(least, l.Delay)
	}
	return least
}

// controlDelay returns the delay of dependencies that cross hosts: the one given,
// or the smallest link delay where that is 0. A delay below the smallest link delay
// is an error, so that clocks that keep nodes in step look as far ahead with
// dependencies as without.
func controlDelay(g *topologies.Graph, given units.Duration) (units.Duration, error) {
	least := leastDelay(g)
	switch {
	case given == 0:
		return least, nil
	case given < least:
		return 0, failure.At("workload.control_delay", fmt.Errorf("%v is below the smallest link delay, %v", given, least))
	}
	return given, nil
}
