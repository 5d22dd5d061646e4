package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// sizing is what the reference simulator derives from the topology: the network
// RTT, and from it queues and thresholds (docs/references.md#network-constants and #switch-queue).
type sizing struct {
	path       congestion.Path
	queue      units.Size // data queue of a switch port
	bdpPackets units.Size // bandwidth-delay product in packets
}

func newSizing(g *topologies.Graph, links experiment.Links) sizing {
	rate := g.Links[g.Adjacency()[0][0].Link].Rate
	rtt := networkRTT(g, links)
	s := sizing{
		path:       congestion.Path{LinkRate: rate, NetworkRTT: rtt, MTU: links.MTU, Header: links.Header, Trim: links.Trim},
		bdpPackets: (rate.Volume(rtt) + links.MTU - 1) / links.MTU,
		queue:      links.Queue,
	}
	if s.queue == 0 {
		s.queue = s.bdpPackets * links.MTU
		if !links.Trim {
			s.queue *= 5
		}
	}
	return s
}

// networkRTT returns the time of a full packet from a host to the farthest other
// one over idle links, and of its ACK back. Departs from the reference where
// links differ: that charges as many links as the path with the largest delay
// has, each at the rate of the hosts' links.
func networkRTT(g *topologies.Graph, links experiment.Links) units.Duration {
	there := topologies.Graph{Nodes: slices.Clone(g.Nodes), Links: slices.Clone(g.Links)}
	for i := range there.Nodes {
		there.Nodes[i].Delay *= 2
	}
	for i := range there.Links {
		l := &there.Links[i]
		l.Delay = 2*l.Delay + l.Rate.Serialisation(links.MTU) + l.Rate.Serialisation(links.Header)
	}
	_, rtt := topologies.LongestPath(&there)
	return rtt
}

// share returns the given tenths of the BDP, in whole packets rounded up.
func (s sizing) share(tenths units.Size) units.Size {
	return (s.bdpPackets*tenths + 9) / 10 * s.path.MTU
}

// rto returns the retransmission timeout: the one given, or where that is 0 the
// reference's, 15 us and six full queues.
func (s sizing) rto(given units.Duration) units.Duration {
	if given != 0 {
		return given
	}
	return 15*units.Microsecond + 6*s.path.LinkRate.Serialisation(s.queue)
}

// buffer returns the limits of a switch port's queues.
func (s sizing) buffer(links experiment.Links) buffer.Limits {
	limits := buffer.Limits{Data: s.queue, Control: links.ControlQueue}
	if limits.Control == 0 {
		limits.Control = 2 * s.queue
	}
	return limits
}

// thresholds returns the ECN thresholds of a switch port.
func (s sizing) thresholds(ecn experiment.ECN) (aqm.Thresholds, error) {
	t := aqm.Thresholds{Low: ecn.Low, High: ecn.High}
	if t.Low == 0 {
		t.Low = s.share(2)
	}
	if t.High == 0 {
		t.High = s.share(8)
	}
	if t.Low > t.High {
		return t, failure.At("links.ecn.low", fmt.Errorf("%v lies above links.ecn.high, %v", t.Low, t.High))
	}
	return t, nil
}

// marking is the AQM policy of every switch port.
type marking struct {
	policy     algorithm.Choice
	thresholds aqm.Thresholds
}

// newMarking settles the AQM policy, and refuses parameters that make no sense at one
// of the rates.
func newMarking(g *topologies.Graph, links experiment.Links, s sizing) (m marking, err error) {
	if !links.ECN.Enabled {
		return marking{policy: algorithm.Choice{Name: "none"}, thresholds: aqm.Thresholds{Low: links.ECN.Low, High: links.ECN.High}}, nil
	}
	m.policy = links.AQM
	if m.thresholds, err = s.thresholds(links.ECN); err != nil {
		return m, err
	}
	policy, ok := aqm.Table.Lookup(m.policy.Name)
	if !ok {
		return m, failure.At("links.aqm", fmt.Errorf("unknown AQM %q", m.policy.Name))
	}
	tried := map[units.Rate]bool{}
	for _, l := range g.Links {
		if tried[l.Rate] {
			continue
		}
		tried[l.Rate] = true
		port := aqm.Port{Rate: l.Rate, Queue: s.queue, ECN: m.thresholds, Random: rand.New(rand.NewPCG(0, 0))}
		if _, err := policy.New(port, m.policy.Params); err != nil {
			return m, failure.AtParam("links.aqm", err)
		}
	}
	return m, nil
}
