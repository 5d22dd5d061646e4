package exposition

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Set counts the records of nodes into the families. It is a metrics.Consumer. Its methods
// may be called from several goroutines. Build it with NewSet.
type Set struct {
	mu   sync.Mutex
	of   Description
	now  units.Time // up to which all windows are known, as far as Advance was told
	last units.Time // the latest end of a window

	ports     []portSeries
	portIndex map[[2]int32]int
	groups    []flowSeries
	flowGroup map[int32]int       // index in groups
	racks     map[int32][2]string // source and destination of the flows
	cwnd      map[int32]int64     // of the single flows
	signals   map[signalKey]signalSeries
	sampled   signalList // by the labels of SignalSamples
	paths     signalList // by the labels of PathSamples and PathValues
	jobs      []*jobSeries
	jobIndex  map[int32]*jobSeries
	locators  map[uint32]LocatorDescription
	kinds     []int                     // indices in SignalGauges, by type; -1 without a gauge
	values    map[string][]*valueSeries // of Observe, Add and SetValue, by family, then labels
	head      string                    // the common labels as text
	texts     sync.Pool                 // of *textWriter
}

// portSeries is what a port has counted.
type portSeries struct {
	of      PortDescription
	labels  []string
	info    []string           // of PortInfo
	totals  metrics.PortWindow // sums; Start is of the latest window
	latest  metrics.PortWindow
	metered bool  // the port has a CSIG meter, as a window said
	windows int64 // with a record
	idle    int64 // without
	used    histogram
	queued  histogram
}

// flowSeries is what the flows with the same labels have counted.
type flowSeries struct {
	labels []string

	received    bool // there was a FlowWindow
	bytes       int64
	windowBytes int64 // of the window that starts at windowStart
	windowStart units.Time

	acked     bool // there was a CCWindow
	acks      int64
	cwnd      int64 // sum over the flows
	delay     units.Duration
	delayAcks int64
	delayAt   units.Time
	actions   []actionSeries // by name

	signals [len(SignalGauges)]extreme
}

type actionSeries struct {
	labels []string
	acks   int64
}

// extreme is the least or greatest value of a window.
type extreme struct {
	seen  bool
	start units.Time
	value int64
}

type signalKey struct {
	flow    int32
	kind    uint8
	locator uint32
}

// signalSeries are what the samples of a flow with the same signal and locator are counted in.
type signalSeries struct{ flow, path *signalCount }

type signalCount struct {
	labels  []string
	samples int64
	sum     int64 // of the samples' points
	scale   float64
}

// signalList is counts in the order of their labels.
type signalList []*signalCount

// of returns the count with these labels, and adds it if it is not there.
func (l *signalList) of(scale float64, labels ...string) *signalCount {
	at, ok := slices.BinarySearchFunc(*l, labels, func(x *signalCount, labels []string) int { return slices.Compare(x.labels, labels) })
	if !ok {
		*l = slices.Insert(*l, at, &signalCount{labels: labels, scale: scale})
	}
	return (*l)[at]
}

func (c *signalCount) add(w *metrics.SignalWindow) {
	c.samples += w.Samples
	c.sum += w.PointSum
}

// jobSeries is what a job has counted.
type jobSeries struct {
	of          *metrics.JobInfo
	labels      []string
	step        int32
	iterations  histogram
	collectives []*valueSeries // by name
}

// valueSeries is a series of any family.
type valueSeries struct {
	family *Family
	labels []string
	value  float64
	counts histogram
}

// SignalGauges says which gauge the samples of a type of signal go into.
var SignalGauges = [...]struct {
	Signal, Family string
	Least          bool    // the gauge has the least sample of a window, and not the greatest
	Scale          float64 // of the type's unit
}{
	{"abw", SignalAvailable, true, 1},
	{"abw-c", SignalAvailableRatio, true, 1e-6},
	{"delay", SignalDelay, false, 1e-9},
	{"nqd", SignalQueueRatio, false, 1e-6},
}

// histogram counts observations by the buckets of a family. The zero value is empty.
type histogram struct {
	counts []int64 // by bucket, +Inf last; nil before the first observation
	sum    float64
}

func (h *histogram) observe(f *Family, value float64, times int64) {
	if h.counts == nil {
		h.counts = make([]int64, len(f.Buckets)+1)
	}
	h.counts[f.bucket(value)] += times
	h.sum += value * float64(times)
}

// SignalGauge returns the index in SignalGauges of a type of signal, -1 without a gauge.
func SignalGauge(signal string) int {
	for i := range SignalGauges {
		if SignalGauges[i].Signal == signal {
			return i
		}
	}
	return -1
}

// NewSet returns a Set of the nodes that d describes. d must not be changed afterwards.
func NewSet(d Description) *Set {
	s := &Set{
		of: d, portIndex: make(map[[2]int32]int, len(d.Ports)), flowGroup: make(map[int32]int, len(d.Flows)),
		cwnd: map[int32]int64{}, signals: map[signalKey]signalSeries{}, racks: map[int32][2]string{}, jobIndex: map[int32]*jobSeries{},
		locators: make(map[uint32]LocatorDescription, len(d.Locators)), values: map[string][]*valueSeries{},
	}
	for _, p := range d.Ports {
		s.portIndex[[2]int32{p.Node, p.Port}] = len(s.ports)
		labels := []string{p.NodeName, p.Name, p.Tier, p.Direction, p.Peer}
		s.ports = append(s.ports, portSeries{of: p, labels: labels[:4:4], info: labels})
	}
	groups := map[FlowDescription]int{}
	for _, f := range d.Flows {
		key := FlowDescription{Job: f.Job, Name: f.Name}
		at, ok := groups[key]
		if !ok {
			at = len(s.groups)
			groups[key] = at
			s.groups = append(s.groups, flowSeries{labels: []string{f.Job, f.Name}})
		}
		s.flowGroup[f.Flow] = at
		s.racks[f.Flow] = [2]string{f.Source, f.Destination}
	}
	for i := range d.Jobs {
		job := &d.Jobs[i]
		s.jobs = append(s.jobs, &jobSeries{of: job, labels: []string{job.Name}})
		s.jobIndex[job.Job] = s.jobs[i]
	}
	for _, l := range d.Locators {
		s.locators[l.Locator] = l
	}
	for _, name := range d.Signals {
		s.kinds = append(s.kinds, SignalGauge(name))
	}
	for i, value := range d.Common.values() {
		s.head += string(AppendLabel(nil, CommonLabels[i], value))
	}
	s.series(droppedFamily, nil) // it is there from the beginning
	return s
}

// Consume counts the records of a batch. Records of what the Description does not describe
// count nothing.
func (s *Set) Consume(b *metrics.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.series(droppedFamily, nil).value += float64(b.Dropped)
	for i := range b.Ports {
		s.port(&b.Ports[i])
	}
	for i := range b.Flows {
		s.flow(&b.Flows[i])
	}
	for i := range b.CC {
		s.cc(&b.CC[i])
	}
	for i := range b.Signals {
		s.signal(&b.Signals[i])
	}
	for i := range b.Operations {
		s.operation(&b.Operations[i])
	}
	for i := range b.Totals {
		s.totals(&b.Totals[i])
	}
}

// Advance says that every record of a window that ended at or before a moment has been
// consumed, as far as the caller knows. Ports without records have been idle until then. A
// record that comes later all the same is counted, and fewer idle windows after it.
func (s *Set) Advance(to units.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = max(s.now, to)
}

func (s *Set) port(w *metrics.PortWindow) {
	at, ok := s.portIndex[[2]int32{w.Node, w.Port}]
	if !ok {
		return
	}
	p := &s.ports[at]
	t := &p.totals
	t.TxPackets += w.TxPackets
	t.TxBytes += w.TxBytes
	t.Marked += w.Marked
	t.Trimmed += w.Trimmed
	t.Dropped += w.Dropped
	p.latest = *w
	p.windows++
	p.metered = p.metered || w.ABW != metrics.Absent
	p.used.observe(utilisationFamily, s.utilisation(w), 1)
	p.queued.observe(queueFamily, float64(w.QueueMax), 1)
	s.last = max(s.last, w.Start.Add(s.of.Window))
}

// utilisation returns the share of a window in which the line was busy.
func (s *Set) utilisation(w *metrics.PortWindow) float64 {
	if s.of.Window <= 0 {
		return 0
	}
	return float64(w.Busy) / float64(s.of.Window)
}

func (s *Set) flow(w *metrics.FlowWindow) {
	at, ok := s.flowGroup[w.Flow]
	if !ok {
		return
	}
	g := &s.groups[at]
	g.bytes += w.PayloadBytes
	switch {
	case !g.received || w.Start > g.windowStart:
		g.received, g.windowStart, g.windowBytes = true, w.Start, w.PayloadBytes
	case w.Start == g.windowStart:
		g.windowBytes += w.PayloadBytes
	}
	s.last = max(s.last, w.Start.Add(s.of.Window))
}

func (s *Set) cc(w *metrics.CCWindow) {
	at, ok := s.flowGroup[w.Flow]
	if !ok {
		return
	}
	g := &s.groups[at]
	g.acks += w.Acks
	if w.Cwnd >= 0 {
		g.cwnd += w.Cwnd - s.cwnd[w.Flow]
		s.cwnd[w.Flow] = w.Cwnd
	}
	if !g.acked || w.Start > g.delayAt {
		g.acked, g.delayAt, g.delay, g.delayAcks = true, w.Start, 0, 0
	}
	if w.Start == g.delayAt {
		g.delay += w.Delay
		g.delayAcks += w.Acks
	}
	for _, a := range w.Actions {
		at, ok := slices.BinarySearchFunc(g.actions, a.Name, func(x actionSeries, name string) int { return strings.Compare(x.labels[2], name) })
		if !ok {
			g.actions = slices.Insert(g.actions, at, actionSeries{labels: []string{g.labels[0], g.labels[1], a.Name}})
		}
		g.actions[at].acks += a.Packets
	}
	s.last = max(s.last, w.Start.Add(s.of.Window))
}

func (s *Set) signal(w *metrics.SignalWindow) {
	at, ok := s.flowGroup[w.Flow]
	if !ok {
		return
	}
	g := &s.groups[at]
	key := signalKey{w.Flow, w.Type, w.Locator}
	series, ok := s.signals[key]
	if !ok {
		series = s.newSignal(g, w)
		s.signals[key] = series
	}
	series.flow.add(w)
	series.path.add(w)
	s.last = max(s.last, w.Start.Add(s.of.Window))
	if int(w.Type) >= len(s.kinds) || s.kinds[w.Type] < 0 {
		return
	}
	least, value := SignalGauges[s.kinds[w.Type]].Least, w.PointMax
	if least {
		value = w.PointMin
	}
	e := &g.signals[s.kinds[w.Type]]
	switch {
	case !e.seen || w.Start > e.start:
		*e = extreme{true, w.Start, value}
	case w.Start < e.start:
	case least:
		e.value = min(e.value, value)
	default:
		e.value = max(e.value, value)
	}
}

// newSignal returns what the samples of a window are counted in. Locators without a name
// share it.
func (s *Set) newSignal(g *flowSeries, w *metrics.SignalWindow) signalSeries {
	l, scale := s.locators[w.Locator], 1.0
	if int(w.Type) < len(s.kinds) && s.kinds[w.Type] >= 0 {
		scale = SignalGauges[s.kinds[w.Type]].Scale
	}
	name, racks := s.signalName(w.Type), s.racks[w.Flow]
	return signalSeries{s.sampled.of(scale, g.labels[0], g.labels[1], name, l.Port, l.Tier), s.paths.of(scale, racks[0], racks[1], name, l.Port, l.Tier)}
}

// signalName returns the name of a type of signal.
func (s *Set) signalName(t uint8) string {
	if int(t) < len(s.of.Signals) {
		return s.of.Signals[t]
	}
	return "type-" + strconv.Itoa(int(t))
}

func (s *Set) operation(o *metrics.Operation) {
	job := s.jobIndex[o.Job]
	if job == nil {
		return
	}
	job.step = max(job.step, o.Tag.Step)
	if o.Kind != metrics.OperationSpan {
		return
	}
	switch seconds := o.End.Sub(o.Ready).Seconds(); {
	case o.Tag.Collective != 0:
		if c := job.of.Collective(o.Tag); c != nil {
			find(&job.collectives, collectiveFamily, job.of.Name, c.Name).counts.observe(collectiveFamily, seconds, 1)
		}
	case o.Tag.Phase == 0 && o.Tag.Step > 0:
		job.iterations.observe(iterationFamily, seconds, 1)
	}
}

// totals counts what a node knows only at its end.
func (s *Set) totals(t *metrics.NodeTotals) {
	for i := range t.Senders {
		sender := &t.Senders[i]
		at, ok := s.flowGroup[sender.Flow]
		if !ok {
			continue
		}
		labels := s.groups[at].labels
		s.series(retransmittedFamily, labels).value += float64(sender.Retransmitted)
		s.series(timeoutsFamily, labels).value += float64(sender.Timeouts)
	}
}

// Families that Consume looks up for each record.
var (
	utilisationFamily   = Of(PortWindowUtilisation)
	queueFamily         = Of(PortWindowQueue)
	collectiveFamily    = Of(CollectiveTime)
	iterationFamily     = Of(JobIteration)
	retransmittedFamily = Of(FlowRetransmitted)
	timeoutsFamily      = Of(FlowTimeouts)
	droppedFamily       = Of(RunDropped)
)

// SetValue sets a gauge, or a counter that is counted elsewhere, to a value.
func (s *Set) SetValue(f *Family, value float64, labels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.series(f, labels).value = value
}

func (s *Set) series(f *Family, labels []string) *valueSeries {
	list := s.values[f.Name]
	v := find(&list, f, labels...)
	s.values[f.Name] = list
	return v
}

// find returns the series of a family with these labels in a list, which is ordered by
// labels. It adds the series if it is not there.
func find(list *[]*valueSeries, f *Family, labels ...string) *valueSeries {
	at, ok := slices.BinarySearchFunc(*list, labels, func(v *valueSeries, labels []string) int { return slices.Compare(v.labels, labels) })
	if !ok {
		if len(labels) != len(f.Labels) {
			panic("exposition: " + f.Name + " has other labels")
		}
		*list = slices.Insert(*list, at, &valueSeries{family: f, labels: slices.Clone(labels)})
	}
	return (*list)[at]
}
