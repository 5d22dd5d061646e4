package reports

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports/analysis"
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
	for _, c := range []struct{ ranks, slow, lanes int }{{8, 5, 8}, {64, 41, analysis.PictureWorst}} {
		r, err := analysis.Read(jobFolder(t, training(t, c.ranks, c.slow)), measure.Meaning)
		if err != nil {
			t.Fatal(err)
		}
		j := &r.Jobs[0]
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
		for k := range analysis.PictureColumns {
			sum := 0.0
			for _, s := range j.Picture.Shares {
				sum += s.Shares[k]
			}
			if sum < 1-1e-9 || sum > 1+1e-9 {
				t.Fatalf("%d ranks: the shares of column %d are %v together", c.ranks, k, sum)
			}
		}
		page := newPage(r)
		if len(page.Steps) != 1 || !strings.Contains(page.Steps[0].Caption, fmt.Sprintf("at rank %d (h%d), which computes longer", c.slow, c.slow)) {
			t.Fatalf("%d ranks: %d pictures, or the wrong caption", c.ranks, len(page.Steps))
		}
		if svg := string(page.Steps[0].SVG); strings.Count(svg, `class="critical"`) != 1 || !strings.Contains(svg, `class="name lost"`) || !strings.Contains(svg, `class="waits"`) {
			t.Errorf("%d ranks: the drawing lacks the critical path, the waiting or the rank where time was lost", c.ranks)
		}
	}
}

// The picture stands on the page of 8 and of 1024 ranks, in light and dark and on a phone,
// and no text is outside of it.
func TestBrowserOfSteps(t *testing.T) {
	checkout.SkipSlowRace(t)
	ctx := browser(t)
	for _, ranks := range []int{8, 1024} {
		r, err := analysis.Read(jobFolder(t, training(t, ranks, ranks*5/8)), measure.Meaning)
		if err != nil {
			t.Fatal(err)
		}
		page := written(t, r)
		for _, c := range []struct {
			scheme string
			width  int64
		}{{"light", 1280}, {"dark", 1280}, {"light", 420}} {
			call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: c.scheme}}})
			do(ctx, t, chromedp.EmulateViewport(c.width, 900))
			do(ctx, t, chromedp.Navigate(page))
			name := fmt.Sprintf("steps-%d-%s-%d", ranks, c.scheme, c.width)
			keepShot(ctx, t, name+".png", chromedp.FullScreenshot(100))
			drawings := do(ctx, t, chromedp.Evaluate[[]drawn](strings.Replace(inspect, "svg.chart", "svg.step", 1)))
			wide := do(ctx, t, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`))
			if len(drawings) != 1 || drawings[0].Texts < 10 || drawings[0].Strokes < 1 || drawings[0].Beyond != "" || wide {
				t.Errorf("%s: %+v; wider than the window: %v", name, drawings, wide)
			}
		}
	}
}
