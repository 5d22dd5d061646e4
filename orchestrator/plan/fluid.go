package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// fluidName is the name of the fluid network, which is no node of the fabric.
const fluidName = "fluid"

// fluidNote says what a run without packets cannot show.
const fluidNote = "fidelity: flow has no packets: it knows times, rates and loads of links, as if flows had their shares at once, and no queues, marks, losses, CSIG samples or reactions of congestion control and load balancing"

// checkFluid refuses what a fluid has no meaning for.
func checkFluid(e *experiment.Experiment) error {
	if e.Fidelity == experiment.Packets {
		return nil
	}
	refuse := func(at, what string) error {
		return failure.At(at, fmt.Errorf("%s; fidelity: flow has no packets", what))
	}
	if e.Fidelity == experiment.Hybrid {
		if e.Packets.None() {
			return failure.At("packets", errors.New("fidelity: hybrid has to know which messages are packets; give nodes, steps, phases, from or to"))
		}
		refuse = func(at, what string) error {
			return failure.At(at, fmt.Errorf("%s; fidelity: hybrid has packets of transfers and jobs alone", what))
		}
	}
	policy, _ := forward.Lookup(e.Routing)
	switch {
	case e.Runtime != "inproc":
		return failure.At("fidelity", fmt.Errorf("%v is for runtime inproc, not %s", e.Fidelity, e.Runtime))
	case e.Applications != nil:
		return refuse("applications", "programs send packets")
	case len(e.Generators) > 0:
		return refuse("generators", "generators send packets")
	case len(e.Capture) > 0 && e.Fidelity == experiment.Flow:
		return refuse("capture", "there is nothing to capture")
	case e.Trace != nil && e.Fidelity == experiment.Flow:
		return refuse("trace", "there are no events of flows")
	case len(e.Classes) > 0:
		return refuse("classes", "classes take turns packet by packet")
	case policy.Detours || policy.NeedsGroups:
		return refuse("routing", policy.Name+" routes each packet by queues or chance")
	}
	return nil
}

// fluidLinks are the control links between nodes and the fluid network of a run.
type fluidLinks struct {
	ports  []int // by host: its control port; 0: none
	places []int // by node: the port of the network
	count  int
}

// newFluidLinks gives each host that sends or receives a control link to the network, if a run
// has one, and each switch where packets share ports with the fluid.
func newFluidLinks(r *run, control *controlLinks) (l fluidLinks) {
	if r.experiment.Fidelity == experiment.Packets {
		return l
	}
	g := r.fabric.graph
	l.ports, l.places = make([]int, r.hosts), make([]int, len(g.Nodes))
	join := func(end topologies.End) {
		l.places[end.Node] = l.count
		control.tasks.links = append(control.tasks.links, Link{
			A: end, B: topologies.End{Node: len(g.Nodes), Port: l.count}, Delay: leastDelay(g), Name: g.Nodes[end.Node].Name + "~" + fluidName,
		})
		l.count++
	}
	for h, busy := range r.busy {
		if busy {
			end := control.end(h)
			l.ports[h] = end.Port
			join(end)
		}
	}
	if r.experiment.Fidelity == experiment.Hybrid {
		for n := r.hosts; n < len(g.Nodes); n++ {
			join(topologies.End{Node: n, Port: len(r.fabric.adjacency[n])})
		}
	}
	return l
}

// newFluid returns the network that carries the flows of a plan; nil if packets do.
func newFluid(r *run, d *decided, p *Plan) (*fluid.Config, error) {
	e, f := r.experiment, &r.fabric
	if e.Fidelity == experiment.Packets {
		return nil, nil
	}
	changes, err := rateChanges(&d.faults)
	if err != nil {
		return nil, err
	}
	c := &fluid.Config{
		Node: len(f.graph.Nodes), Name: fluidName, Delay: leastDelay(f.graph), Links: d.fluid.count,
		Packet: e.Links.MTU, Header: e.Links.Header, Overhead: e.Links.Overhead, Records: r.Interval, Measure: r.Measure,
		Flows: make([]fluid.Flow, len(r.workload.Transfers)),
	}
	w := newCrossings(r)
	w.share(d)
	for i := range c.Flows {
		t, flow := &r.workload.Transfers[i], &c.Flows[i]
		if t.Stop > 0 {
			return nil, failure.At("workload", errors.New("a transfer that stops at a time is not known to fidelity: flow"))
		}
		*flow = fluid.Flow{ID: i, Source: d.fluid.places[t.Src], Sink: d.fluid.places[t.Dst], Tag: p.tagOf(&p.Flows[i]), Packets: r.packetPart(t, at(d.choices, i))}
		if t.Messages == 0 {
			flow.Size = t.Size
		}
		if flow.Law, err = r.law(&d.rules, i); err != nil {
			return nil, err
		}
		p.times(flow, f.adjacency, t.Src, t.Dst)
	}
	for begin := units.Time(0); ; begin = changes[0].At {
		for len(changes) > 0 && changes[0].At <= begin {
			w.rates[topologies.End{Node: changes[0].node, Port: changes[0].Port}] = changes[0].Rate
			changes = changes[1:]
		}
		ways := make([][]fluid.Way, len(c.Flows))
		for i := range ways {
			t := &r.workload.Transfers[i]
			ways[i] = w.of(i, t.Src, t.Dst)
			if at(d.choices, i) != nil {
				w.crossed(ways[i])
			}
		}
		rates := make([]units.Rate, len(w.ports))
		for i := range rates {
			rates[i] = w.rate(topologies.End{Node: int(w.ports[i].Node), Port: int(w.ports[i].Port)})
		}
		c.Epochs = append(c.Epochs, fluid.Epoch{From: begin, Rates: rates, Ways: ways})
		if len(changes) == 0 {
			break
		}
	}
	c.Ports = w.answered(d.fluid.places)
	return c, nil
}

// rateChange is a port that gets another rate.
type rateChange struct {
	fault.Change
	node int
}

// rateChanges returns the changes of rates that faults make, in order of time. It refuses other
// faults.
func rateChanges(faults *faultPlan) (all []rateChange, err error) {
	for n, suffered := range faults.nodes {
		if suffered == nil {
			continue
		}
		for _, c := range suffered.Changes {
			switch c.Kind {
			case fault.Arrival:
			case fault.Rate:
				all = append(all, rateChange{c, n})
			default:
				return nil, failure.At("faults", fmt.Errorf("%s: fidelity: flow knows links that slow, and no other faults", faults.list[c.Fault].What))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b rateChange) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

// law returns how large a part a flow asks for of links that it shares.
func (r *run) law(rules *rules, flow int) (fluid.Law, error) {
	choice := r.experiment.Hosts.CC
	if own := at(rules.cc, flow); own != nil {
		choice = *own
	}
	cc, _ := congestion.Table.Lookup(choice.Name)
	share, known := cc.ShareOf(choice.Params)
	switch {
	case !known:
		return fluid.Law{}, failure.At("fidelity", fmt.Errorf("how flows of %s share a link is not known to fidelity: flow", choice.Name))
	case share.Unknown != "":
		return fluid.Law{}, failure.At("fidelity", errors.New(share.Unknown))
	}
	return fluid.Law{Weight: share.Weight, Intercept: share.Intercept, Slope: share.Slope, Low: cmp.Or(share.Low, 1)}, nil
}

// crossings finds the ports that flows cross.
type crossings struct {
	run     *run
	ports   []fluid.Port
	index   map[topologies.End]int32            // in ports
	rates   map[topologies.End]units.Rate       // of ports that faults slow now
	maker   func(balance.Flow) balance.Balancer // of flows that keep to one path; nil: they are sprayed
	even    bool                                // over all paths alike; else as much as each carries
	tables  []forward.ECMP                      // by switch
	packets map[int32]bool                      // ports that packets cross

	// Of one flow.
	shares []float64 // by node: of its bytes, that are there
	reach  map[int]float64
}

func newCrossings(r *run) *crossings {
	w := &crossings{
		run: r, index: map[topologies.End]int32{}, rates: map[topologies.End]units.Rate{}, packets: map[int32]bool{}, shares: make([]float64, len(r.fabric.graph.Nodes)), reach: map[int]float64{},
	}
	lb, _ := balance.Table.Lookup(r.experiment.Hosts.LB.Name)
	if w.even = lb.Even; lb.OnePath {
		w.maker, _ = lb.Maker(sampleFlow(r.buffers.path(r.fabric.rate(0)), nil), r.experiment.Hosts.LB.Params) // checkAlgorithms has checked it
	}
	for n := r.hosts; n < len(r.fabric.graph.Nodes); n++ {
		w.tables = append(w.tables, forward.NewECMP(forward.Config{Routes: r.fabric.routes[n], Seed: wire.Mix(r.seed, uint64(n))}))
	}
	return w
}

// rate returns that of a port now.
func (w *crossings) rate(at topologies.End) units.Rate {
	if slow, ok := w.rates[at]; ok {
		return slow
	}
	return w.run.fabric.graph.Links[w.run.fabric.adjacency[at.Node][at.Port].Link].Rate
}

// of returns the ways of a flow from a host to another.
func (w *crossings) of(flow, src, dst int) []fluid.Way {
	up := w.run.fabric.up(src)
	ways := []fluid.Way{w.way(topologies.End{Node: src}, 1)}
	if w.maker != nil {
		return w.one(ways, flow, up.Peer.Node, src, dst)
	}
	return w.all(ways, up.Peer.Node, dst)
}

// way returns a port and the share of a flow that crosses it.
func (w *crossings) way(at topologies.End, share float64) fluid.Way {
	port, ok := w.index[at]
	if !ok {
		port = int32(len(w.ports))
		w.index[at] = port
		w.ports = append(w.ports, fluid.Port{Node: int32(at.Node), Port: int32(at.Port)})
	}
	return fluid.Way{Port: port, Share: share}
}

// one adds the path that the balancer and the hash of a flow choose.
func (w *crossings) one(ways []fluid.Way, flow, at, src, dst int) []fluid.Way {
	ev := w.maker(balance.Flow{ID: uint32(flow), Random: node.Random(w.run.seed, src, node.RandomBalance, flow)}).Next(0)
	p := new(wire.Packet)
	p.Build(wire.Addresses{Source: wire.HostIP(src), Destination: wire.HostIP(dst), SourcePort: wire.SourcePort(uint32(flow), ev)}, wire.Data, 0, wire.NotECT, 0)
	for at != dst {
		port, ok := w.tables[at-w.run.hosts].Forward(p)
		if !ok {
			break
		}
		ways = append(ways, w.way(topologies.End{Node: at, Port: port}, 1))
		at = w.run.fabric.adjacency[at][port].Peer.Node
	}
	return ways
}

// all adds every shortest path. The balancer sprays packets over them evenly, or, as it learns
// which are slow, as much as each carries.
func (w *crossings) all(ways []fluid.Way, first, dst int) []fluid.Way {
	clear(w.reach)
	at, next := []int{first}, []int(nil)
	w.shares[first] = 1
	for ; len(at) > 0; at, next = next, at[:0] {
		for _, n := range at {
			share := w.shares[n]
			w.shares[n] = 0
			ports := w.run.fabric.routes[n].To(dst)
			sum := 0.0
			for _, port := range ports {
				sum += w.weight(n, int(port), dst)
			}
			for _, port := range ports {
				part := share * w.weight(n, int(port), dst) / sum
				ways = append(ways, w.way(topologies.End{Node: n, Port: int(port)}, part))
				peer := w.run.fabric.adjacency[n][port].Peer.Node
				if peer == dst {
					continue
				}
				if w.shares[peer] == 0 {
					next = append(next, peer)
				}
				w.shares[peer] += part
			}
		}
	}
	return ways
}

// weight returns how much a port of a switch gets of what goes to a host: what it carries, and
// what the switch behind it can pass on.
func (w *crossings) weight(n, port, dst int) float64 {
	if w.even {
		return 1
	}
	rate := float64(w.rate(topologies.End{Node: n, Port: port}))
	peer := w.run.fabric.adjacency[n][port].Peer.Node
	if peer == dst {
		return rate
	}
	beyond, known := w.reach[peer]
	if !known {
		for _, next := range w.run.fabric.routes[peer].To(dst) {
			beyond += w.weight(peer, int(next), dst)
		}
		w.reach[peer] = beyond
	}
	return min(rate, beyond)
}

// times sets how long a packet of a flow and its answer take.
func (p *Plan) times(flow *fluid.Flow, adjacency [][]topologies.Adjacent, src, dst int) {
	var rates []units.Rate
	rates, flow.Latency = p.rates(adjacency, src, dst, nil)
	perByte := func(r units.Rate) float64 { return float64(8*units.Second) / float64(r) }
	for _, r := range rates {
		flow.PerByte += perByte(r)
	}
	flow.PerByte -= perByte(slices.Min(rates))
	rates, flow.Reply = p.rates(adjacency, dst, src, rates[:0])
	for _, r := range rates {
		flow.Reply += r.Serialisation(p.Path.Header + p.Format.Overhead)
	}
}

// answered returns the ports, with what ACKs take of NICs that send data too, and the control links
// to nodes of ports that packets cross, by node.
func (w *crossings) answered(links []int) []fluid.Port {
	l := &w.run.experiment.Links
	perAck := max(1, w.run.experiment.Hosts.AckEvery/(l.MTU-l.Header)) // packets
	share := float64(l.Header+l.Overhead) / float64(perAck*(l.MTU+l.Overhead))
	answers := map[int32]bool{}
	for i := range w.run.workload.Transfers {
		answers[int32(w.run.workload.Transfers[i].Dst)] = true
	}
	for i := range w.ports {
		if answers[w.ports[i].Node] {
			w.ports[i].Answers = share
		}
		w.ports[i].Link = -1
		if w.packets[int32(i)] {
			w.ports[i].Link = int32(links[w.ports[i].Node])
		}
	}
	return w.ports
}
