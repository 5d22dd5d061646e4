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
	Fits        Answer         // whether start offsets exist with which its links carry all
	Gap         units.Duration // between bursts, if Separate is Yes and the method Joint
}

// LinkFit is what jobs are to a link. That of a link with one job is 1 all over. Scores are
// exact, without sectors: 1 if the link carries all that the jobs send, and less by the share
// of its capacity that they want more; they can be negative.
type LinkFit struct {
	Separate   Answer         // whether its jobs can keep apart, were there no other link
	Fits       Answer         // whether start offsets exist with which it carries all, likewise
	Gap        units.Duration // between their bursts, if they can keep apart
	Perimeter  units.Duration // of its unified circle
	Zero, Best float64        // when all start together; with the best start offsets found, of the link alone
	Proven     bool           // no start offsets are better than Best
	With       float64        // the score with the start offsets of the plan; at most Best
	Carries    bool           // with these, the link carries all that the jobs send
	// Sectors is the score of the discretised circle; nil if no angle is given and the answer
	// needs none.
	Sectors *Scored
	starts  []units.Duration
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
		all = worse(all, c.Separate)
	}
	return all
}

// Fits returns whether start offsets exist with which every link carries all that its jobs
// send. It is Yes if the plan is Compatible.
func (p *Plan) Fits() Answer {
	all := Yes
	for _, c := range p.Clusters {
		all = worse(all, c.Fits)
	}
	return all
}

// maxJobs is how many jobs Solve takes.
const maxJobs = 500

// maxArcs bounds the bursts on a unified circle.
const maxArcs = 5_000_000

func checkLinks(profiles []Profile, links []Link) error {
	if len(profiles) == 0 {
		return fmt.Errorf("circle: no profiles")
	}
	if len(profiles) > maxJobs {
		return fmt.Errorf("circle: %d jobs, want at most %d", len(profiles), maxJobs)
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
		edges = append(edges, edgesOf(&profiles[j], starts[j], perimeter, l.Capacity)...)
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

// edgesOf returns where a job begins and ends to send on a unified circle, in [0, perimeter].
func edgesOf(p *Profile, start, perimeter units.Duration, capacity units.Rate) (edges []edge) {
	for _, a := range Arcs(p, start, perimeter) {
		rate, end := cmp.Or(a.Rate, capacity), a.End()
		if end > perimeter {
			edges = append(edges, edge{0, rate}, edge{end - perimeter, -rate})
			end = perimeter
		}
		edges = append(edges, edge{a.At, rate}, edge{end, -rate})
	}
	return edges
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
