package plan

import (
	"fmt"
	"maps"
	"math"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// A link that a fault has slowed has the queues and thresholds of a link of the rate that is
// left: what follows from the rate does so again, and sizes that the experiment gives are
// scaled by the share of the rate, as the reference simulator scales those of the links that
// it slows (docs/references.md#load-balancing). A queue holds two packets at least.

// share scales the sizes of an experiment for a part of a link's rate.
type share struct{ of, full units.Rate }

// size scales a size; 0, which is auto, stays.
func (s share) size(v, least units.Size) units.Size {
	if v == 0 || s.of == s.full {
		return v
	}
	return min(v, max(least, units.Size(math.Round(float64(v)*float64(s.of)/float64(s.full)))))
}

// links scales the sizes of links.
func (s share) links(l experiment.Links) experiment.Links {
	queue := func(v units.Size) units.Size { return s.size(v, 2*l.MTU) }
	l.Queue, l.ControlQueue, l.TrimThreshold = queue(l.Queue), queue(l.ControlQueue), queue(l.TrimThreshold)
	l.ECN.Low, l.ECN.High = s.size(l.ECN.Low, 1), s.size(l.ECN.High, 1)
	return l
}

// aqm scales the parameters of a policy that are sizes.
func (s share) aqm(choice algorithm.Choice) algorithm.Values {
	policy, ok := aqm.Table.Lookup(choice.Name)
	if !ok || s.of == s.full {
		return choice.Params
	}
	params := maps.Clone(choice.Params)
	for _, p := range policy.Params {
		if text := params[p.Name]; p.Kind == algorithm.Size && text != "" && text != algorithm.Auto {
			if v, err := units.ParseSize(text); err == nil {
				params[p.Name] = s.size(v, 1).String()
			}
		}
	}
	return params
}

// limits are those of a port with a share of its rate, and no greater than its own.
func (s share) limits(own, scaled buffer.Limits, mtu units.Size) buffer.Limits {
	if s.of == s.full {
		return own
	}
	least := func(own, scaled units.Size) units.Size { return min(own, max(scaled, 2*mtu)) }
	l := buffer.Limits{Data: least(own.Data, scaled.Data), Control: least(own.Control, scaled.Control)}
	if scaled.Hard > 0 {
		l.Hard = min(own.Longest(), max(scaled.Hard, l.Data))
	}
	return l
}

// portSizes returns the sizes of a switch port at a rate of its link, at most the link's.
func (s *Shape) portSizes(l *topologies.Link, rate units.Rate, lastHop bool) dataplane.PortSizes {
	e, part := s.experiment, share{rate, l.Rate}
	sized := s.sizing
	own := sized.port(l.Rate)
	sized.links = part.links(e.Links)
	sizes := sized.port(rate)
	p := dataplane.PortSizes{
		Buffer: part.limits(own.limits(e.Links, lastHop), sizes.limits(sized.links, lastHop), e.Links.MTU), ECN: sizes.thresholds, AQM: part.aqm(s.marking),
	}
	if s.sizing.credits && lastHop {
		// The reference marks at ports to hosts "unless receiver CC is on": the
		// receiver answers for its link. No queue reaches these thresholds.
		p.ECN = aqm.Thresholds{Low: own.queue + 1, High: own.queue + 1}
	}
	if s.data != nil {
		p.Classes = s.data.port(e, s.sizing, l, rate, lastHop)
	}
	return p
}

// ingress returns the thresholds of a lossless class where a link comes in. With a rate that
// is not the link's own they are for packets that come in at it, and the headroom is for all
// that comes in at the link's own rate until a pause frame has left at the other one.
func (s sizing) ingress(l *topologies.Link, rate units.Rate, p experiment.PFC) buffer.IngressLimits {
	in := buffer.IngressLimits{XOff: p.XOff, XOn: p.XOn, Headroom: p.Headroom}
	if in.XOff == 0 {
		in.XOff = wholeBDP(rate, s.rtt, s.links.MTU)
	}
	if in.XOn == 0 {
		in.XOn = max(0, in.XOff-2*s.links.MTU)
	}
	if in.Headroom == 0 {
		in.Headroom = buffer.Headroom(buffer.Link{
			Rate: l.Rate, Back: rate, Delay: l.Delay, MTU: s.links.MTU, Overhead: s.links.Overhead, Pause: wire.PauseSize,
		})
	}
	return in
}

// resized are the sizes of ports with less than the rate of their links, by switch.
type resized struct {
	shape *Shape
	nodes map[int][]dataplane.PortSizes
	known map[resizedKey]int
}

type resizedKey struct {
	port topologies.End
	rate units.Rate
}

// of returns which sizes of its switch a port has at a rate; see fault.Change.Sizes.
func (r *resized) of(at topologies.End, link int, rate units.Rate) (int, error) {
	l := &r.shape.graph.Links[link]
	if rate == l.Rate || r.shape.graph.Nodes[at.Node].Kind != topologies.Switch {
		return 0, nil
	}
	key := resizedKey{at, rate}
	if k, ok := r.known[key]; ok {
		return k, nil
	}
	peer := l.A
	if peer == at {
		peer = l.B
	}
	p := r.shape.portSizes(l, rate, r.shape.graph.Nodes[peer.Node].Kind == topologies.Host)
	if err := r.shape.checkSizes(rate, &p); err != nil {
		return 0, err
	}
	r.nodes[at.Node] = append(r.nodes[at.Node], p)
	r.known[key] = len(r.nodes[at.Node])
	return r.known[key], nil
}

// checkSizes refuses parameters of AQM policies that make no sense with the sizes of a port.
func (s *Shape) checkSizes(rate units.Rate, p *dataplane.PortSizes) error {
	check := func(name string, params algorithm.Values, queue units.Size, ecn aqm.Thresholds) error {
		policy, ok := aqm.Table.Lookup(name)
		if !ok {
			return nil
		}
		if _, err := policy.New(policyPort(rate, queue, ecn), params); err != nil {
			return fmt.Errorf("at the %v that are left: aqm %w; use buffers: %s", rate, err, experiment.BuffersKept)
		}
		return nil
	}
	if err := check(s.marking.Name, p.AQM, p.Buffer.Data, p.ECN); err != nil {
		return err
	}
	for k := range p.Classes {
		if err := check(s.data.marking[k].Name, p.Classes[k].AQM, p.Classes[k].Queue, p.Classes[k].ECN); err != nil {
			return err
		}
	}
	return nil
}

// resize has the ends of a link follow the rate of a change: the port that sends, and, for
// what comes in, a peer with lossless classes.
func (b *faultPlanner) resize(from topologies.End, link int, c *fault.Change) error {
	if b.kept[c.Fault] && c.Begin {
		return nil
	}
	k, err := b.resized.of(from, link, c.Rate)
	if err != nil {
		return failure.At(fmt.Sprintf("faults[%d].buffers", c.Fault), err)
	}
	c.Sizes = k
	return nil
}

// arrival has the peer of a port know of the port's rate, if something there follows from
// it: the residence in a switch and the thresholds of its flow control, and the credits of
// a host.
func (b *faultPlanner) arrival(from topologies.Adjacent, c fault.Change) error {
	peer, scaled := from.Peer, c.Sizes != 0
	c.Kind, c.At, c.Port, c.Sizes = fault.Arrival, c.At.Add(b.graph.Links[from.Link].Delay), peer.Port, 0
	switch {
	case b.graph.Nodes[peer.Node].Kind == topologies.Switch:
		if data := b.resized.shape.data; scaled && data != nil && class.Lossless(data.list) != 0 {
			if err := b.resize(peer, from.Link, &c); err != nil {
				return err
			}
		}
	case !b.grants(peer.Node):
		return nil
	}
	b.change(peer.Node, c)
	return nil
}
