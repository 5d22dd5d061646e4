package readingtest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Training is a job of as many ranks: a forward and a backward pass with all-reduces of two
// buckets, the first of which overlaps with the rest of the backward pass. Rank slow
// computes 20 % longer.
func Training(t testing.TB, ranks, slow int) *graph.Static {
	t.Helper()
	s := &graph.Static{Count: 1, All: ranks, Of: map[int][]graph.Op{}, Names: graph.Labels{Phases: []string{"forward", "backward"}}}
	for k := range 2 {
		s.Names.Collectives = append(s.Names.Collectives, graph.Collective{Name: fmt.Sprintf("gradients-%d", k), Kind: "all_reduce", Algorithm: "halving_doubling", Ranks: ranks, Bytes: 64 * units.KiB})
	}
	group := make([]int, ranks)
	for i := range group {
		group[i] = i
	}
	for rank := range ranks {
		compute := 100 * units.Microsecond
		if rank == slow {
			compute = 120 * units.Microsecond
		}
		none := graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
		b := &graph.Builder{Tag: none}
		before := b.Begin()
		b.Tag.Phase = 0
		before = b.Compute(compute, before)
		var ends []uint32
		for k := range 2 {
			b.Tag = none
			b.Tag.Phase = 1
			before = b.Compute(compute, before)
			b.Tag.Collective, b.Tag.Group = int32(k), 0
			end, err := collective.Append(b, &collective.Call{Kind: collective.AllReduce, Algorithm: collective.HalvingDoubling, Group: group, Me: rank, Bytes: 64 * units.KiB, Channel: uint16(k)}, before)
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		b.Tag = none
		b.End(ends...)
		s.Of[rank] = b.Ops
	}
	return s
}

// JobFolder writes a run of a job over links without congestion.
func JobFolder(t testing.TB, s *graph.Static) *runfolder.Folder {
	t.Helper()
	m := runfolder.Manifest{Name: "training", Version: "0.1.0", Command: []string{"csiglab", "run", "training"}, Runtime: "inproc", Clock: "virtual", IntervalUS: 10,
		Variants: []runfolder.Variant{{Name: "run", MTU: 4150, Header: 64, CC: "nscc", LB: "mixed", AQM: "linear", CSIG: "none"}}}
	job := runfolder.Job{Name: "train", Steps: 1, FirstSteps: 1, Messages: true, Phases: s.Names.Phases}
	for _, c := range s.Names.Collectives {
		job.Collectives = append(job.Collectives, runfolder.Collective{Name: c.Name, Kind: c.Kind, Algorithm: c.Algorithm, Ranks: c.Ranks, Bytes: int64(c.Bytes)})
	}
	for rank := range s.All {
		job.Ranks = append(job.Ranks, int32(rank))
		m.Nodes = append(m.Nodes, runfolder.Node{Node: int32(rank), Name: fmt.Sprintf("h%d", rank), Kind: runfolder.KindHost})
	}
	m.Jobs = []runfolder.Job{job}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	run, err := w.BeginRun("run", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b metrics.Batch
	if _, err := graph.Ideal(s, 1, graph.Link{Rate: 100 * units.Gbps, Latency: 2 * units.Microsecond, Sink: &b}); err != nil {
		t.Fatal(err)
	}
	step := metrics.Instance{Tag: metrics.Tag{Step: 1}, Begin: units.Never, Ranks: int32(s.All)}
	for i := range b.Operations {
		if o := &b.Operations[i]; o.Kind == metrics.OperationSpan && o.Tag == step.Tag {
			step.Begin = min(step.Begin, o.Start)
			if o.End > step.End {
				step.End, step.Last = o.End, o.Rank
			}
		}
	}
	b.Instances = []metrics.Instance{step}
	run.Consume(&b)
	values := map[string]float64{"steps_done.train": 1, "model_ms": 1}
	if err := run.End(runfolder.RunData{Metrics: values, Wall: time.Second}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(runfolder.NewSummary("training", runfolder.RunMetrics{Variant: "run", Seed: 1, Metrics: values})); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
