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

// defaultBudget bounds the work of Solve to some seconds. The unit is one range of start
// offsets that is looked at, or as much.
const defaultBudget = 80_000_000

// spend calls a part of a search, which may use so much of what is left of a budget, and
// returns what is left of its part; less than 0: it has given up.
func spend(left *int, most int, part func(work *int)) {
	most = max(0, min(most, *left))
	work := most
	part(&work)
	*left -= most - max(0, work)
}

// separate looks for start offsets with which no two jobs that share a link communicate at
// one time. It answers NotKnown only when it has used up its budget, of which it takes what
// it needs. With Yes come the offsets, each in [0, period) and that of the first job of each
// group of jobs that hang together 0, with gaps between bursts of the pairs that are as equal
// as a common gap makes them; and this gap.
func separate(f *field, left *int) (answer Answer, starts []units.Duration, gap units.Duration) {
	try := func(gap units.Duration, most int) (a Answer, starts []units.Duration) {
		spend(left, most, func(work *int) {
			s := newSearch(f, gap, *work)
			a, starts = s.run()
			*work = s.work
		})
		return a, starts
	}
	if answer, starts = try(0, *left); answer != Yes {
		return answer, nil, 0
	}
	// The gap is widened by bisection, for as long as the search says that there is one.
	part := *left / 20
	low, high := units.Duration(0), f.widest()
	for i := range 20 {
		middle := low + (high-low+1)/2
		if i == 0 {
			middle = high
		}
		if middle <= low {
			break
		}
		if more, wider := try(middle, part); more == Yes {
			low, starts = middle, wider
		} else {
			high = middle - 1
		}
	}
	// Bisection leaves odd digits; a round gap is as good.
	if plain := rounded(low, 4); plain < low {
		if more, wider := try(plain, part); more == Yes {
			low, starts = plain, wider
		}
	}
	return Yes, starts, low
}

// bond is what two jobs forbid each other.
type bond struct {
	g      units.Duration
	free   ranges  // the valid differences of start, second minus first, modulo g
	barred float64 // the share of the others
}

// search is the state of a search. Jobs are placed one after the other.
type search struct {
	*field
	bonds  [][]*bond // of each two jobs; nil: they do not constrain each other
	twins            // domain and barred are of the first twin
	starts []units.Duration
	placed []bool
	domain []ranges                      // of the jobs that are not placed: where they may start
	barred []map[units.Duration]struct{} // starts that have been looked into
	work   int                           // what is left of the budget
	never  bool                          // a pair has no valid difference
}

func newSearch(f *field, gap units.Duration, budget int) *search {
	n := len(f.profiles)
	s := &search{
		field: f, bonds: make([][]*bond, n), twins: newTwins(f), starts: make([]units.Duration, n), placed: make([]bool, n),
		domain: make([]ranges, n), barred: make([]map[units.Duration]struct{}, n), work: budget,
	}
	bonds := map[[2]int]*bond{} // by kinds
	for i := range n {
		s.bonds[i] = make([]*bond, n)
		s.barred[i] = map[units.Duration]struct{}{}
		for j := range n {
			if i == j || f.share != nil && !f.share(i, j) {
				continue
			}
			key := [2]int{f.kinds[i], f.kinds[j]}
			b, ok := bonds[key]
			if !ok {
				r := f.relation(i, j, &s.work)
				if r == nil {
					return s
				}
				if s.work -= len(r.busy); s.work < 0 {
					return s
				}
				b = &bond{g: r.g, free: r.free(gap)}
				b.barred = float64(b.g-b.free.count()) / float64(b.g)
				bonds[key] = b
				s.never = s.never || len(b.free) == 0
			}
			if b.barred > 0 {
				s.bonds[i][j] = b
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
	if s.work < 0 {
		return NotKnown, nil
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
				if !seen[j] && s.bonds[group[k]][j] != nil {
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

// crowded reports whether jobs of a group that share links pairwise communicate for more than
// all of the time. It looks at the jobs that each job shares links with, greedily.
func (s *search) crowded(group []int) bool {
	for _, first := range group {
		clique, sum := []int{first}, s.busy(first)
		for _, j := range group {
			if j == first || s.field.share != nil && slices.ContainsFunc(clique, func(i int) bool { return !s.field.share(i, j) }) {
				continue
			}
			clique = append(clique, j)
			if sum += s.busy(j); sum > 1+1e-9 {
				return true
			}
		}
		if len(clique) == len(group) {
			return false // and so it is from every other job
		}
	}
	return false
}

// busy returns the part of the time in which a job communicates.
func (s *search) busy(i int) float64 {
	return float64(s.profiles[i].Communicate()) / float64(s.profiles[i].Period)
}

// group places the jobs of a group.
func (s *search) group(group []int) Answer {
	core, easy := s.peel(group)
	if len(core) > 0 {
		s.place(core[0], 0)
		s.reset(core[1:])
		s.narrow(core[0], core[1:])
		if answer := s.extend(core[1:]); answer != Yes {
			return answer
		}
	}
	for _, j := range slices.Backward(easy) {
		s.reset([]int{j})
		for _, i := range group {
			if s.placed[i] {
				s.narrow(i, []int{j})
			}
		}
		if s.work < 0 {
			return NotKnown
		}
		s.place(j, s.domain[s.twin[j]][0].From)
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
				if b := s.bonds[i][j]; b != nil {
					forbidden += b.barred
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

// reset lets jobs start at any time.
func (s *search) reset(jobs []int) {
	for _, j := range jobs {
		s.domain[s.twin[j]] = ranges{{0, s.profiles[j].Period - 1}}
	}
}

// narrow takes from the domains of jobs what a placed job forbids them. When the budget is
// used up it leaves them as they are.
func (s *search) narrow(placed int, jobs []int) {
	for _, j := range s.distinct(jobs) {
		b, domain := s.bonds[placed][j], &s.domain[s.twin[j]]
		if b == nil {
			continue
		}
		if s.work -= (len(b.free)+1)*int(s.profiles[j].Period/b.g) + len(*domain); s.work < 0 {
			return
		}
		*domain = intersect(*domain, b.free.lifted(s.starts[placed], b.g, s.profiles[j].Period))
	}
}

// candidate is a start of a job.
type candidate struct {
	job   int
	start units.Duration
	room  units.Duration // what the domain of the job holds
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.room, b.room), cmp.Compare(a.job, b.job), cmp.Compare(a.start, b.start))
}

// extend places the rest of a group, of which one job is placed at least. If there is a
// solution, all jobs of the rest can be moved to earlier starts together until one of them
// can go no further because of a placed one. That one is at the lower end of a range of its
// domain. So it suffices to try, for each job of the rest, these ends. When everything that
// follows from one of them has been looked into, no later attempt need look at it again, nor
// for a twin of the job.
func (s *search) extend(rest []int) Answer {
	if s.work < 0 {
		return NotKnown
	}
	if len(rest) == 0 {
		return Yes
	}
	var all []candidate
	for _, j := range s.distinct(rest) {
		domain := s.domain[s.twin[j]]
		room := domain.count()
		if room == 0 {
			return No
		}
		for _, r := range domain {
			if _, tried := s.barred[s.twin[j]][r.From]; !tried {
				all = append(all, candidate{j, r.From, room})
			}
		}
	}
	s.work -= 5 * len(all)
	slices.SortFunc(all, compareCandidates)
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
			}
		}
		s.narrow(c.job, next)
		if answer := s.extend(next); answer != No {
			return answer
		}
		s.placed[c.job] = false
		copy(s.domain, kept)
		s.barred[s.twin[c.job]][c.start] = struct{}{}
	}
	for _, c := range all {
		delete(s.barred[s.twin[c.job]], c.start)
	}
	return No
}
