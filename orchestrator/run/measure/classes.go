package measure

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// classMetrics are of classes of data.
var classMetrics = Group{Title: "Classes of data", Of: "classes",
	Doc:     "Runs with [classes](../how-to/fabrics.md#classes), or with shared memory, have these. They are over the ports of switches unless they say otherwise.",
	Entries: slices.Concat([]*Entry{classQueue, classWait, bufferMost, bufferOfSwitch, pausedOfClass, headroom}, countEntries(), []*Entry{pausesOfPort, pausedOfPort}),
}

var (
	classQueue = &Entry{Form: "class_queue_kb.<statistic>.<class>", Packets: true, Words: []*words{statisticNames, dataClasses}, Better: meaning.Lower, Needs: ofClasses, Absent: noneOfClass,
		Doc: "depth of the queues of the class in the measuring window, over the time of all ports that had packets of it"}
	classWait = &Entry{Form: "class_wait_us.<statistic>.<class>", Packets: true, Words: []*words{statisticNames, dataClasses}, Better: meaning.Lower, Needs: ofClasses, Absent: noneOfClass,
		Doc: "time that packets of the class waited at a port"}
	bufferMost     = &Entry{Form: "buffer_kb.max", Packets: true, Better: meaning.Lower, Needs: ofClasses, Doc: "the most data that was in the queues of one switch"}
	bufferOfSwitch = &Entry{Form: "buffer_kb.max.<switch>", Packets: true, Words: []*words{switchNames}, Better: meaning.Lower, Needs: ofClasses, Doc: "the most data that was in the queues of the switch"}
	pausedOfClass  = &Entry{Form: "paused_us.<class>", Packets: true, Words: []*words{losslessClasses}, Better: meaning.Lower, Needs: ofLossless,
		Doc: "time in which ports were paused, summed over all ports, NICs included"}
	headroom     = &Entry{Form: "headroom_kb.max.<class>", Packets: true, Words: []*words{losslessClasses}, Better: meaning.Lower, Needs: ofLossless, Doc: "the most of a port's headroom that was in use"}
	pausesOfPort = &Entry{Form: "pauses.<class>.<port>", Packets: true, Words: []*words{losslessClasses, portNames}, Unit: "frames", Better: meaning.Lower, Needs: ofLossless, Absent: noPause,
		Doc: "pause frames that the port sent to its peer"}
	pausedOfPort = &Entry{Form: "paused_us.<class>.<port>", Packets: true, Words: []*words{losslessClasses, portNames}, Better: meaning.Lower, Needs: ofLossless, Absent: noPause,
		Doc: "time in which the port was paused by its peer"}
)

// classCounts are the metrics that are sums of a count over the switch ports of a class.
var classCounts = []struct {
	*Entry
	lossless bool // of lossless classes alone
	of       func(t *metrics.ClassTotals) int64
}{
	{&Entry{Form: "class_bytes.<class>", Packets: true, Words: []*words{dataClasses}, Needs: ofClasses, Doc: "bytes of the class sent, by each switch port that a packet crosses"},
		false, func(t *metrics.ClassTotals) int64 { return t.TxBytes }},
	{&Entry{Form: "class_marks.<class>", Packets: true, Words: []*words{dataClasses}, Needs: ofClasses, Doc: "packets of the class that were marked"},
		false, func(t *metrics.ClassTotals) int64 { return t.MarkedPackets }},
	{&Entry{Form: "class_trims.<class>", Packets: true, Words: []*words{dataClasses}, Better: meaning.Lower, Needs: ofClasses, Doc: "packets of the class that were trimmed"},
		false, func(t *metrics.ClassTotals) int64 { return t.TrimmedPackets }},
	{&Entry{Form: "class_drops.<class>", Packets: true, Words: []*words{dataClasses}, Better: meaning.Lower, Needs: ofClasses, Doc: "packets of the class that were dropped"},
		false, func(t *metrics.ClassTotals) int64 { return t.DroppedPackets + t.HeadroomDropped }},
	{&Entry{Form: "pauses.<class>", Packets: true, Words: []*words{losslessClasses}, Unit: "frames", Better: meaning.Lower, Needs: ofLossless,
		Doc: "pause frames that switches sent for a lossless class, refreshes and ends of pauses included"},
		true, func(t *metrics.ClassTotals) int64 { return t.PausesSent }},
}

func countEntries() (entries []*Entry) {
	for _, c := range classCounts {
		entries = append(entries, c.Entry)
	}
	return entries
}

// What classes need, and their words.
var (
	ofClasses       = []*need{{"classes", func(p *plan.Plan) bool { return len(p.Classes) > 0 }, "it has no classes"}}
	ofLossless      = []*need{{"a lossless class", func(p *plan.Plan) bool { return len(classesOfData(p, true)) > 0 }, "it has no lossless class"}}
	dataClasses     = &words{of: func(s *subjects) []string { return classesOfData(s.Plan, false) }}
	losslessClasses = &words{of: func(s *subjects) []string { return classesOfData(s.Plan, true) }}
	switchNames     = &words{of: func(s *subjects) (names []string) {
		for _, n := range s.Plan.Nodes[s.Plan.Hosts():] {
			names = append(names, n.Name())
		}
		return names
	}}
)

// classesOfData returns the names of a plan's classes, of all or of those that are lossless.
func classesOfData(p *plan.Plan, lossless bool) (names []string) {
	for i := range p.Classes {
		if c := &p.Classes[i]; c.Lossless || !lossless {
			names = append(names, c.Name)
		}
	}
	return names
}

// Reasons why runs lack metrics of classes.
const (
	noneOfClass = "no packet of the class left a queue in the measuring window"
	noPause     = "the port paused nobody and nobody paused it"
)

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

// measure adds the metrics of classes, then those of ports, then those of switches.
func (c *classSums) measure(e *emitter, nodes []metrics.NodeTotals) {
	if len(c.classes) == 0 {
		return
	}
	for k := range c.classes {
		of, class := &c.classes[k], &c.plan.Classes[k]
		queue, wait := distributionOf(&of.depth, bytesPerKB), distributionOf(&of.wait, perMicrosecond)
		e.distribution(classQueue, &queue, class.Name)
		e.distribution(classWait, &wait, class.Name)
		for i, count := range classCounts {
			if !count.lossless || class.Lossless {
				e.set(count.Entry, float64(of.counts[i]), class.Name)
			}
		}
		if class.Lossless {
			e.set(pausedOfClass, of.paused, class.Name)
			e.set(headroom, float64(of.room)/bytesPerKB, class.Name)
		}
	}
	slices.SortFunc(c.ports, func(a, b metrics.ClassTotals) int {
		return int(int64(a.Node)<<32|int64(a.Port)<<8|int64(a.Class)) - int(int64(b.Node)<<32|int64(b.Port)<<8|int64(b.Class))
	})
	for i := range c.ports {
		t := &c.ports[i]
		if class := &c.plan.Classes[t.Class]; class.Lossless {
			port := c.layout.name(int(t.Node), int(t.Port))
			e.set(pausesOfPort, float64(t.PausesSent), class.Name, port)
			e.set(pausedOfPort, t.Paused.Microseconds(), class.Name, port)
		}
	}
	var most int64
	for i := c.plan.Hosts(); i < len(nodes); i++ {
		most = max(most, nodes[i].Memory.BufferMax)
		e.set(bufferOfSwitch, float64(nodes[i].Memory.BufferMax)/bytesPerKB, c.plan.Nodes[i].Name())
	}
	e.set(bufferMost, float64(most)/bytesPerKB)
}
