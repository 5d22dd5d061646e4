package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
	"github.com/csiglab/csiglab/workloads/fluid"
	"github.com/csiglab/csiglab/workloads/graph"
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

// Options of New.
type Options struct {
	Capacity units.Rate // of links without one; 0: the fastest burst of the link's jobs
	Links    []Link     // none: one that all jobs share
	Grid     circle.GridOptions
	Angle    float64 // see circle.Score
}

// Result is the answer. Times of JSON are in microseconds.
type Result struct {
	Compatible bool          `json:"compatible"` // every link carries all that its jobs send, with the start offsets
	Separate   string        `json:"separate"`   // whether jobs that share a link can all keep apart: yes, no or not known
	Jobs       []JobResult   `json:"jobs"`
	Links      []LinkResult  `json:"links"`
	Loops      []LoopResult  `json:"loops"`
	Clusters   []ClusterView `json:"clusters"`
	Advice     []string      `json:"advice"` // in words

	profiles []circle.Profile // on the grid
	plan     *circle.Plan
	links    []circle.Link
}

// JobResult is what a job gets.
type JobResult struct {
	Name   string `json:"name"`
	Source string `json:"source"`

	Period      Microseconds `json:"periodUs"`      // as given, or longer if its links are slower than its bursts
	Compute     Microseconds `json:"computeUs"`     // of a period
	Communicate Microseconds `json:"communicateUs"` // of a period
	Stretched   bool         `json:"stretched"`     // by slower links

	Grid  Microseconds `json:"gridPeriodUs"` // the period on the common grid
	Cost  float64      `json:"gridCost"`     // what that adds to the period, as a share of it
	Grown Microseconds `json:"gridBurstsUs"` // what it adds to the bursts

	Start Microseconds `json:"startUs"` // offset of the begin of a period behind that of the cluster's first job
	// Slot is the schedule of the job's first burst, for jobs[].schedule of an experiment.
	Slot *Slot `json:"schedule,omitempty"`

	Alone Microseconds `json:"aloneUs"` // predicted time of an iteration, by workloads/fluid
	Fair  Microseconds `json:"fairUs"`  // likewise, with equal shares, when all start together
	With  Microseconds `json:"withUs"`  // likewise, with the start offsets, kept by schedules if compatible
}

// Slot is a schedule: Offset + k*Period.
type Slot struct {
	Period Microseconds `json:"periodUs"`
	Offset Microseconds `json:"offsetUs"`
}

// LinkResult is what becomes of a link.
type LinkResult struct {
	Name     string       `json:"name"`
	Jobs     []string     `json:"jobs"`
	Gbps     float64      `json:"capacityGbps,omitempty"` // absent: no job says its rate
	Separate string       `json:"separate"`               // of this link alone
	Carries  bool         `json:"compatible"`             // with the start offsets
	Circle   Microseconds `json:"circleUs"`
	Angle    float64      `json:"angleDegrees"` // of a sector of Zero and Best
	Zero     float64      `json:"scoreAtZero"`
	Best     float64      `json:"scoreAtBest"` // of the link alone
	Proven   bool         `json:"proven"`      // no start offsets in whole sectors are better
	With     float64      `json:"scoreWithStarts"`
	Gap      Microseconds `json:"gapUs"` // at least, between bursts, with the best offsets of the link alone
}

// LoopResult is a loop of the affinity graph.
type LoopResult struct {
	Jobs  []string `json:"jobs"`
	Links []string `json:"links"`
}

// ClusterView is jobs that hang together.
type ClusterView struct {
	Jobs   []string     `json:"jobs"`
	Method string       `json:"method"`
	Step   Microseconds `json:"gridStepUs"`
	Circle Microseconds `json:"circleUs"` // of all its jobs
}

// New answers for jobs. An error is one of the input.
func New(jobs []Job, o Options) (*Result, error) {
	r := &Result{Loops: []LoopResult{}}
	capacities, err := r.connect(jobs, &o)
	if err != nil {
		return nil, err
	}
	given := make([]circle.Profile, len(jobs)) // as their links carry them
	for i := range jobs {
		given[i] = jobs[i].Profile
		if c := capacities[i]; c > 0 {
			if given[i], err = jobs[i].Through(c); err != nil {
				return nil, err
			}
		}
		r.Jobs = append(r.Jobs, JobResult{
			Name: jobs[i].Name, Source: jobs[i].Source, Period: Microseconds(given[i].Period), Compute: Microseconds(given[i].Compute()),
			Communicate: Microseconds(given[i].Communicate()), Stretched: given[i].Period != jobs[i].Period,
		})
	}
	if err := r.align(given, o.Grid); err != nil {
		return nil, err
	}
	if r.plan, err = circle.Solve(r.profiles, r.links, circle.PlanOptions{Angle: o.Angle}); err != nil {
		return nil, err
	}
	r.fill()
	if err := r.predict(given); err != nil {
		return nil, err
	}
	r.Advice = r.advice(given, o)
	return r, nil
}

// connect sets the links, and returns the capacity of each job's narrowest link, 0 for a job
// without.
func (r *Result) connect(jobs []Job, o *Options) ([]units.Rate, error) {
	names := make([]string, len(jobs))
	for i := range jobs {
		names[i] = jobs[i].Name
	}
	links := o.Links
	if len(links) == 0 {
		links = []Link{{Name: "link", Jobs: names}}
	}
	narrowest := make([]units.Rate, len(jobs))
	for i, l := range links {
		if slices.ContainsFunc(links[:i], func(other Link) bool { return other.Name == l.Name }) {
			return nil, fmt.Errorf("--link: %q is there twice", l.Name)
		}
		of := circle.Link{Name: l.Name, Capacity: cmp.Or(l.Capacity, o.Capacity)}
		fastest := units.Rate(0)
		for _, name := range l.Jobs {
			at := slices.Index(names, name)
			if at < 0 {
				return nil, fmt.Errorf("--link %s: no job %q%s; the jobs are %s", l.Name, name, spelling.Hint(spelling.Nearest(name, names)), strings.Join(names, ", "))
			}
			of.Jobs = append(of.Jobs, at)
			for _, b := range jobs[at].Bursts {
				fastest = max(fastest, b.Rate)
			}
		}
		result := LinkResult{Name: l.Name, Jobs: l.Jobs}
		if of.Capacity = cmp.Or(of.Capacity, fastest); of.Capacity > 0 {
			result.Gbps = float64(of.Capacity) / float64(units.Gbps)
		} else {
			of.Capacity = units.Gbps // any: each burst takes what the link has
		}
		for _, at := range of.Jobs {
			if narrowest[at] == 0 || of.Capacity < narrowest[at] {
				narrowest[at] = of.Capacity
			}
		}
		r.links, r.Links = append(r.links, of), append(r.Links, result)
	}
	return narrowest, nil
}

// align rounds the profiles of each cluster to a common grid.
func (r *Result) align(given []circle.Profile, o circle.GridOptions) error {
	r.profiles = make([]circle.Profile, len(given))
	for _, cluster := range circle.Clusters(len(given), r.links) {
		some := make([]circle.Profile, len(cluster))
		for i, j := range cluster {
			some[i] = given[j]
		}
		aligned, grid, err := circle.Align(some, o)
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(r.names(cluster), ", "), err)
		}
		for i, j := range cluster {
			c := grid.Changes[i]
			r.profiles[j] = aligned[i]
			r.Jobs[j].Grid, r.Jobs[j].Cost, r.Jobs[j].Grown = Microseconds(c.After), c.Share(), Microseconds(c.Communicate)
		}
		r.Clusters = append(r.Clusters, ClusterView{Jobs: r.names(cluster), Step: Microseconds(grid.Step), Circle: Microseconds(grid.Perimeter)})
	}
	return nil
}

func (r *Result) names(jobs []int) []string {
	all := make([]string, len(jobs))
	for i, j := range jobs {
		all[i] = r.Jobs[j].Name
	}
	return all
}

// fill sets what the plan says.
func (r *Result) fill() {
	p := r.plan
	r.Compatible, r.Separate = p.Compatible(), p.Separate().String()
	for i := range r.Jobs {
		r.Jobs[i].Start = Microseconds(p.Starts[i])
		if p.Compatible() {
			period := r.profiles[i].Period
			r.Jobs[i].Slot = &Slot{Microseconds(period), Microseconds((p.Starts[i] + r.profiles[i].Bursts[0].At) % period)}
		}
	}
	for i := range r.Links {
		l, f := &r.Links[i], &p.Links[i]
		l.Separate, l.Carries, l.Circle, l.Gap = f.Separate.String(), f.Carries, Microseconds(f.Perimeter), Microseconds(f.Gap)
		l.Zero, l.Best, l.Proven, l.With = f.Zero, f.Best, f.Proven, f.With
		if f.Sectors > 0 {
			l.Angle = 360 / float64(f.Sectors)
		}
	}
	for _, l := range p.Loops {
		loop := LoopResult{Jobs: r.names(l.Jobs)}
		for _, k := range l.Links {
			loop.Links = append(loop.Links, r.links[k].Name)
		}
		r.Loops = append(r.Loops, loop)
	}
	for i := range r.Clusters {
		r.Clusters[i].Method = p.Clusters[i].Method.String()
	}
}

// iterations are how many of each job are predicted; the latter half of them counts.
const iterations = 120

// predict sets the times of iterations.
func (r *Result) predict(given []circle.Profile) error {
	capacities := make([]float64, len(r.links))
	for i, l := range r.links {
		capacities[i] = float64(l.Capacity)
	}
	for _, c := range r.plan.Clusters {
		fair := make([]fluid.Job, len(c.Jobs))
		for i, j := range c.Jobs {
			narrowest := units.Rate(circle.MaxRate)
			for k, l := range r.links {
				if slices.Contains(l.Jobs, j) {
					narrowest = min(narrowest, l.Capacity)
					fair[i].Links = append(fair[i].Links, k)
				}
			}
			links := fair[i].Links
			fair[i] = fluid.NewJob(&given[j], narrowest)
			fair[i].Links = links
			r.Jobs[j].Alone = Microseconds(fair[i].Alone())
		}
		if len(c.Links) == 0 {
			for _, j := range c.Jobs {
				r.Jobs[j].Fair, r.Jobs[j].With = r.Jobs[j].Alone, r.Jobs[j].Alone
			}
			continue
		}
		with := slices.Clone(fair)
		for i, j := range c.Jobs {
			with[i].Offset = r.plan.Starts[j]
			if s := r.Jobs[j].Slot; s != nil {
				period := units.Duration(s.Period)
				with[i].Schedule = graph.Schedule{Period: period, Offset: units.Duration(s.Offset), Correction: period / 2}
			}
		}
		for k, jobs := range [][]fluid.Job{fair, with} {
			n := fluid.Network{Links: capacities, Jobs: jobs, Sharing: fluid.Weighted}
			result, err := n.Solve(iterations)
			if err != nil {
				return err
			}
			for i, j := range c.Jobs {
				mean := Microseconds(result.Mean(i, len(result[i])/2))
				if k == 0 {
					r.Jobs[j].Fair = mean
				} else {
					r.Jobs[j].With = mean
				}
			}
		}
	}
	return nil
}
