package circle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Link is a link that jobs share.
type Link struct {
	Name     string
	Capacity units.Rate // more than 0
	Jobs     []int      // positions of profiles, each once
}

// Loop is a part of the affinity graph, whose nodes are jobs and links, in which every edge
// is on a way that leads back to its begin: shifts that suit each link alone may contradict
// each other there.
type Loop struct{ Jobs, Links []int } // ascending

// Method is how the start offsets of a cluster came about.
type Method int

// Methods.
const (
	// Alone: the job shares no link.
	Alone Method = iota
	// Traversal: each link has been solved alone, and the affinity graph, which has no loop,
	// gives each job one shift.
	Traversal
	// Joint: the affinity graph has loops, and all links have been solved together.
	Joint
)

// String returns the method in words.
func (m Method) String() string {
	switch m {
	case Alone:
		return "alone"
	case Traversal:
		return "traversal"
	default:
		return "joint"
	}
}

// Cluster is jobs that hang together by links.
type Cluster struct {
	Jobs, Links []int // ascending; Links have two jobs or more
	Method      Method
	Separate    Answer         // whether its jobs can keep apart on all links at one time
	Gap         units.Duration // between bursts, if Separate is Yes and the method Joint
}

// LinkFit is what jobs are to a link. That of a link with one job is 1 all over.
type LinkFit struct {
	Separate   Answer         // whether its jobs can keep apart, were there no other link
	Gap        units.Duration // between their bursts then
	Perimeter  units.Duration // of its unified circle
	Sectors    int            // of it
	Zero, Best float64        // see Scored; of the link alone
	Proven     bool           // see Scored
	With       float64        // the score with the start offsets of the plan, not in sectors
	Carries    bool           // with these, the link carries all that the jobs send
	starts     []units.Duration
}

// Plan is start offsets for jobs on links.
type Plan struct {
	Starts   []units.Duration // of each job, in [0, period); the first of each cluster has 0
	Links    []LinkFit        // in the order of the links
	Clusters []Cluster        // by their first job
	Loops    []Loop           // by their first job
}

// Compatible reports whether every link carries all that its jobs send.
func (p *Plan) Compatible() bool {
	return !slices.ContainsFunc(p.Links, func(l LinkFit) bool { return !l.Carries })
}

// Separate returns whether jobs that share a link can all keep apart.
func (p *Plan) Separate() Answer {
	all := Yes
	for _, c := range p.Clusters {
		switch c.Separate {
		case No:
			return No
		case NotKnown:
			all = NotKnown
		}
	}
	return all
}

// PlanOptions say how Solve searches.
type PlanOptions struct {
	Angle  float64 // see Score
	Budget int     // see Separate; 0: DefaultBudget
}

// maxArcs bounds the bursts on a unified circle.
const maxArcs = 5_000_000

// Solve looks for one start offset for each job, such that jobs that share a link keep apart,
// or else such that the links lack as little capacity as possible. The profiles must be on
// a grid (see Align); no burst may be faster than a link of its job (see Profile.Through).
// The same input gives the same plan.
func Solve(profiles []Profile, links []Link, o PlanOptions) (*Plan, error) {
	if err := checkLinks(profiles, links); err != nil {
		return nil, err
	}
	plan := &Plan{Starts: make([]units.Duration, len(profiles)), Links: make([]LinkFit, len(links))}
	graph := newAffinity(len(profiles), links)
	plan.Loops = graph.loops()
	for i := range links {
		if err := plan.link(profiles, &links[i], i, o); err != nil {
			return nil, fmt.Errorf("circle: link %q: %w", links[i].Name, err)
		}
	}
	for _, c := range graph.clusters() {
		if err := plan.cluster(profiles, links, &c, o); err != nil {
			return nil, err
		}
		plan.Clusters = append(plan.Clusters, c)
	}
	for i := range links {
		f := &plan.Links[i]
		if len(links[i].Jobs) < 2 {
			f.Separate, f.Zero, f.Best, f.With, f.Proven, f.Carries = Yes, 1, 1, 1, true, true
			continue
		}
		f.With, f.Carries = loadOf(profiles, &links[i], plan.Starts, f.Perimeter)
	}
	return plan, nil
}

func checkLinks(profiles []Profile, links []Link) error {
	if len(profiles) == 0 {
		return fmt.Errorf("circle: no profiles")
	}
	for i := range profiles {
		if err := profiles[i].Validate(); err != nil {
			return fmt.Errorf("circle: job %q: %w", profiles[i].Name, err)
		}
	}
	for _, l := range links {
		if l.Capacity <= 0 || l.Capacity > MaxRate {
			return fmt.Errorf("circle: link %q: capacity %v, want more than 0 and at most %v", l.Name, l.Capacity, MaxRate)
		}
		seen := map[int]bool{}
		for _, j := range l.Jobs {
			if j < 0 || j >= len(profiles) || seen[j] {
				return fmt.Errorf("circle: link %q: job %d is there twice, or is none of %d", l.Name, j, len(profiles))
			}
			seen[j] = true
			for _, b := range profiles[j].Bursts {
				if b.Rate > l.Capacity {
					return fmt.Errorf("circle: link %q: job %q sends at %v, the link has %v", l.Name, profiles[j].Name, b.Rate, l.Capacity)
				}
			}
		}
	}
	return nil
}

// some returns the profiles of jobs.
func some(profiles []Profile, jobs []int) []Profile {
	of := make([]Profile, len(jobs))
	for i, j := range jobs {
		of[i] = profiles[j]
	}
	return of
}

// circleOf returns the perimeter of a unified circle.
func circleOf(profiles []Profile) (units.Duration, error) {
	perimeter, ok := lcm(profiles)
	if !ok {
		return 0, fmt.Errorf("%w: the least common multiple of the periods is too long", ErrNoGrid)
	}
	arcs := 0.0
	for i := range profiles {
		arcs += float64(perimeter/profiles[i].Period) * float64(len(profiles[i].Bursts))
	}
	if arcs > maxArcs {
		return 0, fmt.Errorf("%w: the unified circle of %v has %.3g bursts, want at most %d", ErrNoGrid, perimeter, arcs, maxArcs)
	}
	return perimeter, nil
}

// link solves a link alone.
func (p *Plan) link(profiles []Profile, l *Link, at int, o PlanOptions) error {
	f := &p.Links[at]
	if len(l.Jobs) < 2 {
		return nil
	}
	jobs := some(profiles, l.Jobs)
	all := make([]int, len(jobs))
	for i := range all {
		all[i] = i
	}
	var err error
	if f.Perimeter, err = circleOf(jobs); err != nil {
		return err
	}
	if f.Sectors, err = sectors(jobs, f.Perimeter, o.Angle); err != nil {
		return err
	}
	b := newBoard(jobs, []Link{{Capacity: l.Capacity, Jobs: all}}, f.Sectors, f.Perimeter)
	b.set(all, make([]int, len(all)))
	f.Zero = b.score(0)
	f.Separate, f.starts, f.Gap = Separate(jobs, nil, o.Budget)
	if f.Separate == Yes {
		f.Best, f.Proven = 1, true
		return nil
	}
	f.Proven = b.optimise(all)
	f.Best, f.starts = b.score(0), b.starts(jobs)
	return nil
}

// cluster sets the start offsets of a cluster and says how they came about.
func (p *Plan) cluster(profiles []Profile, links []Link, c *Cluster, o PlanOptions) error {
	c.Separate = Yes
	if len(c.Links) == 0 {
		return nil
	}
	for _, k := range c.Links {
		c.Separate = worse(c.Separate, p.Links[k].Separate)
	}
	c.Method = Traversal
	for _, l := range p.Loops {
		if slices.Contains(c.Links, l.Links[0]) {
			c.Method = Joint
		}
	}
	if c.Method == Traversal {
		p.traverse(profiles, links, c)
		return nil
	}
	return p.joint(profiles, links, c, o)
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
func (p *Plan) joint(profiles []Profile, links []Link, c *Cluster, o PlanOptions) error {
	jobs := some(profiles, c.Jobs)
	local := map[int]int{}
	for i, j := range c.Jobs {
		local[j] = i
	}
	var own []Link
	share := make([][]bool, len(jobs))
	for i := range share {
		share[i] = make([]bool, len(jobs))
	}
	for _, k := range c.Links {
		l := Link{Name: links[k].Name, Capacity: links[k].Capacity}
		for _, j := range links[k].Jobs {
			l.Jobs = append(l.Jobs, local[j])
		}
		for _, i := range l.Jobs {
			for _, j := range l.Jobs {
				share[i][j] = true
			}
		}
		own = append(own, l)
	}
	var starts []units.Duration
	if c.Separate != No { // a link alone has said so
		c.Separate, starts, c.Gap = Separate(jobs, func(i, j int) bool { return share[i][j] }, o.Budget)
	}
	if c.Separate != Yes {
		perimeter, err := circleOf(jobs)
		if err != nil {
			return err
		}
		n, err := sectors(jobs, perimeter, o.Angle)
		if err != nil {
			return err
		}
		b := newBoard(jobs, own, n, perimeter)
		all := make([]int, len(jobs))
		for i := range all {
			all[i] = i
		}
		b.optimise(all)
		starts = b.starts(jobs)
	}
	for i, j := range c.Jobs {
		p.Starts[j] = starts[i]
	}
	return nil
}

// edge is where a job begins or ends to send.
type edge struct {
	at   units.Duration
	rate units.Rate
}

// loadOf returns the score of a link with start offsets, exactly, and whether it carries all
// that its jobs send.
func loadOf(profiles []Profile, l *Link, starts []units.Duration, perimeter units.Duration) (score float64, carries bool) {
	over := 0.0
	overloads(profiles, l, starts, perimeter, func(r Range, excess units.Rate) {
		over += float64(excess) / float64(l.Capacity) * float64(r.Length())
	})
	over /= float64(perimeter)
	return 1 - over, over == 0
}

// Overloads returns where on its unified circle a link does not carry all that its jobs
// send: ascending, apart.
func Overloads(profiles []Profile, l *Link, starts []units.Duration, perimeter units.Duration) (all []Range) {
	overloads(profiles, l, starts, perimeter, func(r Range, _ units.Rate) {
		if n := len(all); n > 0 && all[n-1].To == r.From {
			all[n-1].To = r.To
			return
		}
		all = append(all, r)
	})
	return all
}

// overloads calls found for each part of the circle in which jobs send more than the link
// has, with how much more.
func overloads(profiles []Profile, l *Link, starts []units.Duration, perimeter units.Duration, found func(r Range, excess units.Rate)) {
	var edges []edge
	for _, j := range l.Jobs {
		for _, a := range Arcs(&profiles[j], starts[j], perimeter) {
			rate := cmp.Or(a.Rate, l.Capacity)
			end := a.End()
			if end > perimeter {
				edges = append(edges, edge{0, rate}, edge{end - perimeter, -rate})
				end = perimeter
			}
			edges = append(edges, edge{a.At, rate}, edge{end, -rate})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rate, b.rate)) })
	load, since := units.Rate(0), units.Duration(0)
	for _, e := range edges {
		if load > l.Capacity && e.at > since {
			found(Range{since, e.at}, load-l.Capacity)
		}
		load, since = load+e.rate, e.at
	}
}

// Arcs returns the bursts of a job with a start offset on a unified circle, ascending but for the turn, At in
// [0, perimeter). The last of them may end behind the perimeter, at the begin of the circle.
func Arcs(p *Profile, start, perimeter units.Duration) (all []Burst) {
	for base := units.Duration(0); base < perimeter; base += p.Period {
		for _, b := range p.Bursts {
			b.At = modulo(base+b.At+start, perimeter)
			all = append(all, b)
		}
	}
	return all
}
