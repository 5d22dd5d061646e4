package fluid

import (
	"math"

	"github.com/csiglab/csiglab/units"
)

// Remaining returns the law of remaining bytes: a job's weight grows from intercept to
// intercept+slope while what it has left to send falls from the reference to nothing. The
// reference is an amount, of capacity multiplied by picoseconds.
func Remaining(intercept, slope, reference float64) Sharing {
	return Sharing{Intercept: intercept, Slope: slope, Reference: reference}
}

// Incumbent returns the law of first come: a burst has the weight 1 if its links were free
// when it began, and down to low, above 0 and at most 1, if one was full.
func Incumbent(low float64) Sharing { return Sharing{Intercept: 1, Low: low} }

// Solve returns the iterations of jobs that share one link, as Network.Solve does.
func Solve(jobs []Job, s Sharing, iterations int) (Result, error) {
	n := Network{Jobs: jobs, Sharing: s}
	return n.Solve(iterations)
}

// Settles returns the first iteration of a job, counted from 1, from which on every
// iteration takes a time to within a share of it, or 0 if the last one does not.
func (r Result) Settles(job int, time units.Duration, within float64) int {
	return r.onwards(job, func(i *Iteration) bool { return math.Abs(float64(i.Time()-time)) <= within*float64(time) })
}

// Apart returns the first iteration of a job, counted from 1, from which on its overlap
// stays below Together, or 0 if that of the last one does not.
func (r Result) Apart(job int) int {
	return r.onwards(job, func(i *Iteration) bool { return i.Overlap() < Together })
}

// Differences returns, for each iteration of a job, the time from the begin of its
// communication to that of another one's that follows next, or comes at the same time. It
// ends where the other one has no more iterations.
func (r Result) Differences(job, other int) (all []units.Duration) {
	next := 0
	for i := range r[job] {
		from := r[job][i].Communicates
		for next < len(r[other]) && r[other][next].Communicates < from {
			next++
		}
		if next == len(r[other]) {
			return all
		}
		all = append(all, r[other][next].Communicates.Sub(from))
	}
	return all
}

// onwards returns the first iteration, counted from 1, from which on something holds.
func (r Result) onwards(job int, holds func(*Iteration) bool) int {
	from := 0
	for i := range r[job] {
		switch ok := holds(&r[job][i]); {
		case !ok:
			from = 0
		case from == 0:
			from = i + 1
		}
	}
	return from
}

// Overlap returns Shared as a share of Communication, from 0 to 1.
func (i *Iteration) Overlap() float64 { return float64(i.Shared) / float64(i.Communication) }

// Together is the share of overlap below which phases count as apart.
const Together = 0.05
