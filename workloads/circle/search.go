package circle

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Answer is what a search has found out.
type Answer int

// Answers. NotKnown is that of a search that has given up at its budget.
const (
	NotKnown Answer = iota
	Yes
	No
)

// String returns the answer in words.
func (a Answer) String() string {
	switch a {
	case Yes:
		return "yes"
	case No:
		return "no"
	default:
		return "not known"
	}
}

// DefaultBudget is how many ranges of start offsets a search looks at before it gives up:
// some seconds.
const DefaultBudget = 20_000_000

// Separate looks for start offsets with which no two jobs that share a link communicate at
// one time. share reports whether two jobs share a link; nil: all do. The search is
// complete: it answers NotKnown only when it has used up its budget; 0: DefaultBudget. With
// Yes come the offsets, each in [0, period) and that of the first job of each group of jobs
// that hang together 0, with gaps between bursts of the pairs that are as equal as a common
// gap makes them; and this gap. The profiles must be valid.
func Separate(profiles []Profile, share func(i, j int) bool, budget int) (Answer, []units.Duration, units.Duration) {
	return separate(profiles, share, nil, budget)
}

// separate is Separate, with bursts that may meet; see allowed.
func separate(profiles []Profile, share func(i, j int) bool, meet func(i, j int) func(a, b *Burst) bool, budget int) (Answer, []units.Duration, units.Duration) {
	if budget == 0 {
		budget = DefaultBudget
	}
	answer, starts := newSearch(profiles, share, meet, 0, budget).run()
	if answer != Yes {
		return answer, nil, 0
	}
	// The gap is widened by bisection, for as long as the search says that there is one.
	low, high := units.Duration(0), widest(profiles, share, meet)
	for i := range 20 {
		middle := low + (high-low+1)/2
		if i == 0 {
			middle = high
		}
		if middle <= low {
			break
		}
		if more, wider := newSearch(profiles, share, meet, middle, budget/20).run(); more == Yes {
			low, starts = middle, wider
		} else {
			high = middle - 1
		}
	}
	// Bisection leaves odd digits; a round gap is as good.
	if plain := rounded(low, 4); plain < low {
		if more, wider := newSearch(profiles, share, meet, plain, budget/20).run(); more == Yes {
			low, starts = plain, wider
		}
	}
	return Yes, starts, low
}

// widest returns a gap that no start offsets exceed.
func widest(profiles []Profile, share func(i, j int) bool, meet func(i, j int) func(a, b *Burst) bool) units.Duration {
	least := units.Duration(-1)
	for i := range profiles {
		for j := range i {
			if share != nil && !share(i, j) {
				continue
			}
			g := gcd(profiles[i].Period, profiles[j].Period)
			for x := range profiles[i].Bursts {
				for y := range profiles[j].Bursts {
					a, b := &profiles[i].Bursts[x], &profiles[j].Bursts[y]
					if meet != nil && meet(i, j)(a, b) {
						continue
					}
					if gap := (g - a.Length - b.Length) / 2; least < 0 || gap < least {
						least = gap
					}
				}
			}
		}
	}
	return max(least, 0)
}

// search is the state of a search. Jobs are placed one after the other.
type search struct {
	profiles []Profile
	// free is, for each pair of jobs that constrain each other, the valid differences of
	// their start offsets, second minus first, modulo g.
	free   [][]ranges
	bound  [][]bool // the two jobs constrain each other
	g      [][]units.Duration
	apart  [][]bool // no burst of one may meet any burst of the other
	starts []units.Duration
	placed []bool
	domain []ranges           // of the jobs that are not placed: where they may start
	barred [][]units.Duration // of each job: starts that have been looked into
	work   int                // what is left of the budget
	never  bool               // a pair has no valid difference
}

func newSearch(profiles []Profile, share func(i, j int) bool, meet func(i, j int) func(a, b *Burst) bool, gap units.Duration, budget int) *search {
	n := len(profiles)
	s := &search{
		profiles: profiles, free: make([][]ranges, n), bound: make([][]bool, n), apart: make([][]bool, n), g: make([][]units.Duration, n),
		starts: make([]units.Duration, n), placed: make([]bool, n), domain: make([]ranges, n), barred: make([][]units.Duration, n), work: budget,
	}
	for i := range n {
		s.free[i], s.bound[i], s.apart[i], s.g[i] = make([]ranges, n), make([]bool, n), make([]bool, n), make([]units.Duration, n)
	}
	for i := range n {
		for j := range n {
			if i == j || share != nil && !share(i, j) {
				continue
			}
			s.apart[i][j] = true
			var may func(a, b *Burst) bool
			if meet != nil {
				may = func(a, b *Burst) bool {
					ok := meet(i, j)(a, b)
					s.apart[i][j] = s.apart[i][j] && !ok
					return ok
				}
			}
			g := gcd(profiles[i].Period, profiles[j].Period)
			free := allowed(&profiles[i], &profiles[j], gap, may)
			if free.count() < g {
				s.free[i][j], s.bound[i][j], s.g[i][j] = free, true, g
				s.never = s.never || len(free) == 0
			}
		}
	}
	return s
}

// run returns the answer, and with Yes the start offsets.
func (s *search) run() (Answer, []units.Duration) {
	if s.never {
		return No, nil
	}
	groups := s.groups()
	for _, group := range groups {
		if s.crowded(group) {
			return No, nil
		}
	}
	unknown := false
	for _, group := range groups {
		switch s.group(group) {
		case No:
			return No, nil
		case NotKnown:
			unknown = true
		}
	}
	if unknown {
		return NotKnown, nil
	}
	return Yes, s.starts
}

// groups returns the jobs that hang together by constraints, each ascending.
func (s *search) groups() (all [][]int) {
	seen := make([]bool, len(s.profiles))
	for i := range s.profiles {
		if seen[i] {
			continue
		}
		seen[i] = true
		group := []int{i}
		for k := 0; k < len(group); k++ {
			for j := range s.profiles {
				if !seen[j] && s.bound[group[k]][j] {
					seen[j] = true
					group = append(group, j)
				}
			}
		}
		slices.Sort(group)
		all = append(all, group)
	}
	return all
}

// crowded reports whether jobs of a group that all constrain each other pairwise communicate
// for more than all of the time. It looks at the jobs that each job constrains, greedily.
func (s *search) crowded(group []int) bool {
	for _, first := range group {
		clique := []int{first}
		sum := s.share(first)
		for _, j := range group {
			if j != first && !slices.ContainsFunc(clique, func(i int) bool { return !s.apart[i][j] }) {
				clique = append(clique, j)
				sum += s.share(j)
			}
		}
		if sum > 1+1e-9 {
			return true
		}
	}
	return false
}

// share returns the part of the time in which a job communicates.
func (s *search) share(i int) float64 {
	return float64(s.profiles[i].Communicate()) / float64(s.profiles[i].Period)
}

// group places the jobs of a group.
func (s *search) group(group []int) Answer {
	core, easy := s.peel(group)
	if len(core) > 0 {
		s.place(core[0], 0)
		for _, j := range core[1:] {
			s.domain[j] = ranges{{0, s.profiles[j].Period - 1}}
			s.barred[j] = nil
			s.narrow(core[0], j)
		}
		if answer := s.extend(core[1:]); answer != Yes {
			return answer
		}
	}
	for _, j := range slices.Backward(easy) {
		s.domain[j] = ranges{{0, s.profiles[j].Period - 1}}
		for _, i := range group {
			if s.placed[i] {
				s.narrow(i, j)
			}
		}
		s.place(j, s.domain[j][0].From)
	}
	// The first of the group starts at 0.
	for _, j := range slices.Backward(group) {
		s.starts[j] = modulo(s.starts[j]-s.starts[group[0]], s.profiles[j].Period)
	}
	return Yes
}

// peel splits a group into jobs that have to be searched for, and jobs that find a place
// wherever the others are, if they are placed last, in the order from the last to the first:
// what the others forbid such a job is less than its period.
func (s *search) peel(group []int) (core, easy []int) {
	core = slices.Clone(group)
	for again := true; again; {
		again = false
		for k := 0; k < len(core); k++ {
			j := core[k]
			forbidden, period := 0.0, float64(s.profiles[j].Period)
			for _, i := range core {
				if s.bound[i][j] {
					forbidden += float64(s.g[i][j]-s.free[i][j].count()) / float64(s.g[i][j])
				}
			}
			if forbidden*period < period*(1-1e-12)-1 {
				easy, core = append(easy, j), slices.Delete(core, k, k+1)
				k--
				again = true
			}
		}
	}
	return core, easy
}

func (s *search) place(j int, start units.Duration) { s.starts[j], s.placed[j] = start, true }

// narrow takes from the domain of a job what a placed job forbids it.
func (s *search) narrow(i, j int) {
	if !s.bound[i][j] {
		return
	}
	lifted := s.free[i][j].lifted(s.starts[i], s.g[i][j], s.profiles[j].Period)
	s.work -= len(lifted) + len(s.domain[j])
	s.domain[j] = intersect(s.domain[j], lifted)
}

// candidate is a start of a job.
type candidate struct {
	job   int
	start units.Duration
	room  units.Duration // what the domain of the job holds
}

// extend places the rest of a group, of which one job is placed at least. If there is a
// solution, all jobs of the rest can be moved to earlier starts together until one of them
// can go no further because of a placed one. That one is at the lower end of a range of its
// domain. So it suffices to try, for each job of the rest, these ends. When everything that
// follows from one of them has been looked into, no later attempt need look at it again.
func (s *search) extend(rest []int) Answer {
	if len(rest) == 0 {
		return Yes
	}
	var all []candidate
	for _, j := range rest {
		room := s.domain[j].count()
		if room == 0 {
			return No
		}
		for _, r := range s.domain[j] {
			if !slices.Contains(s.barred[j], r.From) {
				all = append(all, candidate{j, r.From, room})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.room, b.room), cmp.Compare(a.job, b.job), cmp.Compare(a.start, b.start))
	})
	before := make([]int, len(s.barred))
	for j := range s.barred {
		before[j] = len(s.barred[j])
	}
	defer func() {
		for j := range s.barred {
			s.barred[j] = s.barred[j][:before[j]]
		}
	}()
	kept := slices.Clone(s.domain)
	for _, c := range all {
		if s.work -= len(rest); s.work < 0 {
			return NotKnown
		}
		s.place(c.job, c.start)
		next := make([]int, 0, len(rest)-1)
		for _, j := range rest {
			if j != c.job {
				next = append(next, j)
				s.narrow(c.job, j)
			}
		}
		answer := s.extend(next)
		if answer != No {
			return answer
		}
		s.placed[c.job] = false
		copy(s.domain, kept)
		s.barred[c.job] = append(s.barred[c.job], c.start)
	}
	return No
}
