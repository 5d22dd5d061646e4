package backendtest

import (
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// withJobs is a workload with jobs beside its transfers.
type withJobs struct {
	experiment.WorkloadSpec // nil: no transfers
	jobs                    []workloads.Job
}

// Build implements experiment.WorkloadSpec.
func (w withJobs) Build(in experiment.WorkloadInput) (load *workloads.Workload, notes []string, err error) {
	load = &workloads.Workload{Hosts: in.Hosts}
	if w.WorkloadSpec != nil {
		if load, notes, err = w.WorkloadSpec.Build(in); err != nil {
			return nil, nil, err
		}
	}
	load.Jobs = w.jobs
	return load, notes, nil
}

// TryJobs compiles an experiment with jobs beside its workload.
func TryJobs(t testing.TB, text string, jobs ...workloads.Job) (*plan.Plan, error) {
	t.Helper()
	set, err := experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	e := set.Variants[0].Experiment
	e.Workload.Spec = withJobs{e.Workload.Spec, jobs}
	return plan.Compile(e, e.Seeds[0])
}

// CompileJobs is TryJobs of an experiment that is right.
func CompileJobs(t testing.TB, text string, jobs ...workloads.Job) *plan.Plan {
	t.Helper()
	p, err := TryJobs(t, text, jobs...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// RingJob returns a job of a ring all-reduce of so many bytes, step after step, in each of
// which rank r first computes for r+1 microseconds. A message takes half of one after it has arrived. Every
// step begins with a fence.
func RingJob(hosts []int, steps int, bytes units.Size) workloads.Job {
	ranks := len(hosts)
	s := &graph.Static{Count: steps, All: ranks, Of: map[int][]graph.Op{}}
	s.Names = graph.Labels{Collectives: []graph.Collective{{Name: "sum", Kind: "all_reduce", Algorithm: "ring", Ranks: ranks, Bytes: bytes}}}
	for rank := range ranks {
		b := &graph.Builder{}
		for step := range steps {
			b.Tag = graph.Tag{Step: int32(step), Phase: graph.None, Collective: graph.None, Group: graph.None}
			fence := graph.Op{Kind: graph.Begin, Fence: true}
			at := b.Add(fence)
			if step > 0 {
				b.Ops[at].Deps = []uint32{at - 1} // the end of the step before
			}
			start := b.Compute(units.Duration(rank+1)*units.Microsecond, at)
			b.Tag.Collective, b.Tag.Group = 0, 0
			last := b.Begin(start)
			for range 2 * (ranks - 1) {
				b.Send((rank+1)%ranks, 0, bytes/units.Size(ranks), last)
				last = b.Recv((rank+ranks-1)%ranks, 0, bytes/units.Size(ranks), last)
				b.Ops[last].Duration = 500 * units.Nanosecond
			}
			end := b.End(last, last-1)
			b.Tag.Collective, b.Tag.Group = graph.None, graph.None
			b.End(end)
		}
		s.Of[rank] = b.Ops
	}
	return workloads.Job{Name: "ring", Source: s, Hosts: hosts, Local: workloads.Local{Rate: 3600 * units.Gbps, Delay: 2 * units.Microsecond}}
}

// Rails is an experiment without transfers, for jobs: a rail fabric of two servers with two
// NICs each.
const Rails = `
schema: 1
name: jobs-test
topology:
  rail: {servers: 2, nics: 2, group: 1, spines: 2, rate: 400Gbps, spine_rate: 800Gbps, delay: 1us}
workload: {transfers: [0 -> 3 20kB]}
csig: {format: wide}
seeds: [7]
`
