package jobs

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// training is a job of as many ranks: a forward and a backward pass with all-reduces of two
// buckets, the first of which overlaps with the rest of the backward pass. Rank slow
// computes 20 % longer.
func training(t *testing.T, ranks, slow int) *graph.Static {
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

// jobFolder writes a run of a job over links without congestion.
func jobFolder(t *testing.T, s *graph.Static) *runfolder.Folder {
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

// The picture has a lane for each of a few ranks, and of many ten with the straggler, which
// is on the critical path; computes, communication and waiting add up to the time of each.
func TestStepPicture(t *testing.T) {
	for _, c := range []struct{ ranks, slow, lanes int }{{8, 5, 8}, {64, 41, pictureWorst}} {
		s, _ := sectiontest.Read[*Section](t, jobFolder(t, training(t, c.ranks, c.slow)), New)
		j := &s.Jobs[0]
		if j.Picture == nil || len(j.Picture.Lanes) != c.lanes || len(j.Picture.Overlaid) != 2 {
			t.Fatalf("%d ranks: %+v", c.ranks, j.Picture)
		}
		if l := j.Paths[0].Lost; l == nil || int(l.Rank) != c.slow {
			t.Errorf("%d ranks: lost %+v, want at rank %d", c.ranks, l, c.slow)
		}
		var kinds []string
		for _, k := range j.Picture.Kinds {
			kinds = append(kinds, k.Name)
		}
		if !slices.Equal(kinds, []string{"forward", "backward", "all_reduce"}) {
			t.Errorf("%d ranks: kinds %q", c.ranks, kinds)
		}
		found := false
		for _, l := range j.Picture.Lanes {
			want := 300.0
			if int(l.Rank) == c.slow {
				want, found = 360, l.Path
			}
			// The rank that is not slow waits for the rest of the step.
			if l.ComputeUS < want-1e-6 || l.ComputeUS > want+1e-6 || l.ComputeUS+l.ExposedUS > j.Picture.ToUS-j.Picture.FromUS+1e-6 || int(l.Rank) != c.slow && l.ExposedUS < 60 {
				t.Errorf("%d ranks: %+v, want %v us of compute", c.ranks, l, want)
			}
		}
		if !found {
			t.Errorf("%d ranks: no lane of the straggler on the critical path", c.ranks)
		}
		for k := range pictureColumns {
			sum := 0.0
			for _, s := range j.Picture.Shares {
				sum += s.Shares[k]
			}
			if sum < 1-1e-9 || sum > 1+1e-9 {
				t.Fatalf("%d ranks: the shares of column %d are %v together", c.ranks, k, sum)
			}
		}
		p := sectiontest.Part(s.Parts(), "steps")
		if p == nil || p.Level != section.Loud || len(p.Blocks) != 1 || !strings.Contains(p.Says, fmt.Sprintf("at rank %d (h%d), which computes longer", c.slow, c.slow)) {
			t.Fatalf("%d ranks: %+v", c.ranks, p)
		}
		f := p.Blocks[0].(*chart.Figure)
		g := f.Panels[0].Chart.(*chart.Gantt)
		strong := slices.IndexFunc(g.Lanes, func(l chart.Lane) bool { return l.Strong })
		waits := len(g.Kinds) - 1
		if strong < 0 || g.Lanes[strong].Name != fmt.Sprintf("%d · h%d", c.slow, c.slow) || g.Kinds[waits].Name != "waiting for messages" ||
			!slices.ContainsFunc(g.Lanes, func(l chart.Lane) bool {
				return slices.ContainsFunc(l.Spans, func(s chart.Span) bool { return s.Kind == waits })
			}) {
			t.Errorf("%d ranks: the drawing lacks the waiting or the rank where time was lost", c.ranks)
		}
		// The path goes on from hop to hop, through the whole step, and is where the rank computes.
		end, computes := 0.0, 0.0
		for _, h := range g.Path {
			if h.From < end-1e-9 || h.To <= h.From {
				t.Fatalf("%d ranks: a hop from %v to %v after %v", c.ranks, h.From, h.To, end)
			}
			if end = h.To; h.In == chart.InCompute && h.Lane == strong {
				computes += h.To - h.From
			}
		}
		if math.Abs(end-g.X.Max) > 0.01*g.X.Max || !(computes > g.X.Max/4) {
			t.Errorf("%d ranks: the path ends at %v of %v, and computes for %v on the slow rank", c.ranks, end, g.X.Max, computes)
		}
		if few := c.ranks <= pictureRanks; few != (g.Shares == nil) || few != (g.Others == "") {
			t.Errorf("%d ranks: shares %v, others %q", c.ranks, g.Shares != nil, g.Others)
		}
		for _, key := range []string{"all-reduce", "critical path", "waiting for messages"} {
			if !slices.ContainsFunc(f.Legend, func(k chart.Key) bool { return k.Name == key }) {
				t.Errorf("%d ranks: the legend lacks %q", c.ranks, key)
			}
		}
	}
}

// The picture of 1024 ranks is small: what cannot be told apart is one mark.
func TestPictureOfManyRanks(t *testing.T) {
	checkout.SkipSlowRace(t)
	s, _ := sectiontest.Read[*Section](t, jobFolder(t, training(t, 1024, 640)), New)
	f := s.Parts()[1].Blocks[0].(*chart.Figure)
	for _, width := range []float64{chart.Whole, chart.Narrow} {
		if n := len(f.SVG(0, width)); n > 300_000 {
			t.Errorf("%d bytes at a width of %v", n, width)
		}
	}
}
