package measure

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Names of what is measured of data classes.
const (
	classQueue = "class_queue_kb"
	classWait  = "class_wait_us"
	pauses     = "pauses"
	pausedTime = "paused_us"
)

// Reasons why runs lack them.
const (
	lacksClasses  = "it has no classes"
	lacksLossless = "it has no lossless class"
)

// classCounts are the metrics that are sums of a count over the switch ports of a class.
var classCounts = []struct {
	name     string
	lossless bool // of lossless classes alone
	of       func(t *metrics.ClassTotals) int64
}{
	{"class_bytes", false, func(t *metrics.ClassTotals) int64 { return t.TxBytes }},
	{"class_marks", false, func(t *metrics.ClassTotals) int64 { return t.MarkedPackets }},
	{"class_trims", false, func(t *metrics.ClassTotals) int64 { return t.TrimmedPackets }},
	{"class_drops", false, func(t *metrics.ClassTotals) int64 { return t.DroppedPackets + t.HeadroomDropped }},
	{pauses, true, func(t *metrics.ClassTotals) int64 { return t.PausesSent }},
}

// classSums is what switch ports have measured of classes.
type classSums struct {
	plan    *plan.Plan
	layout  *portLayout
	classes []classMeasured // as Plan.Classes
	ports   []metrics.ClassTotals
}

type classMeasured struct {
	depth, wait histogram.Histogram
	counts      []int64 // as classCounts
	paused      float64 // µs
	queue, room int64   // the most bytes in a queue, and in a headroom
}

func newClassSums(p *plan.Plan) *classSums {
	c := &classSums{plan: p, classes: make([]classMeasured, len(p.Classes))}
	for i := range c.classes {
		c.classes[i].counts = make([]int64, len(classCounts))
	}
	if len(p.Classes) > 0 {
		c.layout = newPortLayout(p)
	}
	return c
}

// Consume implements metrics.Consumer.
func (c *classSums) Consume(b *metrics.Batch) {
	for i := range b.Classes {
		t := &b.Classes[i]
		if int(t.Class) >= len(c.classes) {
			continue
		}
		of := &c.classes[t.Class]
		of.paused += t.Paused.Microseconds()
		if t.PausesReceived|t.PausesSent != 0 {
			one := *t
			one.Depth, one.Wait = histogram.Histogram{}, histogram.Histogram{}
			c.ports = append(c.ports, one)
		}
		if int(t.Node) < c.plan.Hosts() {
			continue
		}
		of.depth.Merge(&t.Depth)
		of.wait.Merge(&t.Wait)
		of.queue, of.room = max(of.queue, t.QueueMax), max(of.room, t.HeadroomMax)
		for k, count := range classCounts {
			of.counts[k] += count.of(t)
		}
	}
}

// classMetricNames declares the metrics of classSums.
func classMetricNames(s *subjects) []family {
	all, lossless, switches := []string{}, []string{}, []string{}
	for _, c := range s.Plan.Classes {
		all = append(all, c.Name)
		if c.Lossless {
			lossless = append(lossless, c.Name)
		}
	}
	for _, n := range s.Plan.Nodes[s.Plan.Hosts():] {
		switches = append(switches, n.Name())
	}
	noClasses, noLossless := unless(len(all) > 0, lacksClasses), unless(len(lossless) > 0, lacksLossless)
	words := func(list []string) *part {
		if len(list) == 0 {
			return AnyWord()
		}
		return Words(list...)
	}
	classes, safe := words(all), words(lossless)
	families := []family{
		{Parts: []*part{Words(classQueue), statisticNames(), classes}, Lacks: noClasses},
		{Parts: []*part{Words(classWait), statisticNames(), classes}, Lacks: noClasses},
		{Parts: []*part{Words("buffer_kb.max")}, Lacks: noClasses},
		{Parts: []*part{Words("buffer_kb.max"), Words(switches...)}, Lacks: noClasses},
		{Parts: []*part{Words(pausedTime), safe}, Lacks: noLossless},
		{Parts: []*part{Words("headroom_kb.max"), safe}, Lacks: noLossless},
	}
	for _, c := range classCounts {
		if c.lossless {
			families = append(families, family{Parts: []*part{Words(c.name), safe}, Lacks: noLossless})
		} else {
			families = append(families, family{Parts: []*part{Words(c.name), classes}, Lacks: noClasses})
		}
	}
	if len(lossless) == 0 {
		return families
	}
	l := newPortLayout(s.Plan)
	var ports []string
	for n, list := range l.adjacency {
		for port := range list {
			ports = append(ports, l.name(n, port))
		}
	}
	names := Words(ports...)
	return append(families,
		family{Parts: []*part{Words(pauses), safe, names}},
		family{Parts: []*part{Words(pausedTime), safe, names}},
	)
}

// measure adds the metrics of classes, then those of ports, then those of switches.
func (c *classSums) measure(e *emitter, nodes []metrics.NodeTotals) {
	if len(c.classes) == 0 {
		return
	}
	for k := range c.classes {
		of, class := &c.classes[k], &c.plan.Classes[k]
		queue, wait := distributionOf(&of.depth, bytesPerKB), distributionOf(&of.wait, perMicrosecond)
		e.distribution(classQueue, class.Name, &queue, ofRun)
		e.distribution(classWait, class.Name, &wait, ofRun)
		for i, count := range classCounts {
			if !count.lossless || class.Lossless {
				e.of(count.name, class.Name, float64(of.counts[i]), ofRun)
			}
		}
		if class.Lossless {
			e.of(pausedTime, class.Name, of.paused, ofRun)
			e.of("headroom_kb.max", class.Name, float64(of.room)/bytesPerKB, ofRun)
		}
	}
	slices.SortFunc(c.ports, func(a, b metrics.ClassTotals) int {
		return int(int64(a.Node)<<32|int64(a.Port)<<8|int64(a.Class)) - int(int64(b.Node)<<32|int64(b.Port)<<8|int64(b.Class))
	})
	for i := range c.ports {
		t := &c.ports[i]
		if class := &c.plan.Classes[t.Class]; class.Lossless {
			subject := class.Name + "." + c.layout.name(int(t.Node), int(t.Port))
			e.of(pauses, subject, float64(t.PausesSent), ofPort)
			e.of(pausedTime, subject, t.Paused.Microseconds(), ofPort)
		}
	}
	var most int64
	for i := c.plan.Hosts(); i < len(nodes); i++ {
		most = max(most, nodes[i].Memory.BufferMax)
		e.of("buffer_kb.max", c.plan.Nodes[i].Name(), float64(nodes[i].Memory.BufferMax)/bytesPerKB, ofPort)
	}
	e.run("buffer_kb.max", float64(most)/bytesPerKB)
}
