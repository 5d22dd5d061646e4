package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// Link is a link that some of the jobs share.
type Link struct {
	Name     string
	Capacity units.Rate // 0: that of Options
	Jobs     []string
}

// ParseLink reads a link in one word: NAME[@RATE]=JOB,JOB….
func ParseLink(text string) (Link, error) {
	const want = "want NAME[@RATE]=JOB,JOB…, such as up@50Gbps=a,b"
	left, right, ok := strings.Cut(text, "=")
	l := Link{}
	name, rate, fast := strings.Cut(left, "@")
	if l.Name = strings.TrimSpace(name); !ok || l.Name == "" {
		return l, fmt.Errorf("%q: %s", text, want)
	}
	if !printable(l.Name) {
		return l, fmt.Errorf("%q: the name has characters that cannot be printed", text)
	}
	if fast {
		var err error
		if l.Capacity, err = units.ParseRate(rate); err != nil {
			return l, fmt.Errorf("%q: %w", text, err)
		}
		if l.Capacity <= 0 || l.Capacity > circle.MaxRate {
			return l, fmt.Errorf("%q: rate %v, want more than 0 and at most %v", text, l.Capacity, circle.MaxRate)
		}
	}
	for _, job := range strings.Split(right, ",") {
		job = strings.TrimSpace(job)
		switch {
		case job == "":
			return l, fmt.Errorf("%q: a name of a job is empty; %s", text, want)
		case slices.Contains(l.Jobs, job):
			return l, fmt.Errorf("%q: the job %q is there twice", text, job)
		}
		l.Jobs = append(l.Jobs, job)
	}
	return l, nil
}

// shared is a link as the jobs use it.
type shared struct {
	name     string
	capacity units.Rate // 0: not known
	jobs     []int
	// uses are, as jobs, what the link carries of what a job sends, as a multiple of it; more
	// than 0.
	uses []float64
}

// use returns what the link carries of a job, 0 of one that does not use it.
func (l *shared) use(job int) float64 {
	if k := slices.Index(l.jobs, job); k >= 0 {
		return l.uses[k]
	}
	return 0
}

// connect sets the links: those of the options, or those of the fabric that all jobs are of,
// or one for all.
func (r *Result) connect(jobs []Job, o *Options) error {
	names := make([]string, len(jobs))
	for i := range jobs {
		names[i] = jobs[i].Name
	}
	switch {
	case len(o.Links) > 0:
		for i, l := range o.Links {
			if slices.ContainsFunc(o.Links[:i], func(other Link) bool { return other.Name == l.Name }) {
				return fmt.Errorf("--link: %q is there twice", l.Name)
			}
			s := shared{name: l.Name, capacity: cmp.Or(l.Capacity, o.Capacity)}
			for _, name := range l.Jobs {
				at := slices.Index(names, name)
				if at < 0 {
					return fmt.Errorf("--link %s: no job %q%s; the jobs are %s", l.Name, name, spelling.Hint(spelling.Nearest(name, names)), strings.Join(names, ", "))
				}
				s.jobs, s.uses = append(s.jobs, at), append(s.uses, 1)
			}
			r.shared = append(r.shared, s)
		}
	case ofOneFabric(jobs):
		r.shared, r.fabric = fabricLinks(jobs, o.Capacity), true
	default:
		s := shared{name: "link", capacity: o.Capacity}
		for i := range jobs {
			s.jobs, s.uses = append(s.jobs, i), append(s.uses, 1)
		}
		r.shared = []shared{s}
	}
	r.settle(jobs)
	for i := range r.shared {
		l := &r.shared[i]
		result := LinkResult{Name: l.name, Gbps: float64(l.capacity) / float64(units.Gbps)}
		for _, j := range l.jobs {
			result.Jobs = append(result.Jobs, names[j])
		}
		r.Links = append(r.Links, result)
		r.links = append(r.links, circle.Link{Name: l.name, Jobs: l.jobs}) // scale sets the capacity
	}
	return nil
}

// settle gives rates to links and bursts that have none: a link has the rate of its fastest
// burst, a burst that of the slowest link of its job. What still has none afterwards hangs
// together by jobs and links of which none has a rate.
func (r *Result) settle(jobs []Job) {
	// way is the rate of a job's slowest link, 0 if that is not known.
	way := func(job int) (slowest units.Rate) {
		for i := range r.shared {
			if l := &r.shared[i]; l.capacity > 0 && slices.Contains(l.jobs, job) && (slowest == 0 || l.capacity < slowest) {
				slowest = l.capacity
			}
		}
		return slowest
	}
	for changed := true; changed; {
		fastest := make([]units.Rate, len(jobs))
		for j := range jobs {
			for _, b := range jobs[j].Bursts {
				fastest[j] = max(fastest[j], cmp.Or(b.Rate, way(j)))
			}
		}
		changed = false
		for i := range r.shared {
			l := &r.shared[i]
			if l.capacity > 0 {
				continue
			}
			for _, j := range l.jobs {
				l.capacity = max(l.capacity, fastest[j])
			}
			changed = changed || l.capacity > 0
		}
	}
	for j := range jobs {
		jobs[j].Bursts = slices.Clone(jobs[j].Bursts)
		for k := range jobs[j].Bursts {
			b := &jobs[j].Bursts[k]
			b.Rate = cmp.Or(b.Rate, way(j))
		}
	}
}

// unknown is the rate of links whose rate makes no difference: each burst takes all.
const unknown = units.Gbps

// narrowest returns at most how fast a job sends, by its links, and false if it has none
// with a rate.
func (r *Result) narrowest(job int) (units.Rate, bool) {
	least := math.Inf(1)
	for i := range r.shared {
		if l := &r.shared[i]; l.capacity > 0 && slices.Contains(l.jobs, job) {
			least = min(least, float64(l.capacity)/l.use(job))
		}
	}
	return units.Rate(min(least, float64(circle.MaxRate))), !math.IsInf(least, 1)
}

// scale sets the capacities of the links, and the rates of the profiles, for workloads/circle, where a job
// sends the same through each of its links. A job's rates are multiplied by a factor, and so
// are the capacities of links, until each link carries of its jobs what these send. In an
// affinity graph without a loop there are such factors. In a loop there may be none; jobs
// count for more than they send then, and Rough is true.
func (r *Result) scale() {
	jobs, links := make([]float64, len(r.profiles)), make([]float64, len(r.shared)) // use = job * link
	for first := range jobs {
		if jobs[first] > 0 {
			continue
		}
		jobs[first] = 1
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			for i := range r.shared {
				l := &r.shared[i]
				if links[i] > 0 || l.use(queue[0]) == 0 {
					continue
				}
				links[i] = l.use(queue[0]) / jobs[queue[0]]
				for k, j := range l.jobs {
					if jobs[j] == 0 {
						jobs[j] = l.uses[k] / links[i]
						queue = append(queue, j)
					}
				}
			}
		}
	}
	for i := range r.shared {
		l := &r.shared[i]
		for k, j := range l.jobs {
			if want := l.uses[k] / jobs[j]; !near(want, links[i]) {
				r.Rough = true
				links[i] = max(links[i], want)
			}
		}
		r.links[i].Capacity = units.Rate(math.Ceil(float64(cmp.Or(l.capacity, unknown)) / links[i]))
	}
	for j := range r.profiles {
		least := units.Rate(circle.MaxRate)
		for _, l := range r.links {
			if slices.Contains(l.Jobs, j) {
				least = min(least, l.Capacity)
			}
		}
		p := &r.profiles[j]
		p.Bursts = slices.Clone(p.Bursts)
		for k := range p.Bursts {
			b := &p.Bursts[k]
			if b.Rate = units.Rate(float64(b.Rate) * jobs[j]); b.Rate > least {
				b.Rate = least
				if r.Rough {
					b.Rate = 0 // all that any of its links has
				}
			}
		}
	}
}

// near reports whether two shares are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(a, b) }
