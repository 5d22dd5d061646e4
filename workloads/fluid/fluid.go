// Package fluid predicts the iteration times of training jobs that share one link, by
// ideal sharing: a job computes, then it communicates, and begins anew. The jobs that
// communicate divide the link by weights that may grow with the progress of each. It
// knows no packet and no queue; what congestion control makes of such weights is a run's
// matter.
//
// The solution is exact to rounding: between two events the progress of each job has a
// closed form, see step.
package fluid

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/units"
)

// Job is a training job. Its first iteration begins with computing, at Offset.
type Job struct {
	Compute     units.Duration // of an iteration
	Communicate units.Duration // of an iteration, with the link for itself; positive
	Offset      units.Duration
	Weight      float64 // of its share of the link; 0: 1
	Priority    int     // the highest goes first, if Sharing.Strict
}

// Sharing is how the jobs that communicate at one time divide the link: in proportion to
// Weight * (Intercept + Slope*ratio), where ratio is the share of its iteration's bytes
// that a job has sent.
type Sharing struct {
	Intercept, Slope float64
	// Strict gives the link to the jobs of the highest priority alone, which divide it as
	// above.
	Strict bool
}

// Modes of sharing (docs/references.md#fluid-model).
var (
	// Weighted divides by the jobs' weights, equally where these are equal: what different
	// timers of DCQCN aim at.
	Weighted = Sharing{Intercept: 1}
	// Adaptive is R_AI (1 + sent/total) of adaptive unfairness.
	Adaptive = Sharing{Intercept: 1, Slope: 1}
	// MLTCP has MLTCP's default slope and intercept.
	MLTCP = Sharing{Intercept: 0.25, Slope: 1.75}
	// Strict is strict priority.
	Strict = Sharing{Intercept: 1, Strict: true}
)

// Result has the iterations of each job, in the order of the jobs.
type Result [][]Iteration

// Iteration is one of a job: Begin to Communicates it computes, then it communicates to
// End.
type Iteration struct{ Begin, Communicates, End units.Time }

// Time returns how long the iteration took.
func (i Iteration) Time() units.Duration { return i.End.Sub(i.Begin) }

// MaxIterations is the most iterations that Solve predicts of a job.
const MaxIterations = 100_000

// Solve returns the iterations of the jobs until each has made so many. A job that is
// faster than others has more.
func Solve(jobs []Job, s Sharing, iterations int) (Result, error) {
	if err := check(jobs, s, iterations); err != nil {
		return nil, err
	}
	l := newLink(jobs, s)
	for l.fewest() < iterations {
		if l.most() >= MaxIterations {
			return nil, fmt.Errorf("fluid: a job makes %d iterations while another makes %d", MaxIterations, l.fewest())
		}
		l.step()
	}
	return l.done, nil
}

func check(jobs []Job, s Sharing, iterations int) error {
	switch {
	case len(jobs) == 0:
		return fmt.Errorf("fluid: no jobs")
	case iterations < 1 || iterations > MaxIterations:
		return fmt.Errorf("fluid: %d iterations, want 1 to %d", iterations, MaxIterations)
	case !(s.Intercept > 0) || !(s.Slope >= 0) || math.IsInf(s.Intercept+s.Slope, 0):
		return fmt.Errorf("fluid: intercept %v and slope %v, want more than 0, and 0 or more", s.Intercept, s.Slope)
	}
	for i, j := range jobs {
		switch {
		case j.Compute < 0 || j.Offset < 0:
			return fmt.Errorf("fluid: job %d: compute %v and offset %v, want 0 or more", i, j.Compute, j.Offset)
		case j.Communicate <= 0:
			return fmt.Errorf("fluid: job %d: communicate %v, want more than 0", i, j.Communicate)
		case !(j.Weight >= 0) || math.IsInf(j.Weight, 0):
			return fmt.Errorf("fluid: job %d: weight %v, want 0 or more", i, j.Weight)
		}
	}
	return nil
}

// link is the state of the jobs. Times are in picoseconds.
type link struct {
	jobs    []Job
	sharing Sharing
	now     float64
	active  []bool    // the job communicates
	ratio   []float64 // of the active ones: the share of the bytes that is sent
	at      []float64 // of the others: when they begin to
	begun   []Iteration
	done    Result
}

func newLink(jobs []Job, s Sharing) *link {
	n := len(jobs)
	l := &link{
		jobs: append([]Job(nil), jobs...), sharing: s, active: make([]bool, n), ratio: make([]float64, n), at: make([]float64, n),
		begun: make([]Iteration, n), done: make(Result, n),
	}
	for i := range l.jobs {
		j := &l.jobs[i]
		if j.Weight == 0 {
			j.Weight = 1
		}
		l.begun[i] = Iteration{Begin: units.Time(j.Offset)}
		l.at[i] = float64(j.Offset + j.Compute)
	}
	return l
}

func (l *link) fewest() int {
	n := MaxIterations
	for _, done := range l.done {
		n = min(n, len(done))
	}
	return n
}

func (l *link) most() (n int) {
	for _, done := range l.done {
		n = max(n, len(done))
	}
	return n
}

// step goes on to the next event: a job begins to communicate, or has communicated.
//
// The jobs that have the link send at rates in proportion to their weights, which sum up
// to 1 when counted in link time. With the sum of the weights as the unit of time,
// u = integral dt / sum, the progress of each depends on itself alone:
// d ratio/du = weight/Communicate * (I + S ratio), an exponential in u. The time that has
// passed is the link time that was sent.
func (l *link) step() {
	next, when := -1, math.Inf(1)
	for i, on := range l.active {
		if !on && l.at[i] < when {
			next, when = i, l.at[i]
		}
	}
	served := l.served()
	finisher, u := -1, math.Inf(1)
	for _, i := range served {
		if own := l.until(i); own < u {
			finisher, u = i, own
		}
	}
	if finisher < 0 || l.now+l.sent(served, u) > when {
		l.advance(served, l.progressBy(served, u, when-l.now))
		l.now = when
		l.active[next], l.ratio[next] = true, 0
		l.begun[next].Communicates = units.Time(math.Round(when))
		return
	}
	l.now += l.sent(served, u)
	l.advance(served, u)
	j := &l.jobs[finisher]
	l.begun[finisher].End = units.Time(math.Round(l.now))
	l.done[finisher] = append(l.done[finisher], l.begun[finisher])
	l.begun[finisher] = Iteration{Begin: l.begun[finisher].End}
	l.active[finisher] = false
	l.at[finisher] = l.now + float64(j.Compute)
}

// served returns the jobs that have the link.
func (l *link) served() (all []int) {
	for i, on := range l.active {
		if !on {
			continue
		}
		if l.sharing.Strict && len(all) > 0 {
			switch first := l.jobs[all[0]].Priority; {
			case l.jobs[i].Priority < first:
				continue
			case l.jobs[i].Priority > first:
				all = all[:0]
			}
		}
		all = append(all, i)
	}
	return all
}

// after returns a job's ratio when u has passed.
func (l *link) after(i int, u float64) float64 {
	speed := u * l.jobs[i].Weight / float64(l.jobs[i].Communicate)
	if l.sharing.Slope == 0 {
		return l.ratio[i] + speed*l.sharing.Intercept
	}
	offset := l.sharing.Intercept / l.sharing.Slope
	return l.ratio[i] + (offset+l.ratio[i])*math.Expm1(speed*l.sharing.Slope)
}

// until returns the u after which a job has sent everything.
func (l *link) until(i int) float64 {
	unit := float64(l.jobs[i].Communicate) / l.jobs[i].Weight
	if l.sharing.Slope == 0 {
		return max(0, (1-l.ratio[i])*unit/l.sharing.Intercept)
	}
	offset := l.sharing.Intercept / l.sharing.Slope
	return max(0, math.Log((offset+1)/(offset+l.ratio[i]))*unit/l.sharing.Slope)
}

// sent returns the link time that jobs send while u passes.
func (l *link) sent(served []int, u float64) (sum float64) {
	for _, i := range served {
		sum += (l.after(i, u) - l.ratio[i]) * float64(l.jobs[i].Communicate)
	}
	return sum
}

// progressBy returns the u, at most limit, in which the jobs send for a time: by bisection,
// since sent grows with u.
func (l *link) progressBy(served []int, limit, time float64) float64 {
	if len(served) == 0 {
		return 0
	}
	low, high := 0.0, limit
	for range 200 {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			break
		}
		if l.sent(served, middle) < time {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func (l *link) advance(served []int, u float64) {
	for _, i := range served {
		l.ratio[i] = min(1, l.after(i, u))
	}
}

// Mean returns the mean time of the iterations of a job from one on, counted from 0. It
// is 0 if there are none.
func (r Result) Mean(job, from int) units.Duration {
	all := r[job]
	if from >= len(all) {
		return 0
	}
	return all[len(all)-1].End.Sub(all[from].Begin) / units.Duration(len(all)-from)
}

// Settles returns the first iteration of a job, counted from 1, from which on every
// iteration takes a time to within a share of it, or 0 if the last one does not.
func (r Result) Settles(job int, time units.Duration, within float64) int {
	from := 0
	for i, it := range r[job] {
		switch off := math.Abs(float64(it.Time()-time)) > within*float64(time); {
		case off:
			from = 0
		case from == 0:
			from = i + 1
		}
	}
	return from
}
