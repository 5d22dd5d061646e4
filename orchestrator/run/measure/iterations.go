package measure

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/units"
)

// noDivision is why a run lacks the parts of iterations.
const noDivision = "the ranks did not end a step, or a step has more than 2097152 operations"

// partEntries are the metrics of a part of an iteration: the mean time of a rank, and the share
// of all iterations.
type partEntries struct{ time, share *Entry }

// parts are the parts of an iteration, in the order of their constants.
var parts = [shareCount]partEntries{
	shareCompute: partOf("compute", meaning.Neutral, "computes, on any of its units. What it sends and receives meanwhile is hidden"),
	shareBubble:  partOf("bubble", meaning.Lower, "waits for what a rank computes, and the rank that it waits for first is of another stage of the pipeline"),
	shareNetwork: partOf("exposed", meaning.Lower, "waits for the network: a message is under way, between hosts or within a server"),
	shareSkew:    partOf("skew_wait", meaning.Lower, "waits for what a rank computes, and the rank that it waits for first is of the same stage, or the job has no pipeline: it waits for a late rank"),
	shareHeld:    partOf("held", meaning.Neutral, "is held back by the job's [schedule](../how-to/jobs.md#flow-scheduling), or waits for a rank that is"),
	shareIdle:    partOf("idle", meaning.Neutral, "waits for nothing that has a record: a trace of another tool gives a time before which an operation does not begin, or the run [dropped records](telemetry.md)"),
}

// iterationMetrics are of the parts of iterations.
var iterationMetrics = Group{Title: "What an iteration is made of", Of: "iterations",
	Doc:     "Each moment of each rank belongs to one part: the means add up to `iteration_us.mean`, the shares to 1.",
	Entries: slices.Concat(partsBy(func(p partEntries) *Entry { return p.time }), partsBy(func(p partEntries) *Entry { return p.share })),
	More:    "A rank that does not compute waits for its next computation, or for the end of its step. What it waits for is found back along the operation that made each one ready: from a computation to its receive, from a receive to its send. While the message was under way, the rank waits for the network; before, for whatever its sender waited for. So a late message is never a bubble.\n\nWith p stages of equal compute and m microbatches `bubble_share` is (p-1)/(m+p-1), interleaved with v chunks (p-1)/(v m+p-1). A trace has no stages: such waits are `skew_wait` there. The parts are absent where one step has more than 2097152 operations.",
}

func partsBy(which func(partEntries) *Entry) (entries []*Entry) {
	for _, p := range parts {
		entries = append(entries, which(p))
	}
	return entries
}

func partOf(word string, better meaning.Better, doc string) partEntries {
	return partEntries{
		&Entry{Form: word + "_us.<statistic>.<job>", Words: []*words{statisticNames, jobNames}, Better: better, Needs: ofJobs, Absent: noDivision,
			Doc: "of each step the mean over the ranks of the time in which a rank " + doc},
		&Entry{Form: word + "_share.<job>", Words: []*words{jobNames}, Better: better, Share: true, Needs: ofJobs, Absent: noDivision,
			Doc: "`" + word + "_us` as a share of the time of all steps"},
	}
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
	e.set(settledTime, mean(t.times[len(t.times)/2:]), job)
	e.values(iterationTime, t.times, job)
	if t.lacks {
		return
	}
	for i, part := range parts {
		e.values(part.time, t.parts[i], job)
		e.set(part.share, float64(t.sum[i])/(float64(t.length)*float64(len(t.ranks))), job)
	}
}
