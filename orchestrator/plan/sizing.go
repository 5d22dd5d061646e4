package plan

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// sizing is what the reference simulator derives from the topology: the network
// RTT, and from it queues and thresholds (docs/reference/references.md#network-constants and #switch-queue).
type sizing struct {
	links experiment.Links
	idle
	// interval is that of switches' ABW; 0 without CSIG.
	interval units.Duration
	credits  bool       // receivers grant credit
	tunnel   units.Size // what tunnels add to a packet
}

func newSizing(e *experiment.Experiment, i idle) sizing {
	s := sizing{links: e.Links, idle: i}
	if e.CSIG.Format != csig.FormatNone {
		s.interval = e.CSIG.Interval
	}
	if e.Tunnels != nil {
		s.tunnel = wire.TunnelLen
	}
	cc, _ := congestion.Table.Lookup(e.Hosts.CC.Name)
	s.credits = e.Hosts.Credits || cc.Check(e.Hosts.CC.Params) == nil && cc.NeedsOf(e.Hosts.CC.Params).Credits
	return s
}

// path returns what the congestion control of a host with a link of the given rate
// knows.
func (s sizing) path(rate units.Rate) congestion.Path {
	l := s.links
	return congestion.Path{
		LinkRate: rate, NetworkRTT: s.rtt, HostRTT: s.host, HopRTT: s.hop, SlowestRate: s.slowest, MTU: l.MTU, Header: l.Header, Trim: l.Trim, SignalInterval: s.interval, Credits: s.credits,
	}
}

// portSizing is the queues and thresholds of a port by its own rate. Departs from the
// reference where links differ: that takes the rate of the hosts' links for all.
type portSizing struct {
	queue      units.Size // data queue
	control    units.Size
	thresholds aqm.Thresholds
}

// wholeBDP returns the bandwidth-delay product, rounded up to whole packets.
func wholeBDP(rate units.Rate, rtt units.Duration, mtu units.Size) units.Size {
	return (rate.Volume(rtt) + mtu - 1) / mtu * mtu
}

// port returns the sizing of a port of the given rate.
func (s sizing) port(rate units.Rate) portSizing {
	l := s.links
	packets := wholeBDP(rate, s.rtt, l.MTU) / l.MTU
	p := portSizing{queue: l.Queue, control: l.ControlQueue, thresholds: aqm.Thresholds{Low: l.ECN.Low, High: l.ECN.High}}
	if p.queue == 0 {
		p.queue = packets * l.MTU
		if !l.Trim {
			p.queue *= 5
		}
	}
	if p.control == 0 {
		p.control = 2 * p.queue
	}
	if end := p.end(l); end < packets*l.MTU { // thresholds follow a queue that is shorter
		packets = max(1, end/l.MTU)
	}
	share := func(tenths units.Size) units.Size { return (packets*tenths + 9) / 10 * l.MTU }
	if l.ECN.Enabled && p.thresholds.Low == 0 {
		p.thresholds.Low = share(2)
	}
	if l.ECN.Enabled && p.thresholds.High == 0 {
		p.thresholds.High = share(8)
	}
	return p
}

// end returns how long the data queue becomes with packets that can be trimmed, if links are
// trimmed; it is the threshold of trimming or the limit of the queue.
func (p portSizing) end(l experiment.Links) units.Size {
	if l.Trim && l.TrimThreshold != 0 {
		return min(p.queue, l.TrimThreshold)
	}
	return p.queue
}

// checkThresholds refuses thresholds that the experiment gives and that cannot act, because
// the queue ends before them.
func (p portSizing) checkThresholds(l experiment.Links, rate units.Rate) error {
	key, end := "links.queue", p.end(l)
	if end < p.queue {
		key = "links.trim_threshold"
	}
	if (l.Queue == 0 && end == p.queue) || !l.ECN.Enabled {
		return nil // the queue follows the rate of each link
	}
	for _, t := range []struct {
		at    string
		given units.Size
	}{{"links.ecn.low", l.ECN.Low}, {"links.ecn.high", l.ECN.High}} {
		if t.given > end {
			return failure.At(t.at, fmt.Errorf("%v lies above %s, %v, where the queue ends at a port of %v; use at most that, or auto, which follows the queue", t.given, key, end, rate))
		}
	}
	policy, _ := aqm.Table.Lookup(l.AQM.Name)
	for _, param := range policy.Params {
		if param.Kind != algorithm.Size {
			continue
		}
		if v, err := units.ParseSize(l.AQM.Params[param.Name]); err == nil && v > end {
			return failure.AtParam("links.aqm", &algorithm.ParamError{Param: param.Name, Err: fmt.Errorf("%v lies above %s, %v, where the queue ends", v, key, end)})
		}
	}
	return nil
}

// limits returns the limits of a switch port's queues. Packets are trimmed from a
// threshold on that may be another than the limit of the queue.
func (p portSizing) limits(l experiment.Links, lastHop bool) buffer.Limits {
	limits := buffer.Limits{Data: p.queue, Control: p.control}
	if at := p.trimAt(l, lastHop); l.Trim && at != p.queue {
		limits.Data = at
		if p.queue > at {
			limits.Hard = p.queue
		}
	}
	return limits
}

// trimAt returns from which data queue on packets are trimmed.
func (p portSizing) trimAt(l experiment.Links, lastHop bool) units.Size {
	at := p.queue
	if l.TrimThreshold != 0 {
		at = l.TrimThreshold
	}
	if lastHop {
		at = units.Size(math.Round(float64(at) * l.LastHopTrim))
	}
	return at
}

// rto returns the retransmission timeout of a host: the one given, or where that is
// 0 the reference's, 15 us and the time to drain six full queues at the rate of the
// host's link.
func (s sizing) rto(given units.Duration, rate units.Rate) units.Duration {
	if given != 0 {
		return given
	}
	queue := s.port(rate).queue
	packets := (queue + s.links.MTU - 1) / s.links.MTU
	return 15*units.Microsecond + 6*rate.Serialisation(queue+packets*s.links.Overhead)
}

// noMarks is the name of the AQM policy that marks nothing.
const noMarks = "none"

// policyPort is a port for which an AQM policy is built that marks nothing itself, to
// check or to read its parameters.
func policyPort(rate units.Rate, queue units.Size, thresholds aqm.Thresholds) aqm.Port {
	return aqm.Port{Rate: rate, Queue: queue, ECN: thresholds, Random: rand.New(rand.NewPCG(0, 0))}
}

// newMarking chooses the AQM policy of every switch port, and refuses thresholds and
// parameters that make no sense at the rate of one of them. The queues of a lossless class
// have no end.
func (s sizing) newMarking(g *topologies.Graph, lossless bool) (algorithm.Choice, error) {
	links := s.links
	if !links.ECN.Enabled {
		return algorithm.Choice{Name: noMarks}, nil
	}
	if lossless {
		links.Queue, links.TrimThreshold = 0, 0
	}
	policy, ok := aqm.Table.Lookup(links.AQM.Name)
	if !ok {
		return links.AQM, failure.At("links.aqm", fmt.Errorf("unknown AQM %q", links.AQM.Name))
	}
	tried := map[units.Rate]bool{}
	for _, l := range g.Links {
		if tried[l.Rate] {
			continue
		}
		tried[l.Rate] = true
		sizes := s.port(l.Rate)
		if t := sizes.thresholds; t.Low > t.High {
			return links.AQM, failure.At("links.ecn.low", fmt.Errorf("%v lies above links.ecn.high, %v, at a port of %v", t.Low, t.High, l.Rate))
		}
		if err := sizes.checkThresholds(links, l.Rate); err != nil {
			return links.AQM, err
		}
		port := policyPort(l.Rate, sizes.queue, sizes.thresholds)
		if _, err := policy.New(port, links.AQM.Params); err != nil {
			return links.AQM, failure.AtParam("links.aqm", err)
		}
	}
	return links.AQM, nil
}
