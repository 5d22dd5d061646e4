package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// Options of New.
type Options struct {
	Capacity units.Rate // of links without one, and of an experiment; 0: see Links
	// Links without a rate have that of the fastest burst of their jobs. None: if the jobs are
	// of one experiment, each of them once, the ports of its fabric; else one that all share.
	Links []Link
	Grid  circle.GridOptions
	Angle float64 // see circle.PlanOptions
}

// Result is the answer. Times of JSON are in microseconds.
type Result struct {
	Compatible bool          `json:"compatible"` // every link carries all that its jobs send, with the start offsets
	Fits       string        `json:"fits"`       // whether any start offsets do so: yes, no or not known
	Separate   string        `json:"separate"`   // whether jobs that share a link can all keep apart: yes, no or not known
	Jobs       []JobResult   `json:"jobs"`
	Links      []LinkResult  `json:"links"`
	Loops      []LoopResult  `json:"loops"`
	Clusters   []ClusterView `json:"clusters"`
	Advice     []string      `json:"advice"` // in words
	// Rough: links in a loop carry different parts of what a job sends. Jobs count there for
	// more than they send, so that jobs may fit that are said not to.
	Rough bool `json:"rough,omitempty"`

	shared   []shared         // as Links
	fabric   bool             // shared is of an experiment
	profiles []circle.Profile // on the grid, with rates as scale sets them
	plan     *circle.Plan
	links    []circle.Link // likewise
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
	// Slot is set if the jobs of the cluster fit.
	Slot *Slot `json:"schedule,omitempty"`
	// Begin is the start of the job with which its first burst begins in its slot: jobs[].start
	// of an experiment.
	Begin *Exact `json:"start,omitempty"`

	Alone Microseconds `json:"aloneUs"`          // predicted time of an iteration, by workloads/fluid
	Fair  Microseconds `json:"fairUs,omitempty"` // likewise, with equal shares, when all start together; absent: see ClusterView.NotPredicted
	With  Microseconds `json:"withUs,omitempty"` // likewise, with the schedules if there are some, else with the start offsets alone
}

// LinkResult is what becomes of a link.
type LinkResult struct {
	Name     string       `json:"name"`
	Jobs     []string     `json:"jobs"`
	Gbps     float64      `json:"capacityGbps,omitempty"` // absent: no job says its rate
	Fits     string       `json:"fits"`                   // of this link alone
	Separate string       `json:"separate"`               // of this link alone
	Carries  bool         `json:"compatible"`             // with the start offsets
	Circle   Microseconds `json:"circleUs"`
	Zero     float64      `json:"scoreAtZero"` // scores are exact
	Best     float64      `json:"scoreAtBest"` // of the link alone
	Proven   bool         `json:"proven"`      // no start offsets are better
	With     float64      `json:"scoreWithStarts"`
	Sectors  *Sectors     `json:"sectors,omitempty"` // absent: no angle is given, and the answer needs none
	Gap      Microseconds `json:"gapUs"`             // at least, between bursts, with the best offsets of the link alone
}

// Sectors are the scores of the discretised circle of a link alone.
type Sectors struct {
	Angle  float64 `json:"angleDegrees"`
	Zero   float64 `json:"scoreAtZero"`
	Best   float64 `json:"scoreAtBest"`
	Proven bool    `json:"proven"` // no start offsets in whole sectors are better
}

// LoopResult is a loop of the affinity graph.
type LoopResult struct {
	Jobs  []string `json:"jobs"`
	Links []string `json:"links"`
}

// ClusterView is jobs that hang together by links.
type ClusterView struct {
	Jobs       []string     `json:"jobs"`
	Compatible bool         `json:"compatible"` // its links carry all that the jobs send, with the start offsets
	Fits       string       `json:"fits"`       // whether any start offsets do so
	Separate   string       `json:"separate"`   // whether its jobs can keep apart on all links at one time
	Gap        Microseconds `json:"gapUs"`      // at least, between bursts, with the start offsets, if they keep apart
	Method     string       `json:"method"`
	Step       Microseconds `json:"gridStepUs"`
	Circle     Microseconds `json:"circleUs"`        // of all its jobs
	Slack      float64      `json:"slack,omitempty"` // by which share schedules are longer than periods on the grid
	// NoSchedule and NotPredicted say why these are absent; "" if they are not.
	NoSchedule   string `json:"noSchedule,omitempty"`
	NotPredicted string `json:"notPredicted,omitempty"`
}

// New answers for jobs. An error is one of the input.
func New(jobs []Job, o Options) (*Result, error) {
	jobs = slices.Clone(jobs)
	r := &Result{Links: []LinkResult{}, Loops: []LoopResult{}, Advice: []string{}}
	if err := r.connect(jobs, &o); err != nil {
		return nil, err
	}
	given := make([]circle.Profile, len(jobs)) // as their links carry them
	for i := range jobs {
		given[i] = jobs[i].Profile
		if rate, ok := r.narrowest(i); ok {
			var err error
			if given[i], err = jobs[i].Through(rate); err != nil {
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
	r.scale()
	var err error
	if r.plan, err = circle.Solve(r.profiles, r.links, circle.PlanOptions{Angle: o.Angle}); err != nil {
		return nil, err
	}
	r.fill()
	for i := range r.plan.Clusters {
		r.schedule(&r.plan.Clusters[i], &r.Clusters[i], given, o.Angle)
	}
	for i := range r.plan.Clusters {
		r.predict(&r.plan.Clusters[i], &r.Clusters[i], jobs, given)
	}
	r.advise(jobs, given, o)
	return r, nil
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
	r.Compatible, r.Fits, r.Separate = p.Compatible(), p.Fits().String(), p.Separate().String()
	for i := range r.Jobs {
		r.Jobs[i].Start = Microseconds(p.Starts[i])
	}
	for i := range r.Links {
		l, f := &r.Links[i], &p.Links[i]
		l.Fits, l.Separate, l.Carries, l.Circle, l.Gap = f.Fits.String(), f.Separate.String(), f.Carries, Microseconds(f.Perimeter), Microseconds(f.Gap)
		l.Zero, l.Best, l.Proven, l.With = f.Zero, f.Best, f.Proven, f.With
		if c := f.Sectors; c != nil {
			l.Sectors = &Sectors{360 / float64(c.Sectors), c.Zero, c.Best, c.Proven}
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
		c, v := &p.Clusters[i], &r.Clusters[i]
		v.Compatible, v.Fits, v.Separate, v.Method, v.Gap = r.carries(c), c.Fits.String(), c.Separate.String(), c.Method.String(), Microseconds(c.Gap)
		if c.Method == circle.Traversal && c.Separate == circle.Yes {
			v.Gap = Microseconds(p.Links[c.Links[0]].Gap)
			for _, k := range c.Links {
				v.Gap = min(v.Gap, Microseconds(p.Links[k].Gap))
			}
		}
	}
}

// carries reports whether the links of a cluster carry all that its jobs send.
func (r *Result) carries(c *circle.Cluster) bool {
	return !slices.ContainsFunc(c.Links, func(k int) bool { return !r.plan.Links[k].Carries })
}
