// Package fluid predicts the iteration times of training jobs that share links, by ideal
// sharing. A job computes, then it communicates, in one burst or several, and begins anew.
// The bursts that are under way at one time divide the links among them by weighted max-min
// fairness. The weights are constant, or they follow the progress of each job.
//
// The model knows no packet, no queue and no header: rates take their new values at once,
// and no capacity is lost while jobs share a link. Congestion control reaches its shares
// only after some round-trip times, and not exactly. Phases that are short against that
// time, and jobs that only just fit, are outside of the model.
//
// Events are at whole picoseconds. Between two events the solution is exact, up to
// rounding, for jobs whose weights do not change, and for jobs that share one link that
// all of them could fill. Other jobs are integrated by steps in which no weight changes by
// more than 2 % (see stepped). Tests bound the error of when the first five iterations end
// at 1e-8 of that time. Phases that slide apart magnify every difference; after 30
// iterations the bound is 1e-4. An identical start is an unstable equilibrium: without a difference
// nothing moves. fluid_test.go has the table of iteration times that the solver is held to.
package fluid

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
)

// Job is a training job. Its first iteration begins with computing, at Offset. An iteration
// computes for Compute and communicates for Communicate, or it has Bursts in their place.
type Job struct {
	Compute     units.Duration
	Communicate units.Duration // with the network for itself; positive
	Bursts      []Burst        // in place of Compute and Communicate; nil: one burst
	Rest        units.Duration // of computing behind the last burst
	// Beside is computing that begins when the first burst is ready. The iteration ends when
	// it is done, too.
	Beside units.Duration

	Offset     units.Duration
	Iterations int            // after which the job leaves; 0: it stays
	Schedule   graph.Schedule // holds the first burst of an iteration back

	Links []int // of the Network, without repetition; nil: the first
	// Use is what each of Links carries of what the job sends, as a multiple of it: of a ring
	// across two racks the links between them carry less than the NICs of all ranks together.
	// nil: 1 each.
	Use      []float64
	Rate     float64 // at most which the job sends, in the unit of the capacities; 0: its links limit it
	Weight   float64 // of its share; 0: 1
	Priority int     // the highest goes first, if Sharing.Strict

	// Jitter varies the times of computing of each of the Ranks. A burst begins when all
	// ranks have computed, so that the slowest one counts.
	Jitter jitter.Config
	Seed   uint64 // of Jitter
	Ranks  int    // of Jitter; 0: 1
}

// Burst is a part of an iteration: computing, then communication.
type Burst struct {
	Compute     units.Duration
	Communicate units.Duration // with the network for itself; positive
	Rate        float64        // at most which the burst sends; 0: the job's Rate
}

// Network is jobs that share links.
type Network struct {
	Links   []float64 // capacities, all in one unit of bytes by time; positive. nil: one of 1
	Jobs    []Job
	Sharing Sharing
}

// NewJob returns the job with a profile: bursts of its lengths and rates. The narrowest link
// of its way is the capacity that the job has with the network for itself, in bit/s as all
// capacities of the network are then. A burst that was measured at a greater rate takes
// longer there.
func NewJob(p *circle.Profile, narrowest units.Rate) Job {
	var j Job
	at := units.Duration(0)
	for _, b := range p.Bursts {
		length := b.Length
		if b.Rate > narrowest {
			length = units.Duration(math.Round(float64(b.Length) * (float64(b.Rate) / float64(narrowest))))
		}
		j.Bursts = append(j.Bursts, Burst{Compute: b.At - at, Communicate: length, Rate: float64(b.Rate)})
		at = b.At + b.Length
	}
	j.Rest = p.Period - at
	return j
}

// Alone returns the time of an iteration with the network for itself, without jitter and
// schedule.
func (j *Job) Alone() units.Duration {
	all, first := j.Rest, units.Duration(0)
	for i, b := range j.bursts() {
		if i == 0 {
			first = b.Compute
		}
		all += b.Compute + b.Communicate
	}
	return max(all, first+j.Beside)
}

// bursts returns Bursts, or the one of Compute and Communicate.
func (j *Job) bursts() []Burst {
	if len(j.Bursts) > 0 {
		return j.Bursts
	}
	return []Burst{{Compute: j.Compute, Communicate: j.Communicate}}
}

// maxIterations is the most iterations that Solve predicts of a job.
const maxIterations = 100_000

// Solve returns the iterations of the jobs until each has made so many, or as many as it
// makes. A job that is faster than others has more. An error says which job, link or law
// makes no sense, or that a job makes maxIterations, or that there are too many events,
// while another one starves.
func (n *Network) Solve(iterations int) (Result, error) {
	if err := n.check(iterations); err != nil {
		return nil, err
	}
	return newState(n).solve(iterations)
}

// Run returns the iterations of the jobs up to one model time, which all jobs have in
// common: until a job that goes on has made so many iterations, or all jobs have left, or end
// has come. It looks at the first iterations alone where more take over a quarter of a second
// to compute; how many is the same on every machine. A job may have none then, as one that
// starves. An error says which job, link or law makes no sense.
func (n *Network) Run(iterations int, end units.Time) (Result, error) {
	if err := n.check(iterations); err != nil {
		return nil, err
	}
	return newState(n).run(iterations, end, mostWork/8), nil
}

func (n *Network) check(iterations int) error {
	switch {
	case len(n.Jobs) == 0:
		return fmt.Errorf("fluid: no jobs")
	case iterations < 1 || iterations > maxIterations:
		return fmt.Errorf("fluid: %d iterations, want 1 to %d", iterations, maxIterations)
	}
	if err := n.Sharing.check(); err != nil {
		return fmt.Errorf("fluid: %w", err)
	}
	for i, c := range n.Links {
		if !(c > 0) || math.IsInf(c, 0) {
			return fmt.Errorf("fluid: link %d: capacity %v, want more than 0", i, c)
		}
	}
	for i := range n.Jobs {
		if err := n.Jobs[i].check(max(len(n.Links), 1)); err != nil {
			return fmt.Errorf("fluid: job %d: %w", i, err)
		}
	}
	return nil
}

func (j *Job) check(links int) error {
	switch s := j.Schedule; {
	case j.Offset < 0 || j.Rest < 0 || j.Beside < 0:
		return fmt.Errorf("offset %v, rest %v and beside %v, want 0 or more", j.Offset, j.Rest, j.Beside)
	case !(j.Weight >= 0) || math.IsInf(j.Weight, 0):
		return fmt.Errorf("weight %v, want 0 or more", j.Weight)
	case !(j.Rate >= 0) || math.IsInf(j.Rate, 0):
		return fmt.Errorf("rate %v, want 0 or more", j.Rate)
	case j.Iterations < 0:
		return fmt.Errorf("%d iterations, want 0 or more", j.Iterations)
	case j.Ranks < 0:
		return fmt.Errorf("%d ranks, want 0 or more", j.Ranks)
	case s.Period < 0 || s.Offset < 0 || s.Correction < 0:
		return fmt.Errorf("schedule: period %v, offset %v and correction %v, want 0 or more", s.Period, s.Offset, s.Correction)
	case s.Period > 0 && (s.Offset >= s.Period || s.Correction > s.Period):
		return fmt.Errorf("schedule: offset %v and correction %v, want less than the period %v, and at most that", s.Offset, s.Correction, s.Period)
	case s.Period == 0 && (s.Offset > 0 || s.Correction > 0):
		return fmt.Errorf("schedule: period 0, want more than 0")
	case len(j.Bursts) > 0 && (j.Compute != 0 || j.Communicate != 0):
		return fmt.Errorf("compute %v and communicate %v beside bursts", j.Compute, j.Communicate)
	}
	for k, b := range j.bursts() {
		at := ""
		if len(j.Bursts) > 0 {
			at = fmt.Sprintf("burst %d: ", k)
		}
		switch {
		case b.Compute < 0:
			return fmt.Errorf("%scompute %v, want 0 or more", at, b.Compute)
		case b.Communicate <= 0:
			return fmt.Errorf("%scommunicate %v, want more than 0", at, b.Communicate)
		case !(b.Rate >= 0) || math.IsInf(b.Rate, 0):
			return fmt.Errorf("%srate %v, want 0 or more", at, b.Rate)
		}
	}
	if len(j.Use) > 0 && len(j.Use) != len(j.Links) {
		return fmt.Errorf("use of %d links, want %d", len(j.Use), len(j.Links))
	}
	for k, u := range j.Use {
		if !(u > 0) || math.IsInf(u, 0) {
			return fmt.Errorf("link %d: use %v, want more than 0", j.Links[k], u)
		}
	}
	for k, l := range j.Links {
		switch {
		case l < 0 || l >= links:
			return fmt.Errorf("link %d, want 0 to %d", l, links-1)
		case slices.Contains(j.Links[:k], l):
			return fmt.Errorf("link %d twice", l)
		}
	}
	return j.Jitter.Validate(max(j.Ranks, 1), math.MaxInt)
}
