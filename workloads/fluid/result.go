package fluid

import (
	"github.com/csiglab/csiglab/units"
)

// Result has the iterations of each job, in the order of the jobs.
type Result [][]Iteration

// Iteration is one of a job. Begin to Communicates it computes, and waits for its schedule;
// then its bursts follow, with computing in between; End is the begin of the next.
type Iteration struct {
	Begin, Communicates, End units.Time
	Bursts                   []Span // at least one; the first begins at Communicates
	// Communication is the time of the bursts. A burst without a share of its links counts.
	Communication units.Duration
	// Shared is the part of Communication in which another job communicates that has a link
	// in common, whether that job takes anything away or not.
	Shared units.Duration
}

// Span is a time from one point to another.
type Span struct{ From, To units.Time }

// Time returns how long the iteration took.
func (i *Iteration) Time() units.Duration { return i.End.Sub(i.Begin) }

// Mean returns the mean time of the iterations of a job from one on, counted from 0. It
// is 0 if there are none.
func (r Result) Mean(job, from int) units.Duration {
	all := r[job]
	if from >= len(all) {
		return 0
	}
	return all[len(all)-1].End.Sub(all[from].Begin) / units.Duration(len(all)-from)
}
