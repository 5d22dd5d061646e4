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

// Names of what the plan predicts of jobs.
const (
	iterationAlone = "iteration_alone_us"
	iterationFluid = "iteration_fluid_us"
)

// Prediction is what follows from the plan alone about the iterations of a job of kind
// profile: its times with the network for itself, and under ideal sharing by
// workloads/fluid (docs/jobs.md).
type Prediction struct {
	Compute       units.Duration // of an iteration; with Beside, the part before the communication
	Beside        units.Duration // of computing beside the communication
	Communication units.Duration // with the network for itself
	Alone         units.Duration // an iteration
	NoAlone       string         // why all of these are 0; "" if they are not

	// Fair and Fluid are the medians of the iterations with equal shares of the links, and
	// under the variant's law.
	Fair, Fluid units.Duration
	Law         string // in words, such as "adaptive: weights 1 + sent/total"
	NoFluid     string // why Fair and Fluid are 0; "" if they are not
}

// most are the iterations of a job that are predicted at most.
const most = 2000

// Predict returns what the plan predicts of each of its jobs, as Plan.Jobs.
func Predict(p *plan.Plan) []Prediction {
	if len(p.Jobs) == 0 {
		return nil
	}
	parts := playerJobs(p)
	var demands []plan.Demand // of many connections if jobs are large
	if slices.ContainsFunc(parts, func(j *player.Job) bool { return j != nil && profileOf(j) != nil }) {
		demands = p.Demands()
	} else {
		demands = make([]plan.Demand, len(p.Jobs))
	}
	all := make([]Prediction, len(p.Jobs))
	jobs := make([]fluid.Job, len(p.Jobs))
	lacks := ""
	for i := range all {
		one := &all[i]
		if one.NoAlone = one.alone(p, i, &demands[i], parts[i]); one.NoAlone != "" {
			lacks = cmp.Or(lacks, fmt.Sprintf("job %s: %s", p.Jobs[i].Name, one.NoAlone))
			continue
		}
		source := profileOf(parts[i])
		jobs[i] = fluid.Job{
			Compute: one.Compute, Beside: one.Beside, Communicate: one.Communication,
			Offset: p.Jobs[i].Start.Sub(0), Iterations: min(p.Jobs[i].Steps, most), Schedule: parts[i].Schedule,
			Jitter: source.Config.Jitter, Seed: parts[i].Seed, Ranks: source.Config.Ranks,
		}
	}
	switch {
	case lacks != "":
	case len(p.Faults) > 0:
		lacks = "faults change the links"
	case p.Completing() > 0 || len(p.Pairs) > 0:
		lacks = "other traffic than that of jobs shares the links"
	default:
		lacks = predictShared(p, demands, jobs, all)
	}
	if lacks != "" {
		for i := range all {
			all[i].NoFluid = lacks
		}
	}
	return all
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

// alone fills in the times of a job with the network for itself, or returns why there are
// none.
func (o *Prediction) alone(p *plan.Plan, job int, d *plan.Demand, part *player.Job) string {
	if part == nil {
		return "no host plays it"
	}
	source := profileOf(part)
	switch {
	case source == nil:
		return "it is not of kind profile"
	case d.Ambiguous != "":
		return fmt.Sprintf("connection %s has several ways", d.Ambiguous)
	case len(d.Ports) == 0:
		return "it sends nothing through the fabric"
	}
	var least float64 // ps that the narrowest port takes
	for i := range d.Ports {
		least = max(least, lineTime(&d.Ports[i]))
	}
	c := source.Config
	o.Compute, o.Beside = c.Computes()
	o.Communication = units.Duration(math.Round(least))
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
			o.Communication = timeline.End.Sub(0)
		}
	}
	j := fluid.Job{Compute: o.Compute, Beside: o.Beside, Communicate: o.Communication}
	o.Alone = j.Alone()
	return ""
}

// mostIdeal is how many operations of a collective are played at most.
const mostIdeal = 1 << 18

// predictShared predicts the iterations of the jobs that share links, or returns why it does not.
func predictShared(p *plan.Plan, demands []plan.Demand, jobs []fluid.Job, all []Prediction) string {
	law, lacks := lawOf(p, jobs)
	if lacks != "" {
		return lacks
	}
	links, connections := connect(demands, jobs)
	fair := slices.Clone(jobs)
	for i := range fair {
		fair[i].Weight, fair[i].Priority, fair[i].Schedule = connections[i], 0, graph.Schedule{}
		jobs[i].Weight = law.weights[i]
		if !law.byClass {
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
		r, err := n.Solve(most)
		if err != nil {
			return err.Error()
		}
		for i := range r {
			*round.to(&all[i]) = median(r[i], p.End)
		}
	}
	for i := range all {
		all[i].Law = law.words
	}
	return ""
}

// median returns that of the times of iterations that end before a time, 0 without any.
func median(all []fluid.Iteration, end units.Time) units.Duration {
	var times []float64
	for i := range all {
		if all[i].End <= end {
			times = append(times, float64(all[i].Time()))
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return units.Duration(math.Round(percentile(0.5)(times)))
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

// predictionNames declares the metrics of predictions. Jobs without one say why.
func predictionNames(s *Subjects) []Family {
	all := Predict(s.Plan)
	if len(all) == 0 {
		return []Family{{Parts: []*Part{Words(iterationAlone, iterationFluid), AnyWord()}, Lacks: lacksJobs}}
	}
	var families []Family
	for i := range all {
		name := Words(s.Plan.Jobs[i].Name)
		families = append(families,
			Family{Parts: []*Part{Words(iterationAlone), name}, Lacks: all[i].NoAlone},
			Family{Parts: []*Part{Words(iterationFluid), name}, Lacks: all[i].NoFluid})
	}
	return families
}

// addPredictions adds what the plan predicts of jobs.
func addPredictions(e *emitter, p *plan.Plan) {
	all := Predict(p)
	for i := range all {
		name := p.Jobs[i].Name
		if all[i].NoAlone == "" {
			e.of(iterationAlone, name, all[i].Alone.Microseconds(), OfRun)
		}
		if all[i].NoFluid == "" && all[i].Fluid > 0 {
			e.of(iterationFluid, name, all[i].Fluid.Microseconds(), OfRun)
		}
	}
}
