package fit

import (
	"cmp"
	"fmt"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
	"github.com/csiglab/csiglab/workloads/fluid"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Of each job so many iterations are predicted at most, and at least; the latter half of them
// counts. The jobs of a cluster make mostOfAll together.
const (
	mostIterations   = 120
	fewestIterations = 8
	mostOfAll        = 50_000
)

// predict sets the times of iterations of a cluster.
func (r *Result) predict(c *circle.Cluster, v *ClusterView, jobs []Job, given []circle.Profile) {
	capacities := make([]float64, len(r.shared))
	for i := range r.shared {
		capacities[i] = float64(cmp.Or(r.shared[i].capacity, unknown))
	}
	fair := make([]fluid.Job, len(c.Jobs))
	longest := units.Duration(0)
	for i, j := range c.Jobs {
		rate, ok := r.narrowest(j)
		if !ok {
			rate = circle.MaxRate // no burst has a rate that could be more
		}
		fair[i] = fluid.NewJob(&given[j], rate)
		fair[i].Weight = jobs[j].connections()
		for k := range r.shared {
			if use := r.shared[k].use(j); use > 0 {
				fair[i].Links, fair[i].Use = append(fair[i].Links, k), append(fair[i].Use, use)
			}
		}
		r.Jobs[j].Alone = Microseconds(fair[i].Alone())
		r.Jobs[j].Fair, r.Jobs[j].With = r.Jobs[j].Alone, r.Jobs[j].Alone
		longest = max(longest, given[j].Period)
	}
	if len(c.Links) == 0 {
		return
	}
	of := 0.0 // iterations of all jobs while the slowest makes one
	for _, j := range c.Jobs {
		of += float64(longest) / float64(given[j].Period)
	}
	iterations := min(mostIterations, int(mostOfAll/of))
	unpredicted := func(why string) {
		v.NotPredicted = why
		for _, j := range c.Jobs {
			r.Jobs[j].Fair, r.Jobs[j].With = 0, 0
		}
	}
	if iterations < fewestIterations {
		unpredicted(fmt.Sprintf("together they make %.0f while the slowest job makes one, more than %d", of, mostOfAll/fewestIterations))
		return
	}
	with := make([]fluid.Job, len(fair))
	for i, j := range c.Jobs {
		with[i] = fair[i]
		with[i].Offset = r.plan.Starts[j]
		if s := r.Jobs[j].Slot; s != nil {
			period := units.Duration(s.Period)
			with[i].Offset = units.Duration(*r.Jobs[j].Begin)
			with[i].Schedule = graph.Schedule{Period: period, Offset: units.Duration(s.Offset), Correction: period / 10 * 9}
		}
	}
	for _, round := range []struct {
		jobs []fluid.Job
		to   func(*JobResult) *Microseconds
	}{
		{fair, func(j *JobResult) *Microseconds { return &j.Fair }},
		{with, func(j *JobResult) *Microseconds { return &j.With }},
	} {
		n := fluid.Network{Links: capacities, Jobs: round.jobs, Sharing: fluid.Weighted}
		result, err := n.Solve(iterations)
		if err != nil {
			unpredicted(err.Error())
			return
		}
		for i, j := range c.Jobs {
			*round.to(&r.Jobs[j]) = Microseconds(result.Mean(i, len(result[i])/2))
		}
	}
}

// connections returns how many connections of a job send through a port at a time, at most,
// as far as its experiment says so; else 1.
func (j *Job) connections() float64 {
	most := 1
	if j.fabric != nil {
		for _, d := range j.fabric.demands[j.at].Ports {
			most = max(most, d.Senders)
		}
	}
	return float64(most)
}
