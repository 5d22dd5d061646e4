package circle

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// PlanOptions say how Solve searches.
type PlanOptions struct {
	// Angle is that of a sector, in degrees; 0: defaultAngle, or less for periods that are
	// short.
	Angle  float64
	Budget int // of all searches together; 0: defaultBudget
}

// Solve looks for one start offset for each job, such that jobs that share a link keep apart,
// or else such that the links carry all that they send, or lack as little capacity as
// possible. The profiles must be on a grid (see Align); no burst may be faster than a link of
// its job (see Profile.Through). The same input gives the same plan. Links and loops share
// one budget: each may use an equal part of what those before it have left.
func Solve(profiles []Profile, links []Link, o PlanOptions) (*Plan, error) {
	if err := checkLinks(profiles, links); err != nil {
		return nil, err
	}
	plan := &Plan{Starts: make([]units.Duration, len(profiles)), Links: make([]LinkFit, len(links))}
	graph := newAffinity(len(profiles), links)
	plan.Loops = graph.loops()
	plan.Clusters = graph.clusters()
	s := solver{Plan: plan, field: newField(profiles), profiles: profiles, links: links, angle: o.Angle, left: cmp.Or(o.Budget, defaultBudget)}
	for i := range links {
		if len(links[i].Jobs) > 1 {
			s.parts++
		}
	}
	for i := range plan.Clusters {
		if c := &plan.Clusters[i]; len(c.Links) > 0 {
			c.Method = Traversal
			if slices.ContainsFunc(plan.Loops, func(l Loop) bool { return slices.Contains(c.Links, l.Links[0]) }) {
				c.Method = Joint
				s.parts++
			}
		}
	}
	for i := range links {
		if err := s.link(i); err != nil {
			return nil, fmt.Errorf("circle: link %q: %w", links[i].Name, err)
		}
	}
	for i := range plan.Clusters {
		if err := s.cluster(&plan.Clusters[i]); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// solver is the state of Solve.
type solver struct {
	*Plan
	field    *field // of all jobs
	profiles []Profile
	links    []Link
	angle    float64
	left     int // of the budget
	parts    int // links and loops that have not had their part of it
}

// part calls a search with its part of the budget.
func (s *solver) part(search func(work *int) error) (err error) {
	spend(&s.left, s.left/s.parts, func(work *int) { err = search(work) })
	s.parts--
	return err
}

// half calls a part of a search with half of what is left.
func half(left *int, search func(work *int)) { spend(left, *left/2, search) }

// link solves a link alone.
func (s *solver) link(at int) error {
	f, jobs := &s.Plan.Links[at], s.links[at].Jobs
	if len(jobs) < 2 {
		*f = LinkFit{Separate: Yes, Fits: Yes, Zero: 1, Best: 1, With: 1, Proven: true, Carries: true}
		return nil
	}
	own := s.field.of(jobs)
	l := Link{Capacity: s.links[at].Capacity, Jobs: make([]int, len(jobs))}
	for i := range l.Jobs {
		l.Jobs[i] = i
	}
	var err error
	if f.Perimeter, err = circleOf(own.profiles); err != nil {
		return err
	}
	f.Zero, _ = loadOf(own.profiles, &l, make([]units.Duration, len(jobs)), f.Perimeter)
	return s.part(func(work *int) error {
		half(work, func(work *int) { f.Separate, f.starts, f.Gap = separate(own, work) })
		if f.Fits = f.Separate; f.Fits != Yes && mayMeet(own.profiles, &l) {
			half(work, func(work *int) { f.Fits, f.starts, err = pack(own, []Link{l}, work) })
		}
		if err != nil {
			return err
		}
		if f.Fits == Yes {
			f.Best, f.Proven = 1, true
		} else if f.starts, f.Best, f.Proven = bestOfTwo(own.profiles, &l, f.Perimeter, work); f.Proven {
			f.Fits = No
			if _, carries := loadOf(own.profiles, &l, f.starts, f.Perimeter); carries {
				f.Fits = Yes
			}
		}
		if f.Proven && s.angle == 0 {
			return nil
		}
		if f.Sectors, err = score(own.profiles, l.Capacity, s.angle, work); err != nil || f.Proven {
			return err
		}
		f.best(own.profiles, &l)
		return nil
	})
}

// best sets the best score from that in sectors.
func (f *LinkFit) best(profiles []Profile, l *Link) {
	f.starts = f.Sectors.Starts
	var carries bool
	if f.Best, carries = loadOf(profiles, l, f.starts, f.Perimeter); f.Best < f.Zero {
		f.Best, f.starts = f.Zero, make([]units.Duration, len(profiles))
		carries = f.Best == 1
	}
	if carries {
		f.Fits = Yes
	}
	f.Proven = carries || f.Sectors.Proven && f.Sectors.whole
}

// bestOfTwo returns the best start offsets of two jobs, and their score. As the score is
// piecewise linear in the phase difference, it is best where an edge of a burst of one job
// meets an edge of the other's. It reports false for more jobs, and if that takes more work
// than is left.
func bestOfTwo(profiles []Profile, l *Link, perimeter units.Duration, left *int) (starts []units.Duration, best float64, proven bool) {
	if len(profiles) != 2 {
		return nil, 0, false
	}
	a, b := &profiles[0], &profiles[1]
	g := gcd(a.Period, b.Period)
	arcs := int(perimeter/a.Period)*len(a.Bursts) + int(perimeter/b.Period)*len(b.Bursts)
	if work := float64(4*len(a.Bursts)*len(b.Bursts)) * float64(arcs) * 16; work > float64(*left) {
		return nil, 0, false
	} else {
		*left -= int(work)
	}
	var all []units.Duration
	for _, x := range a.Bursts {
		for _, y := range b.Bursts {
			all = append(all, modulo(x.At-y.At, g), modulo(x.At-y.End(), g), modulo(x.End()-y.At, g), modulo(x.End()-y.End(), g))
		}
	}
	slices.Sort(all)
	best = math.Inf(-1)
	for _, at := range slices.Compact(all) {
		try := []units.Duration{0, at}
		if score, _ := loadOf(profiles, l, try, perimeter); score > best+1e-12 {
			starts, best = try, score
		}
	}
	return starts, best, true
}

// cluster sets the start offsets of a cluster, and what they give.
func (s *solver) cluster(c *Cluster) error {
	c.Separate, c.Fits = Yes, Yes
	for _, k := range c.Links {
		c.Separate = worse(c.Separate, s.Plan.Links[k].Separate)
		c.Fits = worse(c.Fits, s.Plan.Links[k].Fits)
	}
	switch c.Method {
	case Traversal:
		s.traverse(s.profiles, s.links, c)
	case Joint:
		if err := s.joint(c); err != nil {
			return err
		}
	}
	all := true
	for _, k := range c.Links {
		f := &s.Plan.Links[k]
		f.With, f.Carries = loadOf(s.profiles, &s.links[k], s.Starts, f.Perimeter)
		if all = all && f.Carries; f.Carries {
			f.Fits, f.Best, f.Proven = Yes, 1, true
		} else if f.With > f.Best {
			f.Best = f.With
		}
	}
	if all {
		c.Fits = Yes
	}
	return nil
}

func worse(a, b Answer) Answer {
	switch {
	case a == No || b == No:
		return No
	case a == NotKnown || b == NotKnown:
		return NotKnown
	}
	return Yes
}

// traverse gives each job of a cluster one shift: from a job with shift t it goes over each
// of its links to the other jobs there, whose shift is t minus the one that the link wants of
// the former plus the one that it wants of the latter, modulo the latter's period (CASSINI,
// NSDI 2024).
func (p *Plan) traverse(profiles []Profile, links []Link, c *Cluster) {
	seen := map[int]bool{c.Jobs[0]: true}
	for queue := []int{c.Jobs[0]}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		for _, k := range c.Links {
			at := slices.Index(links[k].Jobs, from)
			if at < 0 {
				continue
			}
			for i, to := range links[k].Jobs {
				if !seen[to] {
					seen[to] = true
					queue = append(queue, to)
					want := p.Links[k].starts
					p.Starts[to] = modulo(p.Starts[from]-want[at]+want[i], profiles[to].Period)
				}
			}
		}
	}
}

// joint solves the links of a cluster together.
func (s *solver) joint(c *Cluster) error {
	own := s.field.of(c.Jobs)
	local := map[int]int{}
	for i, j := range c.Jobs {
		local[j] = i
	}
	var links []Link
	share := make([][]bool, len(c.Jobs))
	for i := range share {
		share[i] = make([]bool, len(c.Jobs))
	}
	on := make([]string, len(c.Jobs)) // the links of each job
	meet := false
	for _, k := range c.Links {
		l := Link{Name: s.links[k].Name, Capacity: s.links[k].Capacity}
		for _, j := range s.links[k].Jobs {
			l.Jobs = append(l.Jobs, local[j])
		}
		for _, i := range l.Jobs {
			on[i] = fmt.Sprint(on[i], k, ",")
			for _, j := range l.Jobs {
				share[i][j] = true
			}
		}
		links = append(links, l)
		meet = meet || mayMeet(own.profiles, &l)
	}
	own.share = func(i, j int) bool { return share[i][j] }
	for i := range on {
		own.places[i] = slices.Index(on, on[i])
	}
	return s.part(func(work *int) (err error) {
		var starts []units.Duration
		if c.Separate != No { // a link alone has said so
			half(work, func(work *int) { c.Separate, starts, c.Gap = separate(own, work) })
		}
		switch {
		case c.Separate == Yes:
			c.Fits = Yes
		case c.Fits != No && meet:
			half(work, func(work *int) { c.Fits, starts, err = pack(own, links, work) })
		case c.Fits != No:
			c.Fits = c.Separate
		}
		if err == nil && c.Fits != Yes {
			starts, err = shifts(own.profiles, links, s.angle, work)
		}
		if err != nil {
			return err
		}
		for i, j := range c.Jobs {
			s.Starts[j] = starts[i]
		}
		return nil
	})
}
