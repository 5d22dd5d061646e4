package measure

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Names of what is measured of ports.
const (
	queueDepth  = "queue_kb"
	hopDelay    = "hop_delay_us"
	utilisation = "utilisation"
)

// class is a kind of port by where it leads. A port may be of several.
type class uint8

const (
	classHost   class = iota // NICs of hosts
	classUp                  // of switches, away from the hosts
	classDown                // of switches, towards the hosts
	classCore                // both ends of links between switches of which one is of the top tier
	classLocal               // of switches, to one of the same tier and pod
	classGlobal              // of switches, to one of the same tier and another pod
	classes
)

var classNames = [classes]string{"host", "up", "down", "core", "local", "global"}

// classesOf returns the set of classes of a port, as bits.
func classesOf(g *topologies.Graph, node, peer int, top topologies.Tier) (set uint8) {
	a, b := &g.Nodes[node], &g.Nodes[peer]
	switch {
	case a.Kind == topologies.Host:
		return 1 << classHost
	case b.Kind == topologies.Host:
		return 1 << classDown
	case a.Tier < b.Tier:
		set = 1 << classUp
	case a.Tier > b.Tier:
		set = 1 << classDown
	case a.Pod == b.Pod:
		return 1 << classLocal
	default:
		return 1 << classGlobal
	}
	if max(a.Tier, b.Tier) == top {
		set |= 1 << classCore
	}
	return set
}

// portLayout is the ports of a fabric in one row: by node, then by port.
type portLayout struct {
	graph     *topologies.Graph
	adjacency [][]topologies.Adjacent
	first     []int // index of a node's first port
	classes   []uint8
	queues    []bool // the port has a queue in which packets may wait
}

func newPortLayout(p *plan.Plan) *portLayout {
	g := p.Graph
	l := &portLayout{graph: g, adjacency: g.Adjacency(), first: make([]int, len(g.Nodes))}
	var top topologies.Tier
	for i := range g.Nodes {
		top = max(top, g.Nodes[i].Tier)
	}
	for n, ports := range l.adjacency {
		l.first[n] = len(l.classes)
		for _, a := range ports {
			l.classes = append(l.classes, classesOf(g, n, a.Peer.Node, top))
			l.queues = append(l.queues, g.Nodes[n].Kind == topologies.Switch || p.Nodes[n].Host == nil || p.HasPrograms(n))
		}
	}
	return l
}

func (l *portLayout) name(node, port int) string {
	return plan.PortName(l.graph, l.adjacency, node, port)
}

// portNames declares the metrics of portSums.
func portNames(s *subjects) []family {
	l := newPortLayout(s.Plan)
	var names, queues, present, queueing []string
	var has, queue uint8
	for n, ports := range l.adjacency {
		for port := range ports {
			i, name := l.first[n]+port, l.name(n, port)
			names, has = append(names, name), has|l.classes[i]
			if l.queues[i] {
				queues, queue = append(queues, name), queue|l.classes[i]
			}
		}
	}
	for c, name := range classNames {
		if has>>c&1 != 0 {
			present = append(present, name)
		}
		if queue>>c&1 != 0 {
			queueing = append(queueing, name)
		}
	}
	ports, ofClass := Words(names...), Words(present...)
	return []family{
		{Parts: []*part{Words(queueDepth), statisticNames(), ofClass}},
		{Parts: []*part{Words(queueDepth), statisticNames(), ports}},
		{Parts: []*part{Words(hopDelay), statisticNames(), Words(queueing...)}},
		{Parts: []*part{Words(hopDelay), statisticNames(), Words(queues...)}},
		{Parts: []*part{Words(utilisation), Words("mean", "max"), ofClass}},
		{Parts: []*part{Words(utilisation), ports}},
	}
}

// portSums is what ports have measured: of each the statistics, of each class of ports
// the histograms.
type portSums struct {
	plan    *plan.Plan
	layout  *portLayout
	ports   []*portSum // by index; nil: it did nothing
	classes [classes]classSum
}

type portSum struct {
	busy        units.Duration
	queue, wait Distribution
}

type classSum struct {
	depth, wait histogram.Histogram
	busy, most  units.Duration // of all ports, and of the busiest
}

func newPortSums(p *plan.Plan) *portSums {
	l := newPortLayout(p)
	return &portSums{plan: p, layout: l, ports: make([]*portSum, len(l.classes))}
}

// Consume implements metrics.Consumer.
func (c *portSums) Consume(b *metrics.Batch) {
	for i := range b.PortMeasurements {
		m := &b.PortMeasurements[i]
		at := c.layout.first[m.Node] + int(m.Port)
		c.ports[at] = &portSum{m.Busy, distributionOf(&m.Depth, bytesPerKB), distributionOf(&m.Wait, perMicrosecond)}
		for k := range c.classes {
			if c.layout.classes[at]>>k&1 == 0 {
				continue
			}
			of := &c.classes[k]
			of.depth.Merge(&m.Depth)
			of.wait.Merge(&m.Wait)
			of.busy += m.Busy
			of.most = max(of.most, m.Busy)
		}
	}
}

// Units of the records in those of metrics.
const (
	bytesPerKB     = 1000
	perMicrosecond = float64(units.Microsecond)
)

// measure adds the metrics of classes, and then those of ports.
func (c *portSums) measure(e *emitter, out *backend.Outcome) {
	from, to := c.plan.Measure.From, min(c.plan.Measure.To, out.End)
	window := to.Sub(from)
	if window <= 0 {
		return
	}
	counts := [classes]int64{}
	for _, set := range c.layout.classes {
		for k := range counts {
			counts[k] += int64(set >> k & 1)
		}
	}
	for k, name := range classNames {
		of := &c.classes[k]
		if counts[k] == 0 {
			continue
		}
		depth := of.depth
		depth.Add(0, counts[k]*int64(window)-depth.Weight()) // ports that did nothing
		queue, wait := distributionOf(&depth, bytesPerKB), distributionOf(&of.wait, perMicrosecond)
		e.distribution(queueDepth, name, &queue, ofRun)
		e.distribution(hopDelay, name, &wait, ofRun)
		e.of(utilisation+".mean", name, float64(of.busy)/float64(window)/float64(counts[k]), ofRun)
		e.of(utilisation+".max", name, float64(of.most)/float64(window), ofRun)
	}
	idle := portSum{queue: Distribution{Any: true}}
	for n, ports := range c.layout.adjacency {
		for port := range ports {
			of := c.ports[c.layout.first[n]+port]
			if of == nil {
				of = &idle
			}
			name := c.layout.name(n, port)
			e.distribution(queueDepth, name, &of.queue, ofPort)
			e.distribution(hopDelay, name, &of.wait, ofPort)
			e.of(utilisation, name, float64(of.busy)/float64(window), ofPort)
		}
	}
}
