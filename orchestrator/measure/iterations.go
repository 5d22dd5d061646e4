package measure

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// shareNames are the words for the parts of an iteration, in the order of their constants.
// Metrics are the mean time of a rank in each, WORD_us, and the share of all iterations,
// WORD_share.
var shareNames = [shareCount]string{"compute", "bubble", "exposed", "skew_wait", "held", "idle"}

// partTimes returns the names of the times of the parts of an iteration.
func partTimes() (names []string) {
	for _, s := range shareNames {
		names = append(names, s+"_us")
	}
	return names
}

// partShares returns the names of the shares of the parts.
func partShares() (names []string) {
	for _, s := range shareNames {
		names = append(names, s+"_share")
	}
	return names
}

// iterations measures the steps of a job from start to start, so that they add up where they
// overlap. A step goes on until the first rank begins the next one, the last step until its
// last rank leaves it.
type iterations struct {
	waits
	begun  bool
	begin  units.Time // of the step that is not counted yet
	end    units.Time // of all steps so far
	last   int32      // rank that left a step then
	times  []float64  // µs, in the order of steps
	parts  [shareCount][]float64
	length units.Duration // of all
	sum    division       // of all
	lacks  bool           // some could not be divided
}

// step counts the step before one that all ranks have left.
func (t *iterations) step(i *metrics.Instance) {
	if begin := max(t.begin, i.Begin); t.begun {
		t.count(begin, metrics.Absent)
		t.begin = begin
	} else {
		t.begun, t.begin, t.end = true, begin, -1
	}
	if i.End > t.end {
		t.end, t.last = i.End, i.Last
	}
}

// finish counts the last step.
func (t *iterations) finish() {
	if t.begun {
		t.count(max(t.begin, t.end), t.last)
	}
}

// count counts a step that goes on until a time.
func (t *iterations) count(to units.Time, last int32) {
	length := to.Sub(t.begin)
	t.length += length
	t.times = append(t.times, length.Microseconds())
	d, ok := t.divide(t.begin, to, last)
	if !ok {
		t.lacks = true
		return
	}
	for i, time := range d {
		t.sum[i] += time
		t.parts[i] = append(t.parts[i], time.Microseconds()/float64(len(t.ranks)))
	}
}

// measure adds the metrics of the steps. It sorts their times.
func (t *iterations) measure(e *emitter, job string) {
	if len(t.times) == 0 {
		return
	}
	e.of(settledTime, job, mean(t.times[len(t.times)/2:]), ofRun)
	e.values(iterationTime, job, t.times, ofRun)
	if t.lacks {
		return
	}
	times, shares := partTimes(), partShares()
	for i := range t.parts {
		e.values(times[i], job, t.parts[i], ofRun)
		e.of(shares[i], job, float64(t.sum[i])/(float64(t.length)*float64(len(t.ranks))), ofRun)
	}
}
