package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/fluid"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/training"
)

// predictedMetrics are what the plan predicts of jobs.
var predictedMetrics = Group{Title: "Predictions", Of: "predictions", Entries: []*Entry{iterationAlone, iterationFluid}}

var (
	iterationAlone = predicted(func(p *Prediction) string { return p.NoAlone },
		Entry{Form: "iteration_alone_us.<job>", Doc: "predicted by the plan, for jobs of kind profile: an iteration with the network for itself, compute and then the communication through the narrowest port of its ways, with headers"})
	iterationFluid = predicted(func(p *Prediction) string { return p.NoFluid },
		Entry{Form: "iteration_fluid_us.<job>", Absent: "the run, or the part of it at which the fluid model looks, ends before the first iteration that the model predicts",
			Doc: "predicted by the plan: the mean of the second half of the iterations by the [fluid model](../how-to/jobs.md#what-the-fluid-model-predicts), as `iteration_settled_us` is of the run, under the variant's congestion control, classes and schedules"})
)

// predicted completes the entry of a prediction, which jobs lack for some reason.
func predicted(lacks func(*Prediction) string, m Entry) *Entry {
	each := func(s *subjects) (has []string, hasNot []lacking) {
		if len(s.Plan.Jobs) == 0 {
			return nil, nil
		}
		all := s.predictions()
		for i := range all {
			if why := lacks(&all[i]); why == "" {
				has = append(has, s.Plan.Jobs[i].Name)
			} else {
				hasNot = append(hasNot, lacking{s.Plan.Jobs[i].Name, why})
			}
		}
		return has, hasNot
	}
	m.Needs = ofJobs
	m.Words = []*words{{of: func(s *subjects) []string { has, _ := each(s); return has }}}
	m.Lacking = func(s *subjects) []lacking { _, hasNot := each(s); return hasNot }
	return &m
}

// Prediction is what follows from the plan alone about the iterations of a job of kind
// profile: its times with the network for itself, and under ideal sharing by
// workloads/fluid (docs/how-to/jobs.md).
type Prediction struct {
	Compute       units.Duration // of an iteration; with Beside, the part before the communication
	Beside        units.Duration // of computing beside the communication
	Communication units.Duration // with the network for itself
	Alone         units.Duration // an iteration
	NoAlone       string         // why all of these are 0; "" if they are not

	// Fair and Fluid are the means of the second half of the iterations with equal shares of
	// the links, and under the variant's law, as iteration_settled_us is of the run's.
	Fair, Fluid units.Duration
	Law         string // in words, such as "adaptive: weights 1 + sent/total"
	// Weight * (Intercept + Slope * sent/total) is the job's share of a link against those of
	// the others. Strict: the law has priorities.
	Weight, Intercept, Slope float64
	Strict                   bool
	NoFluid                  string // why Fair and Fluid are 0; "" if they are not
}

// Limits of what is predicted. The bound of fluid.Network.Run is beside them; together they
// keep a prediction at about a second.
const (
	mostIterations = 2000    // of a job
	mostJobs       = 32      // that share links
	mostIdeal      = 1 << 18 // operations of a collective
)

// Predict returns what the plan predicts of each of its jobs, as Plan.Jobs.
func Predict(p *plan.Plan) []Prediction {
	if len(p.Jobs) == 0 {
		return nil
	}
	o := newOutlook(p)
	jobs := make([]fluid.Job, len(p.Jobs))
	for i := range o.all {
		if o.all[i].NoAlone == "" {
			jobs[i] = o.alone(i)
		}
	}
	if o.all[0].NoFluid == "" {
		for i := range jobs {
			jobs[i].Iterations = p.Jobs[i].Steps
			jobs[i].Priority = o.law.priorities[i]
		}
		o.shared(jobs)
	}
	return o.all
}

// outlook is what can be predicted of the jobs of a plan.
type outlook struct {
	plan    *plan.Plan
	demands []plan.Demand // by job, as all
	parts   []*player.Job // that one of its hosts plays
	all     []Prediction  // with reasons where there are none, and no times
	law     law           // if the first of all has no NoFluid, which they have in common
}

func newOutlook(p *plan.Plan) *outlook {
	o := &outlook{plan: p, parts: playerJobs(p), all: make([]Prediction, len(p.Jobs)), demands: make([]plan.Demand, len(p.Jobs))}
	if slices.ContainsFunc(o.parts, func(j *player.Job) bool { return j != nil && profileOf(j) != nil }) {
		o.demands = p.Demands() // of many connections if jobs are large
	}
	lacks := ""
	for i, part := range o.parts {
		d, one := &o.demands[i], &o.all[i]
		switch {
		case part == nil:
			one.NoAlone = "no host plays it"
		case profileOf(part) == nil:
			one.NoAlone = "it is not of kind profile"
		case d.Ambiguous != "":
			one.NoAlone = fmt.Sprintf("connection %s has several ways", d.Ambiguous)
		case len(d.Ports) == 0:
			one.NoAlone = "it sends nothing through the fabric"
		default:
			continue
		}
		lacks = cmp.Or(lacks, fmt.Sprintf("job %s: %s", p.Jobs[i].Name, one.NoAlone))
	}
	switch {
	case lacks != "":
	case len(p.Jobs) > mostJobs:
		lacks = fmt.Sprintf("%d jobs are more than the %d that are predicted", len(p.Jobs), mostJobs)
	case len(p.Faults) > 0:
		lacks = "faults change the links"
	case p.Completing() > 0 || len(p.Pairs) > 0:
		lacks = "other traffic than that of jobs shares the links"
	default:
		o.law, lacks = lawOf(p)
	}
	for i := range o.all {
		if lacks == "" {
			if why := variesByPair(&profileOf(o.parts[i]).Config); why != "" {
				lacks = fmt.Sprintf("job %s: %s", p.Jobs[i].Name, why)
			}
		}
	}
	for i := range o.all {
		o.all[i].NoFluid = lacks
	}
	return o
}

// variesByPair returns why the iterations of a job with pairs are not those of its first
// sender. A sender goes on as soon as its message is sent: it waits for no other rank.
func variesByPair(c *training.Profile) string {
	if !c.Pairs {
		return ""
	}
	varies, receivers := c.Jitter.Variation > 0, false
	for _, s := range c.Jitter.Stragglers {
		varies, receivers = true, receivers || s.Rank >= c.Ranks/2
	}
	for _, p := range c.Jitter.Pauses {
		varies, receivers = true, receivers || p.Rank >= c.Ranks/2
	}
	switch {
	case varies && c.Ranks > 2:
		return "compute times vary from pair to pair, and each pair goes on by itself"
	case receivers:
		return "a receiver computes longer, and its sender does not wait for it"
	}
	return ""
}

// playerJobs returns the part of each job that one of its hosts plays.
func playerJobs(p *plan.Plan) []*player.Job {
	parts := make([]*player.Job, len(p.Jobs))
	for h := range p.Hosts() {
		if c := p.Nodes[h].Host; c != nil {
			for i := range c.Player.Jobs {
				j := &c.Player.Jobs[i]
				parts[j.Job] = j
			}
		}
	}
	return parts
}

// profileOf returns the programs of a job of kind profile, nil of another one.
func profileOf(j *player.Job) *training.ProfileSource {
	source, _ := j.Source.(*training.ProfileSource)
	return source
}

// alone fills in the times of a job with the network for itself, and returns the job for
// the fluid model.
func (o *outlook) alone(job int) fluid.Job {
	p, d, one := o.plan, &o.demands[job], &o.all[job]
	var least float64 // ps that the narrowest port takes
	for i := range d.Ports {
		least = max(least, lineTime(&d.Ports[i]))
	}
	c := profileOf(o.parts[job]).Config
	j := fluid.Job{
		Offset: p.Jobs[job].Start.Sub(0), Schedule: o.parts[job].Schedule, Jitter: c.Jitter, Seed: o.parts[job].Seed, Ranks: c.Ranks,
		Communicate: units.Duration(math.Round(least)),
	}
	if c.Pairs && c.Ranks == 2 {
		j.Ranks = 1 // the sender, which waits for nobody (see variesByPair)
	}
	j.Compute, j.Beside = c.Computes()
	if !d.Within {
		// The collective as it is, over links whose rate is what that leaves each rank.
		var bytes float64 // that the rank sends which sends most, in a step
		sent := map[int32]float64{}
		for i := range p.Flows[:p.Transfers] {
			if f := &p.Flows[i]; f.Messages > 0 && int(f.Job) == job {
				sent[f.SrcRank] += float64(f.Size) / float64(p.Jobs[job].Steps)
				bytes = max(bytes, sent[f.SrcRank])
			}
		}
		c.Compute, c.Overlap, c.Steps, c.Held, c.Jitter = 0, 0, 1, false, jitter.Config{}
		timeline, err := graph.Ideal(&training.ProfileSource{Config: c}, 0, graph.Link{
			Rate: units.Rate(math.Round(bytes * 8 / least * float64(units.Second))), Latency: d.Latency, Most: mostIdeal,
		})
		if err == nil { // or there are too many messages
			j.Communicate = timeline.End.Sub(0)
		}
	}
	one.Compute, one.Beside, one.Communication, one.Alone = j.Compute, j.Beside, j.Communicate, j.Alone()
	return j
}

// shared predicts the iterations of the jobs, which share links.
func (o *outlook) shared(jobs []fluid.Job) {
	p, all, law := o.plan, o.all, &o.law
	links, connections := connect(o.demands, jobs)
	fair := slices.Clone(jobs)
	for i := range fair {
		fair[i].Weight, fair[i].Priority, fair[i].Schedule = connections[i], 0, graph.Schedule{}
		jobs[i].Weight = law.weights[i]
		if !law.byClass[i] {
			jobs[i].Weight *= connections[i]
		}
	}
	for _, round := range []struct {
		jobs    []fluid.Job
		sharing fluid.Sharing
		to      func(*Prediction) *units.Duration
	}{
		{fair, fluid.Weighted, func(o *Prediction) *units.Duration { return &o.Fair }},
		{jobs, law.sharing, func(o *Prediction) *units.Duration { return &o.Fluid }},
	} {
		spread(round.jobs, &round.sharing)
		n := fluid.Network{Links: links, Jobs: round.jobs, Sharing: round.sharing}
		r, err := n.Run(mostIterations, p.End)
		if err != nil {
			for i := range all {
				all[i].NoFluid = err.Error()
			}
			return
		}
		for i := range r {
			*round.to(&all[i]) = settled(r[i], p.End)
		}
	}
	for i := range all {
		o := &all[i]
		o.Law, o.Weight, o.Intercept, o.Slope, o.Strict = law.words, jobs[i].Weight, law.sharing.Intercept, law.sharing.Slope, law.sharing.Strict
	}
}

// settled returns the mean time of the second half of the iterations that end before a time,
// 0 without any.
func settled(all []fluid.Iteration, end units.Time) units.Duration {
	var times []float64
	for i := range all {
		if all[i].End <= end {
			times = append(times, float64(all[i].Time()))
		}
	}
	if len(times) == 0 {
		return 0
	}
	return units.Duration(math.Round(mean(times[len(times)/2:])))
}

// spread sets jobs apart a little that would never part in the model, because they are
// equal and begin together: nothing of the kind lasts among packets. Each begins a
// thousandth of its communication after the one before it, as in the published oracles.
func spread(jobs []fluid.Job, s *fluid.Sharing) {
	if s.Slope == 0 && s.Low == 0 {
		return
	}
	for i := range jobs {
		if jobs[i].Jitter.Variation == 0 {
			jobs[i].Offset += units.Duration(i) * (jobs[i].Communicate / 1000)
		}
	}
}

// addPredictions adds what the plan predicts of jobs.
func addPredictions(e *emitter, p *plan.Plan) {
	all := Predict(p)
	for i := range all {
		name := p.Jobs[i].Name
		if all[i].NoAlone == "" {
			e.set(iterationAlone, all[i].Alone.Microseconds(), name)
		}
		if all[i].NoFluid == "" && all[i].Fluid > 0 {
			e.set(iterationFluid, all[i].Fluid.Microseconds(), name)
		}
	}
}
