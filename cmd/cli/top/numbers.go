// Package top makes the table of csiglab top from the metrics of a lab's nodes, read at two
// moments, and draws it on a terminal. It reads no node: package live does.
package top

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
)

// Moment is what the nodes of a lab said at one moment. For a process that did not answer it
// has what the process said last. Build it with NewMoment.
type Moment struct {
	At      time.Time
	Nodes   int     // that were asked
	Silent  []error // of processes that did not answer
	info    map[string]string
	dilated float64
	delay   float64 // s of the model: the smallest that matters
	dropped float64
	ports   map[string]*portCounts
	samples map[place]float64
	flows   map[flowName]*flowCounts
	late    float64           // s of wall time
	latest  string            // node with the greatest lateness
	said    map[string]answer // by process
}

// answer is what a process said, and when.
type answer struct {
	families map[string]*dto.MetricFamily
	at       time.Time
}

// place is a port that samples named.
type place struct{ signal, port, tier string }

// flowName is the labels of a flow's series.
type flowName struct{ job, flow string }

// portCounts are the series of a port.
type portCounts struct {
	name, tier, direction string
	rate                  float64 // byte/s
	bytes                 float64
	marked, lost          float64 // packets; lost are dropped or trimmed
	now                   float64 // utilisation of the latest window
	queue                 float64 // bytes, mean of the latest window
	used, queued          *dto.Histogram
}

// flowCounts are the series of flows with the same name.
type flowCounts struct {
	cwnd, delay float64
	delays      int // how many processes have a delay
	acks        float64
	received    map[string]received // by process
}

// received is what a process has received of flows.
type received struct {
	bytes float64
	rate  float64 // byte/s in the latest window
	at    time.Time
}

func newMoment() *Moment {
	return &Moment{ports: map[string]*portCounts{}, samples: map[place]float64{}, flows: map[flowName]*flowCounts{}, said: map[string]answer{}}
}

// NewMoment returns what the nodes have answered. before is the moment of the look before,
// nil at the first one.
func NewMoment(before *Moment, readings []live.Reading) *Moment {
	m := newMoment()
	for _, r := range readings {
		m.Nodes += len(r.Nodes)
		m.At = r.At
		err := r.Err
		if err == nil {
			parser := expfmt.NewTextParser(model.UTF8Validation)
			var families map[string]*dto.MetricFamily
			if families, err = parser.TextToMetricFamilies(bytes.NewReader(r.Text)); err == nil {
				m.add(r.Instance, answer{families, r.At})
				continue
			}
			err = fmt.Errorf("node %s: metrics that Prometheus cannot read: %w", r.Instance, err)
		}
		m.Silent = append(m.Silent, err)
		if before != nil {
			if last, ok := before.said[r.Instance]; ok {
				m.add(r.Instance, last)
			}
		}
	}
	return m
}

// with returns the moment with what now has of processes that had never answered before it:
// nothing is known about what they have counted since.
func (m *Moment) with(now *Moment) *Moment {
	more := newMoment()
	more.At = m.At
	for process, a := range now.said {
		if old, ok := m.said[process]; ok {
			a = old
		}
		more.add(process, a)
	}
	return more
}

// add adds the series of a process.
func (m *Moment) add(process string, a answer) {
	m.said[process] = a
	for name, f := range a.families {
		for _, s := range f.Metric {
			labels := map[string]string{}
			for _, l := range s.Label {
				labels[l.GetName()] = l.GetValue()
			}
			value := s.GetGauge().GetValue() + s.GetCounter().GetValue()
			switch {
			case name == exposition.RunInfo:
				m.info = labels
			case name == exposition.RunDilated:
				m.dilated = value
			case name == exposition.RunDelay:
				m.delay = value
			case name == exposition.RunDropped:
				m.dropped += value
			case name == exposition.NodeLateness:
				if value >= m.late {
					m.late, m.latest = value, labels["node"]
				}
			case name == exposition.SignalSamples:
				m.samples[place{labels["signal"], labels["bottleneck"], labels["tier"]}] += value
			case labels["port"] != "":
				m.port(labels).set(name, value, s.Histogram)
			case strings.HasPrefix(name, "csig_flow_"):
				m.flow(flowName{labels["job"], labels["flow"]}).set(name, value, process, a.at)
			}
		}
	}
}

func (m *Moment) port(labels map[string]string) *portCounts {
	key := labels["node"] + "\x00" + labels["port"]
	p := m.ports[key]
	if p == nil {
		p = &portCounts{name: labels["port"], tier: labels["tier"], direction: labels["direction"]}
		m.ports[key] = p
	}
	return p
}

func (p *portCounts) set(name string, value float64, counts *dto.Histogram) {
	switch name {
	case exposition.PortRate:
		p.rate = value
	case exposition.PortBytes:
		p.bytes = value
	case exposition.PortMarked:
		p.marked = value
	case exposition.PortDropped, exposition.PortTrimmed:
		p.lost += value
	case exposition.PortUtilisation:
		p.now = value
	case exposition.PortQueue:
		p.queue = value
	case exposition.PortWindowUtilisation:
		p.used = counts
	case exposition.PortWindowQueue:
		p.queued = counts
	}
}

func (m *Moment) flow(name flowName) *flowCounts {
	f := m.flows[name]
	if f == nil {
		f = &flowCounts{received: map[string]received{}}
		m.flows[name] = f
	}
	return f
}

// set adds a value of one process: the two ends of a flow are at two of them.
func (f *flowCounts) set(name string, value float64, process string, at time.Time) {
	r := f.received[process]
	r.at = at
	switch name {
	case exposition.FlowCwnd:
		f.cwnd += value
	case exposition.FlowBytes:
		r.bytes = value
	case exposition.FlowAcks:
		f.acks += value
	case exposition.FlowRate:
		r.rate = value
	case exposition.FlowDelay:
		f.delay += value
		f.delays++
	}
	f.received[process] = r
}

// View is what the table shows: what happened between two moments.
type View struct {
	At       time.Time
	Span     time.Duration // of the wall; 0: since the lab began
	Dilation float64       // wall seconds per second of the model
	Info     map[string]string
	Nodes    int
	Silent   []error
	Dropped  float64 // records, since the lab began
	Late     float64 // s of wall time, since the lab began, at the node Latest
	Latest   string
	// LateShare is Late as a share of the smallest delay that matters, times the dilation; 0:
	// not known.
	LateShare float64
	// Budget is the share of that delay by which an event in a hundred may be late
	// (wall.budget.lateness).
	Budget  float64
	Ports   []Port  // the busiest first
	Places  []Place // of each signal, the one that most samples named first
	Flows   []Flow  // the fastest first
	windows uint64  // telemetry windows between the moments
}

// Port is a row about an egress port.
type Port struct {
	Name, Tier, Direction string
	Rate                  float64 // bit/s
	Busy                  float64 // share of the time
	Peak                  float64 // a bound of the busiest window's share
	Queue                 float64 // a bound of the greatest queue of a window, in bytes
	Marked, Lost          float64 // packets
}

// Place is a row about a port that CSIG samples named.
type Place struct {
	Signal, Port, Tier string
	Share              float64 // of the samples of the signal
	Samples            float64
	Busy               float64 // of the port; NaN: no node says so
	Since              bool    // since the lab began, as there was no sample lately
}

// Flow is a row about a flow, or about the flows of a job.
type Flow struct {
	Job, Name string
	Rate      float64 // bit/s of the model
	Cwnd      float64 // bytes
	Delay     float64 // s of the model; NaN: no ACK lately
	Acks      float64
}

// NewView returns what happened between two moments of a lab with a budget (View.Budget). The first
// moment may be nil.
func NewView(before, now *Moment, budget float64) *View {
	v := &View{Budget: budget, At: now.At, Dilation: now.dilated, Info: now.info, Nodes: now.Nodes, Silent: now.Silent, Dropped: now.dropped, Late: now.late, Latest: now.latest}
	if now.delay > 0 && now.dilated > 0 {
		v.LateShare = now.late / (now.delay * now.dilated)
	}
	if before == nil {
		before = &Moment{}
	} else {
		before = before.with(now)
		v.Span = now.At.Sub(before.At)
	}
	for key, p := range now.ports {
		old := before.ports[key]
		v.Ports = append(v.Ports, p.since(old))
		if old != nil {
			v.windows = max(v.windows, p.used.GetSampleCount()-old.used.GetSampleCount())
		}
	}
	slices.SortFunc(v.Ports, func(a, b Port) int {
		return cmp.Or(cmp.Compare(b.Busy, a.Busy), cmp.Compare(b.Peak, a.Peak), cmp.Compare(b.Queue, a.Queue), strings.Compare(a.Name, b.Name))
	})
	v.places(before.samples, now.samples)
	for i := range v.Places {
		p := &v.Places[i]
		p.Busy = math.NaN()
		if k := slices.IndexFunc(v.Ports, func(q Port) bool { return q.Name == p.Port }); k >= 0 {
			p.Busy = v.Ports[k].Busy
		}
	}
	for name, f := range now.flows {
		v.Flows = append(v.Flows, f.since(name, before.flows[name], v))
	}
	slices.SortFunc(v.Flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), strings.Compare(a.Job, b.Job), strings.Compare(a.Name, b.Name))
	})
	return v
}

// full is from which share on a port counts as full, full of a window as one that was.
const full, fullWindow = 0.9, 0.95

// Bottleneck returns the port that limits the flows: of the ports that are full those that lose
// packets, the most first, then those with the deepest queues. Without a full one it returns the one
// that comes nearest: it was full for a window or lost packets. nil if there is none. NICs of hosts count as well.
func (v *View) Bottleneck() *Port {
	rank := func(p *Port) int {
		switch {
		case p.Busy >= full && p.Lost > 0:
			return 4
		case p.Busy >= full:
			return 3
		case p.Peak >= fullWindow && p.Lost > 0:
			return 2
		case p.Peak >= fullWindow || p.Lost > 0:
			return 1
		}
		return 0
	}
	var best *Port
	for i := range v.Ports {
		p := &v.Ports[i]
		if rank(p) == 0 {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(rank(p), rank(best)), cmp.Compare(p.Lost, best.Lost), cmp.Compare(p.Queue, best.Queue), cmp.Compare(p.Busy, best.Busy)) > 0 {
			best = p
		}
	}
	return best
}

// since returns the row of a port. before is nil without an earlier moment.
func (p *portCounts) since(before *portCounts) Port {
	row := Port{Name: p.name, Tier: p.tier, Direction: p.direction, Rate: 8 * p.rate, Busy: p.now, Peak: p.now, Queue: p.queue, Marked: p.marked, Lost: p.lost}
	var used, queued *dto.Histogram
	if before != nil {
		row.Marked -= before.marked
		row.Lost -= before.lost
		used, queued = before.used, before.queued
	}
	// Between two looks there may be no window: then the latest one is shown.
	if n := p.used.GetSampleCount() - used.GetSampleCount(); n > 0 {
		row.Busy = (p.used.GetSampleSum() - used.GetSampleSum()) / float64(n)
		row.Peak = top(p.used, used)
	}
	if p.queued.GetSampleCount() > queued.GetSampleCount() {
		row.Queue = top(p.queued, queued)
	}
	return row
}

// top returns the upper bound of the highest bucket that has got observations since, +Inf
// for the last one.
func top(now, before *dto.Histogram) float64 {
	total := float64(0)
	var above uint64
	for i := len(now.GetBucket()) - 1; i >= 0; i-- {
		b := now.Bucket[i]
		n := b.GetCumulativeCount()
		if i < len(before.GetBucket()) {
			n -= before.Bucket[i].GetCumulativeCount()
		}
		if i == len(now.Bucket)-1 {
			total = b.GetUpperBound()
			if all := now.GetSampleCount() - before.GetSampleCount(); all > n {
				return math.Inf(1)
			}
			above = n
			continue
		}
		if n < above {
			return total
		}
		total, above = b.GetUpperBound(), n
	}
	return total
}

// places adds the rows about ports that samples named.
func (v *View) places(before, now map[place]float64) {
	lately, ever := map[string]float64{}, map[string]float64{}
	for p, n := range now {
		lately[p.signal] += n - before[p]
		ever[p.signal] += n
	}
	for p, n := range now {
		row := Place{Signal: p.signal, Port: p.port, Tier: p.tier, Samples: n - before[p]}
		all := lately[p.signal]
		if all <= 0 {
			row.Samples, row.Since, all = n, true, ever[p.signal]
		}
		if row.Samples > 0 {
			row.Share = row.Samples / all
			v.Places = append(v.Places, row)
		}
	}
	slices.SortFunc(v.Places, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Signal, b.Signal), cmp.Compare(b.Share, a.Share), strings.Compare(a.Port, b.Port))
	})
}

// fewWindows is from how many telemetry windows on bytes over time give a rate.
const fewWindows = 10

// since returns the row of a flow.
func (f *flowCounts) since(name flowName, before *flowCounts, v *View) Flow {
	row := Flow{Job: name.job, Name: name.flow, Cwnd: f.cwnd, Delay: math.NaN(), Acks: f.acks}
	if f.delays > 0 {
		row.Delay = f.delay / float64(f.delays)
	}
	if before != nil && v.Span > 0 {
		row.Acks -= before.acks
	}
	for process, now := range f.received {
		rate := now.rate
		// Bytes are known window by window: over few of them, the rate of the latest one is
		// closer. It is all that is known of a process that did not answer.
		if before != nil && v.windows >= fewWindows {
			old := before.received[process]
			if span := now.at.Sub(old.at); span > 0 && !old.at.IsZero() {
				rate = (now.bytes - old.bytes) / span.Seconds() * max(v.Dilation, 1)
			}
		}
		row.Rate += 8 * rate
	}
	return row
}
