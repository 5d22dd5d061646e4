// Package forwardtest is the suite that every routing policy of the table passes. It
// sends packets through fabrics of policies, without links and queues: a packet is at
// the next switch at once, and queues are as long as the suite says.
package forwardtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// seed starts every random stream of the suite.
const seed = 20253

// mostSwitches is how many switches a path may cross: twice the five of a fat tree, and
// more than the seven of a Dragonfly with a detour by way of a router.
const mostSwitches = 10

// Random returns a generator that starts from a seed.
func Random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Graphs are the fabrics that the suite sends through, by name: trees with several
// shortest paths, and Dragonflies with one and with several links between two groups.
func Graphs(t testing.TB) map[string]*topologies.Graph {
	t.Helper()
	tree, err := topologies.KAryFatTree(4, 100*units.Gbps, units.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	graphs := map[string]*topologies.Graph{}
	if graphs["fat tree"], err = tree.Build(); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]topologies.DragonflySpec{
		"dragonfly":          {HostsPerRouter: 2, Routers: 4, Global: 2},
		"smaller dragonfly":  {HostsPerRouter: 1, Routers: 4, Global: 2, Groups: 4},
		"smallest dragonfly": {HostsPerRouter: 2, Routers: 2, Global: 2, Groups: 2},
	} {
		s.Rate, s.Delay = 100*units.Gbps, units.Microsecond
		if graphs[name], err = topologies.Dragonfly(s); err != nil {
			t.Fatal(err)
		}
	}
	return graphs
}

// Run runs the suite on an algorithm. Its parameters are tried at their defaults and,
// one at a time, at every value of the enumerated and boolean ones.
func Run(t *testing.T, a forward.Algorithm) {
	t.Logf("seed %d", seed)
	if !algorithmtest.Declared(t, a.Spec) {
		return
	}
	for name, graph := range Graphs(t) {
		if _, err := topologies.NewGroups(graph); err != nil && a.NeedsGroups {
			continue
		}
		for _, values := range algorithmtest.Choices(a.Spec) {
			t.Run(fmt.Sprintf("%s/%v", name, values), func(t *testing.T) {
				checkDelivery(t, New(t, a, values, graph))
				checkDeterminism(t, func() *Fabric { return New(t, a, values, graph) })
				checkOthers(t, New(t, a, values, graph))
				checkAllocations(t, a, New(t, a, values, graph))
			})
		}
	}
	t.Run("parameters", func(t *testing.T) {
		algorithmtest.Parameters(t, a.Spec, func(v algorithm.Values) (bool, error) {
			p, err := a.New(NewSwitch(topologies.NewRoutes([]uint16{0}), 1), v)
			return p != nil, err
		})
	})
}

// NewSwitch returns what a policy may know of a switch in no group, whose queues are empty.
func NewSwitch(routes topologies.Routes, node int) forward.Switch {
	ecmp := forward.NewECMP(forward.Config{Routes: routes, Seed: wire.Mix(seed, uint64(node))})
	return forward.Switch{
		ECMP:   &ecmp,
		Queued: func(int) units.Size { return 0 },
		Random: rand.New(rand.NewPCG(seed, uint64(node))),

		FromHost: func(int) bool { return false },
	}
}

// Fabric is a fabric of switches with a policy each.
type Fabric struct {
	// Queues are what waits at each port, by switch without the hosts.
	Queues [][]units.Size

	graph     *topologies.Graph
	adjacency [][]topologies.Adjacent
	policies  []forward.Policy // by switch without the hosts
	shortest  []*forward.ECMP
	random    *rand.Rand
	packet    wire.Packet
	path      []topologies.End
}

// New returns a fabric whose switches have a policy with the given parameters, and
// empty queues.
func New(t testing.TB, a forward.Algorithm, values algorithm.Values, graph *topologies.Graph) *Fabric {
	t.Helper()
	f := &Fabric{graph: graph, adjacency: graph.Adjacency(), random: rand.New(rand.NewPCG(seed, 0))}
	routes := topologies.NextHops(graph)
	groups, err := topologies.NewGroups(graph)
	if err != nil && a.NeedsGroups {
		t.Fatal(err)
	}
	for n := graph.Hosts(); n < len(graph.Nodes); n++ {
		queues := make([]units.Size, len(f.adjacency[n]))
		s := NewSwitch(routes[n], n)
		s.Queued = func(port int) units.Size { return queues[port] }
		s.FromHost = func(port int) bool { return graph.Nodes[f.adjacency[n][port].Peer.Node].Kind == topologies.Host }
		if a.NeedsGroups {
			s.Router, s.Groups = int32(n-graph.Hosts()), groups
		}
		policy, err := a.New(s, values)
		if err != nil || policy == nil {
			t.Fatalf("Build of %s refuses the parameters %v, of which each is a default or one of the declared values, or returns nothing: %v", a.Name, values, err)
		}
		f.Queues = append(f.Queues, queues)
		f.policies = append(f.policies, policy)
		f.shortest = append(f.shortest, s.ECMP)
	}
	return f
}

// Shuffle gives every queue a random length; every third is empty.
func (f *Fabric) Shuffle() {
	for _, ports := range f.Queues {
		for i := range ports {
			ports[i] = max(units.Size(f.random.Int64N(150_000))-50_000, 0)
		}
	}
}

// Send sends a packet from its source to its destination. It returns the egress ports
// that the packet left through, those of hosts left out, which are valid until the next
// call. An error says what became of the packet instead.
func (f *Fabric) Send(src, dst int, p *wire.Packet) ([]topologies.End, error) {
	f.path = f.path[:0]
	for at := f.adjacency[src][0].Peer; at.Node != dst; {
		if f.graph.Nodes[at.Node].Kind == topologies.Host {
			return f.path, fmt.Errorf("it is delivered to host %d", at.Node)
		}
		if len(f.path) == mostSwitches {
			return f.path, fmt.Errorf("it has crossed %d switches and is not there", mostSwitches)
		}
		p.Ingress = uint16(at.Port)
		port, ok := f.policies[at.Node-f.graph.Hosts()].Forward(p)
		switch {
		case !ok:
			return f.path, fmt.Errorf("%s has no route", f.graph.Nodes[at.Node].Name)
		case port < 0 || port >= len(f.adjacency[at.Node]):
			return f.path, fmt.Errorf("%s has no port %d", f.graph.Nodes[at.Node].Name, port)
		case !p.DecrementTTL():
			return f.path, fmt.Errorf("its TTL is used up at %s", f.graph.Nodes[at.Node].Name)
		}
		f.path = append(f.path, topologies.End{Node: at.Node, Port: port})
		at = f.adjacency[at.Node][port].Peer
	}
	return f.path, nil
}

// next sends a data packet of a random flow.
func (f *Fabric) next() (src, dst int, path []topologies.End, err error) {
	src, dst = f.random.IntN(f.graph.Hosts()), f.random.IntN(f.graph.Hosts()-1)
	if dst >= src {
		dst++
	}
	f.build(src, dst, wire.Data)
	path, err = f.Send(src, dst, &f.packet)
	return src, dst, path, err
}

// build makes f.packet one of a random flow between two hosts.
func (f *Fabric) build(src, dst int, kind wire.Kind) {
	f.packet.Build(wire.Addresses{
		Source: wire.HostIP(src), Destination: wire.HostIP(dst), SourcePort: uint16(wire.EntropyBase + f.random.IntN(1<<14)),
	}, kind, 0, wire.ECT0, 0)
}

// checkDelivery checks that every packet arrives, along links that exist, without
// passing a switch twice in the same state, and that a policy edits nothing of the
// packet but the way that it carries.
func checkDelivery(t *testing.T, f *Fabric) {
	t.Helper()
	for i := range 2000 {
		if i%10 == 0 {
			f.Shuffle()
		}
		src, dst, path, err := f.next()
		if err != nil {
			t.Fatalf("seed %d: packet %d from host %d to host %d: %v; it went %v", seed, i, src, dst, err, path)
		}
		header := slices.Clone(f.packet.Header()[wire.EthernetLen:])
		if !wire.ValidIPv4(header) {
			t.Fatalf("seed %d: packet %d arrives with a wrong checksum: a policy edits the packet by SetVia alone", seed, i)
		}
		f.packet.Build(wire.Addresses{Source: wire.HostIP(src), Destination: wire.HostIP(dst), SourcePort: f.packet.SourcePort()}, wire.Data, 0, wire.ECT0, 0)
		sent := f.packet.Header()[wire.EthernetLen:]
		for _, changes := range [][2]int{{4, 6}, {8, 9}, {10, 12}} { // identification, TTL, checksum
			copy(header[changes[0]:changes[1]], sent[changes[0]:changes[1]])
		}
		if !bytes.Equal(header, sent) {
			t.Fatalf("seed %d: packet %d arrives as %x, was sent as %x: a policy edits the packet by SetVia alone", seed, i, header, sent)
		}
	}
}

// checkDeterminism checks that paths follow from the seed, the packets and the queues
// alone, also beside other switches with the same policy.
func checkDeterminism(t *testing.T, build func() *Fabric) {
	t.Helper()
	const packets = 500
	walk := func(f *Fabric) []topologies.End {
		f.Shuffle()
		_, _, path, _ := f.next()
		return slices.Clone(path)
	}
	var alone [][]topologies.End
	for f, i := build(), 0; i < packets; i++ {
		alone = append(alone, walk(f))
	}
	one, two := build(), build()
	for i := range packets {
		for _, path := range [][]topologies.End{walk(one), walk(two)} {
			if !slices.Equal(path, alone[i]) {
				t.Fatalf("seed %d: packet %d goes %v, and the same one in the same fabric went %v: a policy draws from Switch.Random alone, and shares nothing with another switch", seed, i, path, alone[i])
			}
		}
	}
}

// checkOthers checks that control packets and raw frames keep to ECMP, and that a packet
// to a host that does not exist has no route.
func checkOthers(t *testing.T, f *Fabric) {
	t.Helper()
	for i := range 200 {
		f.Shuffle()
		at := f.random.IntN(len(f.policies))
		var raw wire.Packet
		f.build(f.random.IntN(f.graph.Hosts()), f.random.IntN(f.graph.Hosts()), wire.Ack)
		frame := slices.Clone(f.packet.Header())
		frame[wire.EthernetLen+9] = 6 // TCP
		to := wire.MAC(f.random.IntN(f.graph.Hosts()), 0)
		copy(frame, to[:])
		if err := raw.Parse(frame, wire.Format{Raw: true}); err != nil {
			t.Fatal(err)
		}
		for name, p := range map[string]*wire.Packet{"an ACK": &f.packet, "a raw frame": &raw} {
			before := slices.Clone(p.Header())
			p.Ingress = uint16(i % len(f.Queues[at]))
			want, known := f.shortest[at].Forward(p)
			if got, ok := f.policies[at].Forward(p); got != want || ok != known {
				t.Fatalf("seed %d: %s leaves through port %d, want %d as with ecmp: a policy chooses for data of the transport alone", seed, name, got, want)
			}
			if !bytes.Equal(p.Header(), before) {
				t.Fatalf("seed %d: %s is edited: %x, was %x", seed, name, p.Header(), before)
			}
		}
	}
	f.build(0, f.graph.Hosts()+1000, wire.Data)
	for at := range f.policies {
		if port, ok := f.policies[at].Forward(&f.packet); ok {
			t.Errorf("a packet to a host that does not exist leaves through port %d", port)
		}
	}
}

func checkAllocations(t *testing.T, a forward.Algorithm, f *Fabric) {
	t.Helper()
	f.Shuffle()
	f.path = slices.Grow(f.path, mostSwitches)
	algorithmtest.Allocations(t, a.Spec, "packet", func() { f.next() }) //nolint:errcheck // checkDelivery has checked
}
