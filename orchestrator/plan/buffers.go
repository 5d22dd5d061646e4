package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// A link that a fault has slowed has the queues and thresholds of a link of the rate that is
// left: what follows from the rate does so again, and sizes that the experiment gives are
// scaled by the share of the rate, as the reference simulator scales those of the links that
// it slows (docs/reference/references.md#load-balancing). A queue holds two packets at least.

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

// scaled returns the limits of a switch port with a share of its rate, and what they follow
// from.
func (s sizing) scaled(part share, lastHop bool) (buffer.Limits, portSizing) {
	own := s.port(part.full).limits(s.links, lastHop)
	s.links = part.links(s.links)
	sizes := s.port(part.of)
	return part.limits(own, sizes.limits(s.links, lastHop), s.links.MTU), sizes
}

// ingress returns the thresholds of a lossless class where a link comes in. With a rate that
// is not the link's own they are for packets that come in at it, and the headroom is for all
// that comes in at the link's own rate until a pause frame has left at the other one.
func (s sizing) ingress(l *topologies.Link, rate units.Rate) buffer.IngressLimits {
	pfc := s.links.PFC
	in := buffer.IngressLimits{XOff: pfc.XOff, XOn: pfc.XOn, Headroom: pfc.Headroom}
	if in.XOff == 0 {
		in.XOff = wholeBDP(rate, s.rtt, s.links.MTU)
	}
	if in.XOn == 0 {
		in.XOn = max(0, in.XOff-2*s.links.MTU)
	}
	if in.Headroom == 0 {
		in.Headroom = buffer.Headroom(buffer.Link{
			Rate: l.Rate, Back: rate, Delay: l.Delay, MTU: s.links.MTU + s.tunnel, Overhead: s.links.Overhead, Pause: wire.PauseSize,
		})
	}
	return in
}

// buffers is the queues of the switches' ports: their sizes, and who marks in them.
type buffers struct {
	sizing
	marking algorithm.Choice // AQM policy of every switch port
	data    *dataClasses     // nil: one data class, which may lose packets
}

// newBuffers refuses sizes, thresholds and parameters of AQM policies that make no sense in a
// fabric.
func newBuffers(e *experiment.Experiment, f *fabric) (b buffers, err error) {
	lossless := slices.ContainsFunc(e.Classes, func(c experiment.Class) bool { return c.Name == experiment.DefaultClass && c.Lossless })
	b.sizing = newSizing(e, f.idle)
	if b.marking, err = b.newMarking(f.graph, lossless); err != nil {
		return b, err
	}
	b.data, err = newClasses(f.graph, e.Classes, b)
	return b, err
}

// sizes returns the sizes of a switch port at a rate of its link, at most the link's.
func (b *buffers) sizes(l *topologies.Link, rate units.Rate, lastHop bool) dataplane.PortSizes {
	part := share{rate, l.Rate}
	limits, sizes := b.scaled(part, lastHop)
	p := dataplane.PortSizes{Buffer: limits, ECN: sizes.thresholds, AQM: part.aqm(b.marking)}
	if b.credits && lastHop {
		// The reference marks at ports to hosts "unless receiver CC is on": the
		// receiver answers for its link. No queue reaches these thresholds.
		beyond := b.port(l.Rate).queue + 1
		p.ECN = aqm.Thresholds{Low: beyond, High: beyond}
	}
	if b.data != nil {
		p.Classes = b.data.sizes(b.sizing, l, rate, lastHop)
	}
	return p
}

// check refuses parameters of AQM policies that make no sense with the sizes of a port.
func (b *buffers) check(rate units.Rate, p *dataplane.PortSizes) error {
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
	if err := check(b.marking.Name, p.AQM, p.Buffer.Data, p.ECN); err != nil {
		return err
	}
	for k := range p.Classes {
		if err := check(b.data.marking[k].Name, p.Classes[k].AQM, p.Classes[k].Queue, p.Classes[k].ECN); err != nil {
			return err
		}
	}
	return nil
}
