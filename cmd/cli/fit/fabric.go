package fit

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// fabric is what an experiment's jobs send through its topology.
type fabric struct {
	source    string // in words
	graph     *topologies.Graph
	jobs      []metrics.JobInfo
	demands   []plan.Demand
	predicted []measure.Prediction // as demands
}

// newFabric plans the first variant of an experiment.
func newFabric(file string) (*fabric, error) {
	set, err := experiment.Load(file, experiment.Options{})
	if err != nil {
		return nil, err
	}
	e := set.Variants[0].Experiment
	p, err := plan.Compile(e, e.Seeds[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(p.Jobs) == 0 {
		return nil, fmt.Errorf("%s: the experiment has no jobs", file)
	}
	source := file
	if len(set.Variants) > 1 {
		source += ", variant " + set.Variants[0].Name
	}
	return &fabric{source, p.Graph, p.Jobs, p.Demands(), measure.Predict(p)}, nil
}

// job returns a job with its profile on a network of its own (see measure.Predict). Its
// rate is that of the port which takes longest to send what the job sends.
func (f *fabric) job(at int) Job {
	one := &f.predicted[at]
	burst := circle.Burst{At: one.Compute, Length: one.Communication, Rate: f.narrowest(at).Rate}
	return Job{
		Profile: circle.Profile{Name: f.jobs[at].Name, Period: one.Alone, Bursts: []circle.Burst{burst}},
		Source:  f.source, fabric: f, at: at,
	}
}

// narrowest returns the port of a job that takes longest to send what the job sends.
func (f *fabric) narrowest(job int) *plan.PortDemand {
	ports := f.demands[job].Ports
	slowest := &ports[0]
	for i := range ports {
		if ports[i].Bytes*float64(slowest.Rate) > slowest.Bytes*float64(ports[i].Rate) {
			slowest = &ports[i]
		}
	}
	return slowest
}

// ofOneFabric reports whether the jobs are of one experiment, each of them once.
func ofOneFabric(jobs []Job) bool {
	for i := range jobs {
		f := jobs[i].fabric
		if f == nil || f != jobs[0].fabric || slices.ContainsFunc(jobs[:i], func(other Job) bool { return other.at == jobs[i].at }) {
			return false
		}
	}
	return true
}

// fabricLinks returns the ports of the fabric that several of its jobs send through, and
// could fill together. Ports that need no look of their own, because another one has the same
// jobs, which use it as much, are left out. capacity is in place of the rate of ports, unless
// it is 0.
func fabricLinks(jobs []Job, capacity units.Rate) []shared {
	f := jobs[0].fabric
	type place struct{ node, port int }
	at := map[place]int{} // positions of all
	var places []place
	var all []shared
	for i := range jobs {
		whole := f.narrowest(jobs[i].at)
		for _, d := range f.demands[jobs[i].at].Ports {
			p := place{d.Node, d.Port}
			k, ok := at[p]
			if !ok {
				k = len(all)
				at[p] = k
				places = append(places, p)
				all = append(all, shared{capacity: d.Rate})
				if capacity > 0 {
					all[k].capacity = capacity
				}
			}
			all[k].jobs, all[k].uses = append(all[k].jobs, i), append(all[k].uses, d.Bytes/whole.Bytes)
		}
	}
	adjacency := f.graph.Adjacency()
	var full []shared
	for k := range all {
		l, wanted := &all[k], 0.0
		for i, j := range l.jobs {
			wanted += l.uses[i] * float64(jobs[j].Bursts[0].Rate)
		}
		if len(l.jobs) < 2 || wanted <= float64(l.capacity) || near(wanted, float64(l.capacity)) {
			continue
		}
		p := places[k]
		l.name = f.graph.Nodes[p.node].Name + "-" + f.graph.Nodes[adjacency[p.node][p.port].Peer.Node].Name
		if slices.ContainsFunc(full, func(other shared) bool { return other.name == l.name }) {
			l.name += fmt.Sprintf("-port%d", p.port)
		}
		full = append(full, *l)
	}
	var links []shared
	for k := range full {
		implied := false
		for i := range full {
			implied = implied || i != k && full[k].within(&full[i]) && (i < k || !full[i].within(&full[k]))
		}
		if !implied {
			links = append(links, full[k])
		}
	}
	return links
}

// within reports whether a link carries whatever another one carries: that has all of its
// jobs, which use it at least as much, and is no faster.
func (l *shared) within(other *shared) bool {
	if other.capacity > l.capacity {
		return false
	}
	for k, j := range l.jobs {
		if use := other.use(j); use < l.uses[k] && !near(use, l.uses[k]) {
			return false
		}
	}
	return true
}
