package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/balance"
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

// checkFluid refuses what a fluid has no meaning for.
func checkFluid(e *experiment.Experiment) error {
	if e.Fidelity == experiment.Packets {
		return nil
	}
	refuse := func(at, what string) error {
		return failure.At(at, fmt.Errorf("%s; fidelity: flow has no packets", what))
	}
	policy, _ := forward.Lookup(e.Routing)
	switch {
	case e.Runtime != "inproc":
		return failure.At("fidelity", fmt.Errorf("flow is for runtime inproc, not %s", e.Runtime))
	case e.Applications != nil:
		return refuse("applications", "programs send packets")
	case len(e.Generators) > 0:
		return refuse("generators", "generators send packets")
	case len(e.Capture) > 0:
		return refuse("capture", "there is nothing to capture")
	case e.Trace != nil:
		return refuse("trace", "there are no events of flows")
	case policy.Detours || policy.NeedsGroups:
		return refuse("routing", policy.Name+" routes each packet by queues or chance")
	}
	return nil
}

// fluidTask is the network that carries the flows of a run.
type fluidTask struct {
	network *fluid.Config // nil: packets do
	ports   []int         // by host: the control port that leads to it; 0: none
}

// newFluid gives each host that sends or receives a control link to a fluid network, if a run has
// one.
func newFluid(r *run, control *controlLinks) (t fluidTask, err error) {
	e, f := r.experiment, &r.fabric
	if e.Fidelity == experiment.Packets {
		return t, nil
	}
	c := &fluid.Config{
		Node: len(f.graph.Nodes), Name: fluidName, Delay: leastDelay(f.graph),
		Packet: e.Links.MTU, Header: e.Links.Header, Overhead: e.Links.Overhead, Records: r.Interval, Measure: r.Measure,
	}
	t = fluidTask{c, make([]int, r.hosts)}
	link := make([]int, r.hosts) // of the network, by host
	for h, busy := range r.busy {
		if !busy {
			continue
		}
		end := control.end(h)
		t.ports[h], link[h] = end.Port, c.Hosts
		control.tasks.links = append(control.tasks.links, Link{A: end, B: topologies.End{Node: c.Node, Port: c.Hosts}, Delay: c.Delay, Name: f.graph.Nodes[h].Name + "~" + fluidName})
		c.Hosts++
	}
	crossed := newCrossings(r, c)
	for i, transfer := range r.workload.Transfers {
		if transfer.Stop > 0 {
			return t, failure.At("workload", errors.New("a transfer that stops at a time is not known to fidelity: flow"))
		}
		flow := fluid.Flow{ID: i, Source: link[transfer.Src], Sink: link[transfer.Dst]}
		if transfer.Messages == 0 {
			flow.Size = transfer.Size
		}
		if err := crossed.of(&flow, transfer.Src, transfer.Dst); err != nil {
			return t, err
		}
		c.Flows = append(c.Flows, flow)
	}
	crossed.answer()
	return t, nil
}

// crossings finds the ports that flows cross.
type crossings struct {
	run    *run
	config *fluid.Config
	ports  map[topologies.End]int32 // in config.Ports
	single bool                     // a flow keeps to one path
	maker  func(balance.Flow) balance.Balancer
	tables []forward.ECMP // by switch
	shares []float64      // by node: of a flow, that are there
}

func newCrossings(r *run, c *fluid.Config) *crossings {
	w := &crossings{run: r, config: c, ports: map[topologies.End]int32{}, shares: make([]float64, len(r.fabric.graph.Nodes))}
	lb, _ := balance.Table.Lookup(r.experiment.Hosts.LB.Name)
	if w.single = lb.OnePath; w.single {
		w.maker, _ = lb.Maker(host.BalanceFlow(r.buffers.path(r.fabric.rate(0)), nil), r.experiment.Hosts.LB.Params) // checkAlgorithms has checked it
	}
	for n := r.hosts; n < len(r.fabric.graph.Nodes); n++ {
		w.tables = append(w.tables, forward.NewECMP(forward.Config{Routes: r.fabric.routes[n], Seed: wire.Mix(r.seed, uint64(n))}))
	}
	return w
}

// of sets the ways of a flow from a host to another, and how long they take.
func (w *crossings) of(flow *fluid.Flow, src, dst int) error {
	f, l := &w.run.fabric, &w.run.experiment.Links
	up := f.up(src)
	w.cross(flow, topologies.End{Node: src}, 1)
	if w.single {
		w.one(flow, up.Peer.Node, src, dst)
	} else {
		w.all(flow, up.Peer.Node, dst)
	}
	var rates []units.Rate
	delay, err := w.lowest(src, dst, &rates)
	if err != nil {
		return err
	}
	flow.Latency = delay
	perByte := func(r units.Rate) float64 { return float64(8*units.Second) / float64(r) }
	for _, r := range rates {
		flow.PerByte += perByte(r)
	}
	flow.PerByte -= perByte(slices.Min(rates))
	rates = rates[:0]
	if flow.Reply, err = w.lowest(dst, src, &rates); err != nil {
		return err
	}
	for _, r := range rates {
		flow.Reply += r.Serialisation(l.Header + l.Overhead)
	}
	return nil
}

// cross adds a port to the ways of a flow.
func (w *crossings) cross(flow *fluid.Flow, at topologies.End, share float64) {
	port, ok := w.ports[at]
	if !ok {
		port = int32(len(w.config.Ports))
		w.ports[at] = port
		link := w.run.fabric.adjacency[at.Node][at.Port].Link
		w.config.Ports = append(w.config.Ports, fluid.Port{Node: int32(at.Node), Port: int32(at.Port), Rate: w.run.fabric.graph.Links[link].Rate})
	}
	flow.Ways = append(flow.Ways, fluid.Way{Port: port, Share: share})
}

// one adds the path that the balancer and the hash of a flow choose.
func (w *crossings) one(flow *fluid.Flow, at, src, dst int) {
	ev := w.maker(balance.Flow{ID: uint32(flow.ID), Random: node.Random(w.run.seed, src, node.RandomBalance, flow.ID)}).Next(0)
	p := new(wire.Packet)
	p.Build(wire.Addresses{Source: wire.HostIP(src), Destination: wire.HostIP(dst), SourcePort: wire.SourcePort(uint32(flow.ID), ev)}, wire.Data, 0, wire.NotECT, 0)
	for at != dst {
		port, ok := w.tables[at-w.run.hosts].Forward(p)
		if !ok {
			return
		}
		w.cross(flow, topologies.End{Node: at, Port: port}, 1)
		at = w.run.fabric.adjacency[at][port].Peer.Node
	}
}

// all adds every shortest path, over which packets are sprayed evenly.
func (w *crossings) all(flow *fluid.Flow, first, dst int) {
	at, next := []int{first}, []int(nil)
	w.shares[first] = 1
	for ; len(at) > 0; at, next = next, at[:0] {
		for _, n := range at {
			share := w.shares[n]
			w.shares[n] = 0
			ports := w.run.fabric.routes[n].To(dst)
			for _, port := range ports {
				part := share / float64(len(ports))
				w.cross(flow, topologies.End{Node: n, Port: int(port)}, part)
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
}

// answer says which ports carry ACKs beside data: those which flows cross on their way back.
func (w *crossings) answer() {
	l := &w.run.experiment.Links
	payload := l.MTU - l.Header
	share := float64(l.Header+l.Overhead) / float64(max(1, w.run.experiment.Hosts.AckEvery/payload)*(l.MTU+l.Overhead))
	back := map[int]bool{} // hosts that answer
	for i := range w.run.workload.Transfers {
		back[w.run.workload.Transfers[i].Dst] = true
	}
	for i := range w.config.Ports {
		p := &w.config.Ports[i]
		if host := int(p.Node); host < w.run.hosts && back[host] {
			p.Answers = share
		}
	}
}

// lowest appends the rates of the links of a shortest path, by the lowest ports, and returns its
// delay.
func (w *crossings) lowest(src, dst int, rates *[]units.Rate) (delay units.Duration, err error) {
	f := &w.run.fabric
	for at := (topologies.End{Node: src}); ; {
		next := f.adjacency[at.Node][at.Port]
		link := &f.graph.Links[next.Link]
		*rates = append(*rates, link.Rate)
		delay += link.Delay
		if at.Node = next.Peer.Node; at.Node == dst {
			return delay, nil
		}
		to := f.routes[at.Node].To(dst)
		if len(to) == 0 {
			return 0, failure.At("topology", fmt.Errorf("there is no way from %s to %s", f.graph.Nodes[src].Name, f.graph.Nodes[dst].Name))
		}
		delay += f.graph.Nodes[at.Node].Delay
		at.Port = int(to[0])
	}
}

// slow gives the ports of the network the rates that faults give them.
func (t *fluidTask) slow(faults *faultPlan) error {
	c := t.network
	if c == nil {
		return nil
	}
	ports := map[topologies.End]int{}
	for i, p := range c.Ports {
		ports[topologies.End{Node: int(p.Node), Port: int(p.Port)}] = i
	}
	for n, suffered := range faults.nodes {
		if suffered == nil {
			continue
		}
		for _, change := range suffered.Changes {
			switch port, used := ports[topologies.End{Node: n, Port: change.Port}]; {
			case change.Kind == fault.Arrival:
			case change.Kind != fault.Rate:
				return failure.At("faults", fmt.Errorf("%s: fidelity: flow knows links that slow, and no other faults", faults.list[change.Fault].What))
			case used:
				c.Changes = append(c.Changes, fluid.Change{At: change.At, Port: port, Rate: change.Rate})
			}
		}
	}
	slices.SortStableFunc(c.Changes, func(a, b fluid.Change) int { return cmp.Compare(a.At, b.At) })
	return nil
}
