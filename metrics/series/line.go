package series

import (
	"math"
	"slices"
	"time"

	"github.com/csiglab/csiglab/metrics/exposition"
)

// A query looks back for five minutes: a series that does not change gets a sample at
// least each keep, but no more than mostKept of them in one gap.
const (
	keep     = int64(4 * time.Minute / time.Millisecond)
	mostKept = 1000
)

// line writes the samples of one series. It holds back the latest one, as others may
// follow in the same millisecond.
type line struct {
	run    *run
	number int
	worst  func(a, b float64) float64 // of one millisecond; nil: the last one
	at     int64
	value  float64
	held   bool // the sample at at is not written yet

	written   int64 // time of the latest sample that is written
	last      float64
	begun     bool
	suspended bool // the series has ended for now
}

// line opens the series of a family that is no histogram.
func (r *run) line(name string, values ...string) *line {
	return r.open(exposition.Of(name), exposition.Whole, 0, values)
}

func (r *run) open(f *exposition.Family, part exposition.Part, bucket int, values []string) *line {
	l := &line{run: r, number: r.series(f, part, bucket, values)}
	r.lines = append(r.lines, l)
	return l
}

// set gives the series a value from a moment on. A moment before the latest one counts as
// that.
func (l *line) set(ms int64, value float64) {
	switch {
	case l.held && ms <= l.at:
		if l.worst != nil {
			value = l.worst(l.value, value)
		}
		l.value = value
		return
	case l.begun && ms <= l.written:
		return
	}
	l.flush()
	l.at, l.value, l.held = ms, value, true
}

// flush writes the sample that is held.
func (l *line) flush() {
	if !l.held {
		return
	}
	l.held = false
	if l.begun && !l.suspended {
		l.keep(l.at)
	}
	l.append(l.at, l.value)
	l.suspended = false
}

// keep repeats the latest value up to a moment.
func (l *line) keep(until int64) {
	every := max(keep, (until-l.written)/mostKept)
	for t := l.written + every; t < until; t += every {
		l.append(t, l.last)
	}
}

func (l *line) append(ms int64, value float64) {
	if l.run.err != nil {
		return
	}
	l.run.fail(l.run.to.Append(l.number, ms, value))
	l.run.out.Samples++
	l.begun, l.written, l.last = true, ms, value
}

// suspend ends the series for now.
func (l *line) suspend(ms int64) {
	l.flush()
	if !l.begun || l.suspended || l.run.err != nil {
		return
	}
	ms = max(ms, l.written+1)
	l.keep(ms)
	l.run.fail(l.run.to.End(l.number, ms))
	l.written, l.suspended = ms, true
}

// finish repeats the latest value at the end of the run and ends the series.
func (l *line) finish(end int64) {
	l.flush()
	if !l.begun || l.suspended {
		return
	}
	if l.written < end {
		l.keep(end)
		l.append(end, l.last)
	}
	l.suspend(end + 1)
}

// counter is a series that counts.
type counter struct {
	*line
	sum float64
}

// counter opens a counter at 0.
func (r *run) counter(name string, values ...string) *counter {
	c := &counter{line: r.line(name, values...)}
	c.set(r.zero, 0)
	return c
}

// add counts what happened between two moments.
func (c *counter) add(from, to int64, n float64) {
	if n == 0 {
		return
	}
	if c.at < from {
		c.set(from, c.sum) // it was flat until then
	}
	c.sum += n
	c.set(max(to, from), c.sum)
}

// gauge is a series of values of windows, with a value when idle.
type gauge struct {
	*line
	idle  float64
	until int64 // end of the latest window
}

// gauge opens a gauge that is idle. worst merges the values of one millisecond.
func (r *run) gauge(name string, idle float64, worst func(a, b float64) float64, values ...string) *gauge {
	g := &gauge{line: r.line(name, values...), idle: idle, until: r.zero}
	g.worst = worst
	return g
}

// window gives the gauge its value of a window.
func (g *gauge) window(from, to int64, value float64) {
	if g.until < from {
		g.set(g.until, g.idle)
		if before := from - max(1, to-from); before > g.until {
			g.set(before, g.idle)
		}
	}
	g.set(from, value)
	g.until = max(to, from+1)
}

// rest makes the gauge idle until a moment, unless its latest window lasts until then.
func (g *gauge) rest(until int64) {
	if g.until < until {
		g.set(g.until, g.idle)
	}
}

func highest(a, b float64) float64 { return max(a, b) }
func lowest(a, b float64) float64  { return min(a, b) }

// distribution is the series of a histogram.
type distribution struct {
	family  *exposition.Family
	buckets []*line // +Inf last
	sum     *line
	count   *line
	counts  []int64
	total   float64
}

// distribution opens a histogram without observations.
func (r *run) distribution(name string, values ...string) *distribution {
	f := exposition.Of(name)
	d := &distribution{family: f, counts: make([]int64, len(f.Buckets)+1)}
	for i := range d.counts {
		d.buckets = append(d.buckets, r.open(f, exposition.PartBucket, i, values))
	}
	d.sum, d.count = r.open(f, exposition.PartSum, 0, values), r.open(f, exposition.PartCount, 0, values)
	d.write(r.zero)
	return d
}

// observe counts a value some times. It writes nothing.
func (d *distribution) observe(value float64, times int64) {
	i, _ := slices.BinarySearch(d.family.Buckets, value)
	d.counts[i] += times
	if value != 0 && !math.IsInf(value, 0) {
		d.total += value * float64(times)
	}
}

// write writes what has been counted up to a moment.
func (d *distribution) write(ms int64) {
	n := int64(0)
	for i, l := range d.buckets {
		n += d.counts[i]
		l.set(ms, float64(n))
	}
	d.sum.set(ms, d.total)
	d.count.set(ms, float64(n))
}
