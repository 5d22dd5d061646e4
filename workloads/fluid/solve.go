package fluid

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/jitter"
)

// state is the jobs at a time. A job computes, until at, or it has a sender.
type state struct {
	network *Network
	links   []float64
	law     Sharing
	divider *divider
	now     units.Time
	jobs    []player
	active  []*sender // in the order of the jobs
	parts   []part    // the active ones, by their links
	done    Result
	work    int64 // of the events so far, see mostWork
}

// player is a job in its iterations.
type player struct {
	*Job
	bursts []Burst
	uses   []use
	clocks []*jitter.Clock
	meets  []bool // by job: they share a link
	total  float64

	burst    int        // the one that is next, or under way
	at       units.Time // when it begins; Never: it has begun, or the job has left
	beside   units.Time // when Beside is done
	sender   sender
	sends    bool
	since    units.Time // the begin of the burst
	sent     float64    // of the iteration, by its bursts that are over
	now      Iteration
	finished int // iterations
}

func newState(n *Network) *state {
	s := &state{network: n, links: n.Links, law: n.Sharing, jobs: make([]player, len(n.Jobs)), done: make(Result, len(n.Jobs))}
	if len(s.links) == 0 {
		s.links = []float64{1}
	}
	if s.law.Low == 0 {
		s.law.Low = 1
	}
	priorities := []int{0}
	if s.law.Strict {
		priorities = priorities[:0]
		for i := range n.Jobs {
			priorities = append(priorities, -n.Jobs[i].Priority)
		}
		slices.Sort(priorities)
		priorities = slices.Compact(priorities)
		for i := range priorities {
			priorities[i] = -priorities[i]
		}
	}
	s.divider = newDivider(s.links, priorities)
	for i := range s.jobs {
		p := &s.jobs[i]
		*p = player{Job: &n.Jobs[i], bursts: n.Jobs[i].bursts()}
		for k, l := range p.Links {
			u := use{l, 1}
			if len(p.Use) > 0 {
				u.share = p.Use[k]
			}
			p.uses = append(p.uses, u)
		}
		if len(p.uses) == 0 {
			p.uses = []use{{0, 1}}
		}
		for rank := range max(p.Ranks, 1) {
			p.clocks = append(p.clocks, p.Jitter.NewClock(p.Seed, rank))
		}
		for k := range p.bursts {
			p.total += s.amount(p, k)
		}
	}
	for i := range s.jobs {
		p := &s.jobs[i]
		p.meets = make([]bool, len(s.jobs))
		for k := range s.jobs {
			p.meets[k] = k != i && slices.ContainsFunc(p.uses, func(u use) bool {
				return slices.ContainsFunc(s.jobs[k].uses, func(v use) bool { return u.link == v.link })
			})
		}
		s.begin(p, units.Time(p.Offset))
	}
	return s
}

// capacity returns what a job can send through its narrowest link.
func (s *state) capacity(p *player) float64 {
	least := math.Inf(1)
	for _, u := range p.uses {
		least = min(least, s.links[u.link]/u.share)
	}
	return least
}

// limit returns the most at which a burst sends.
func (s *state) limit(p *player, burst int) float64 {
	limit := s.capacity(p)
	switch b := p.bursts[burst]; {
	case b.Rate > 0:
		limit = min(limit, b.Rate)
	case p.Rate > 0:
		limit = min(limit, p.Rate)
	}
	return limit
}

// amount returns what a burst has to send.
func (s *state) amount(p *player, burst int) float64 {
	return s.limit(p, burst) * float64(p.bursts[burst].Communicate)
}

// mostWork bounds what a solution takes, in jobs and uses of links that events look at: two
// seconds or so. Jobs without compute may have events without end while another one starves.
const mostWork = 200_000_000

// spent returns the work so far.
func (s *state) spent() int64 { return s.work + s.divider.work }

func (s *state) solve(iterations int) (Result, error) {
	for !s.complete(iterations) {
		for i := range s.jobs {
			if p := &s.jobs[i]; p.Iterations == 0 && p.finished >= maxIterations {
				return nil, fmt.Errorf("fluid: job %d makes %d iterations while another makes %d", i, maxIterations, s.fewest())
			}
		}
		if s.spent() >= mostWork {
			return nil, fmt.Errorf("fluid: too many events: one job has made %d iterations and another %d", s.most(), s.fewest())
		}
		s.step()
	}
	return s.done, nil
}

// run goes on until all jobs have left, or one that goes on has made so many iterations, or
// a time has come, or the work is enough.
func (s *state) run(iterations int, end units.Time, work int64) Result {
	for s.now < end && s.spent() < work {
		goesOn := false
		for i := range s.jobs {
			p := &s.jobs[i]
			if p.Iterations > 0 && p.finished == p.Iterations {
				continue
			}
			if p.finished >= iterations {
				return s.done
			}
			goesOn = true
		}
		if !goesOn {
			return s.done
		}
		s.step()
	}
	return s.done
}

// complete reports whether each job has made so many iterations, or all that it makes.
func (s *state) complete(iterations int) bool {
	for i := range s.jobs {
		p := &s.jobs[i]
		if p.finished < iterations && (p.Iterations == 0 || p.finished < p.Iterations) {
			return false
		}
	}
	return true
}

func (s *state) fewest() int {
	n := maxIterations
	for i := range s.jobs {
		n = min(n, s.jobs[i].finished)
	}
	return n
}

func (s *state) most() (n int) {
	for i := range s.jobs {
		n = max(n, s.jobs[i].finished)
	}
	return n
}

// begin begins an iteration of a job that has one left.
func (s *state) begin(p *player, at units.Time) {
	if p.Iterations > 0 && p.finished == p.Iterations {
		p.at = units.Never
		return
	}
	p.now = Iteration{Begin: at}
	p.burst, p.sent = 0, 0
	for _, c := range p.clocks {
		c.StartStep(p.finished)
	}
	s.work += clockWork * int64(len(p.clocks))
	ready := at.Add(p.compute(p.bursts[0].Compute))
	p.at = p.Schedule.Until(ready)
	p.beside = ready.Add(p.compute(p.Beside))
	p.now.Communicates = p.at
}

// compute returns the time of a computation: that of the slowest rank.
func (p *player) compute(d units.Duration) (longest units.Duration) {
	for _, c := range p.clocks {
		longest = max(longest, c.Compute(d))
	}
	return longest
}

// rounding is the time in picoseconds that a burst may still need at its end: half of one,
// and some of what rates change within it.
const rounding = 0.75

// eventWork is the work of an event for each burst under way, beside that of the divider.
const eventWork = 10

// clockWork is the work of the times that a rank computes in an iteration.
const clockWork = 5

// step goes on to the next event: a job begins a burst, or has sent one, or the integration
// takes its next step. What happens at one time happens at once, ends before begins, so
// that the order of the jobs makes no difference.
func (s *state) step() {
	at := units.Never
	for i := range s.jobs {
		at = min(at, s.jobs[i].at)
	}
	s.work += int64(len(s.jobs) + eventWork*len(s.active))
	dt := at.Sub(s.now)
	for _, p := range s.parts {
		dt = min(dt, p.horizon())
	}
	for _, p := range s.parts {
		p.advance(dt)
	}
	s.count(dt)
	s.now = s.now.Add(dt)
	ends, begins := false, false
	for _, p := range s.parts {
		for i, rate := range p.rates() {
			if a := p.senders()[i]; a.left <= rounding*rate {
				s.end(a)
				ends = true
			}
		}
	}
	if ends {
		s.active = slices.DeleteFunc(s.active, func(a *sender) bool { return !s.jobs[a.job].sends })
		s.arrange()
	}
	for i := range s.jobs {
		p := &s.jobs[i]
		if p.at > s.now {
			continue
		}
		p.sender = s.newSender(i)
		p.at, p.sends, p.since = units.Never, true, s.now
		begins = true
	}
	if begins {
		s.active = s.active[:0]
		for i := range s.jobs {
			if p := &s.jobs[i]; p.sends {
				s.active = append(s.active, &p.sender)
			}
		}
		s.arrange()
	}
}

// newSender returns the burst that a job begins, while those that begin at the same time
// are not yet active.
func (s *state) newSender(i int) sender {
	p := &s.jobs[i]
	a := sender{
		job: i, uses: p.uses, capacity: s.capacity(p), limit: s.limit(p, p.burst), weight: p.Weight,
		left: s.amount(p, p.burst), total: p.total,
	}
	if s.law.Strict {
		a.priority = p.Priority
	}
	if a.weight == 0 {
		a.weight = 1
	}
	if s.law.Reference > 0 {
		a.total = s.law.Reference
	}
	a.later = max(0, p.total-p.sent-a.left)
	if s.law.Low < 1 {
		a.weight *= s.law.Low + float64((1-s.law.Low)*s.free(p))
	}
	return a
}

// free returns the free share of that link of a job that is the fullest.
func (s *state) free(p *player) float64 {
	used := make([]float64, len(s.links))
	for _, part := range s.parts {
		for k, rate := range part.rates() {
			for _, u := range part.senders()[k].uses {
				used[u.link] += float64(rate * u.share)
			}
		}
	}
	least := 1.0
	for _, u := range p.uses {
		least = min(least, 1-used[u.link]/s.links[u.link])
	}
	return max(0, least)
}

// count adds a time to what jobs communicate, and to what they do so beside others.
func (s *state) count(dt units.Duration) {
	for _, a := range s.active {
		p := &s.jobs[a.job]
		p.now.Communication += dt
		if slices.ContainsFunc(s.active, func(b *sender) bool { return p.meets[b.job] }) {
			p.now.Shared += dt
		}
	}
}

// end ends the burst of a job now.
func (s *state) end(a *sender) {
	p := &s.jobs[a.job]
	p.sends = false
	p.sent += s.amount(p, p.burst)
	p.now.Bursts = append(p.now.Bursts, Span{p.since, s.now})
	if p.burst++; p.burst < len(p.bursts) {
		p.at = s.now.Add(p.compute(p.bursts[p.burst].Compute))
		return
	}
	p.now.End = max(s.now.Add(p.compute(p.Rest)), p.beside)
	s.done[a.job] = append(s.done[a.job], p.now)
	p.finished++
	s.begin(p, p.now.End)
}

// arrange divides the active bursts into parts that share no link.
func (s *state) arrange() {
	s.parts = s.parts[:0]
	part := make([]int, len(s.active))
	for i, a := range s.active {
		part[i] = i
		for k, b := range s.active[:i] {
			if from, to := part[k], part[i]; from != to && s.jobs[a.job].meets[b.job] {
				for m := range part[:i+1] {
					if part[m] == from {
						part[m] = to
					}
				}
			}
		}
	}
	for i := range s.active {
		var all []*sender
		for k, a := range s.active {
			if part[k] == i {
				all = append(all, a)
			}
		}
		if len(all) > 0 {
			s.parts = append(s.parts, s.newPart(all))
		}
	}
}
