package measure

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// portMetrics are of ports, and of classes of them.
var portMetrics = Group{Title: "Ports", Of: "ports", Entries: []*Entry{queueOfClass, queueOfPort, delayOfClass, delayOfPort, meanUse, mostUse, useOfPort},
	Doc: "They cover the [measuring window](#the-measuring-window). A port that did nothing has a queue of 0 and a utilisation of 0."}

const (
	endedEarly = "the run ended before the measuring window began"
	noneLeft   = "no packet left the queue in the measuring window"
)

var (
	queueOfClass = &Entry{Form: "queue_kb.<statistic>.<class>", Packets: true, Words: []*words{statisticNames, portClasses}, Better: meaning.Lower, Absent: endedEarly, Doc: "as `queue_kb.<statistic>.<port>`, over the time of all ports of the class together"}
	queueOfPort  = &Entry{Form: "queue_kb.<statistic>.<port>", Packets: true, Words: []*words{statisticNames, portNames}, Better: meaning.Lower, Absent: endedEarly,
		Doc: "depth of the port's data queue, weighted by time: `p99` is the depth that was exceeded for 1 % of the window. A depth that lasted no time does not count, so that a packet that finds the port idle makes no queue. The packet being sent is not in the queue, nor are ACKs, NACKs and trimmed packets, which have one of their own. At a NIC it is the queue of programs' and generators' frames; the transport makes a packet when the NIC is free for it"}
	delayOfClass = &Entry{Form: "hop_delay_us.<statistic>.<class>", Packets: true, Words: []*words{statisticNames, queueClasses}, Better: meaning.Lower, Absent: noneLeft, Doc: "as `hop_delay_us.<statistic>.<port>`, over the packets of all ports of the class together"}
	delayOfPort  = &Entry{Form: "hop_delay_us.<statistic>.<port>", Packets: true, Words: []*words{statisticNames, queueNames}, Better: meaning.Lower, Absent: noneLeft,
		Doc: "time from the arrival of a packet in the port's data queue (after the switch's own delay) to the beginning of its transmission, over the packets that leave this queue in the window: data, probes, and frames of programs and generators. Ports of hosts with transfers alone have none"}
	meanUse   = &Entry{Form: "utilisation.mean.<class>", Words: []*words{portClasses}, Share: true, Absent: endedEarly, Doc: "mean utilisation of the ports of the class"}
	mostUse   = &Entry{Form: "utilisation.max.<class>", Words: []*words{portClasses}, Share: true, Absent: endedEarly, Doc: "greatest utilisation of the ports of the class"}
	useOfPort = &Entry{Form: "utilisation.<port>", Words: []*words{portNames}, Share: true, Absent: endedEarly, Doc: "of the window, the time in which the port was sending anything, line overhead included"}
)

// Words of ports with a data queue, and of the classes that a fabric has.
var (
	queueNames = &words{of: func(s *subjects) (names []string) {
		for i, name := range s.portNames() {
			if s.layout.queues[i] {
				names = append(names, name)
			}
		}
		return names
	}}
	portClasses  = &words{of: func(s *subjects) []string { return s.classesOf(func(int) bool { return true }) }, every: classNames[:]}
	queueClasses = &words{of: func(s *subjects) []string { return s.classesOf(func(port int) bool { return s.layout.queues[port] }) }, every: classNames[:]}
)

// classesOf returns the names of the classes that have a port that counts.
func (s *subjects) classesOf(counts func(port int) bool) (names []string) {
	var has uint8
	for i := range s.portNames() {
		if counts(i) {
			has |= s.layout.classes[i]
		}
	}
	for c, name := range classNames {
		if has>>c&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

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
	adjacency [][]topologies.Adjacent // none of foreign nodes, whose ports are not known
	first     []int                   // index of a node's first port
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
		if p.ForeignNode(n) != nil {
			l.adjacency[n] = nil
			continue
		}
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
		e.distribution(queueOfClass, &queue, name)
		e.distribution(delayOfClass, &wait, name)
		e.set(meanUse, float64(of.busy)/float64(window)/float64(counts[k]), name)
		e.set(mostUse, float64(of.most)/float64(window), name)
	}
	idle := portSum{queue: Distribution{Any: true}}
	for n, ports := range c.layout.adjacency {
		for port := range ports {
			of := c.ports[c.layout.first[n]+port]
			if of == nil {
				of = &idle
			}
			name := c.layout.name(n, port)
			e.distribution(queueOfPort, &of.queue, name)
			e.distribution(delayOfPort, &of.wait, name)
			e.set(useOfPort, float64(of.busy)/float64(window), name)
		}
	}
}
