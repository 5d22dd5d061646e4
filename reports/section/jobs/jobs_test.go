package jobs

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/reports/waits"
)

func stats(mean float64) *Stats { return &Stats{Mean: mean, P50: mean, P99: 2 * mean} }

// partsOfTest are compute, bubble, network and late ranks.
func partsOfTest(us ...float64) (all []Part) {
	for i, name := range partNames {
		one := append(us, 0, 0)[i]
		all = append(all, Part{Name: name, US: one, Share: one / (us[0] + us[1] + us[2] + us[3])})
	}
	return all
}

func sectionOf(jobs ...Job) *Section {
	s := &Section{Jobs: jobs, facts: &reading.Reading{}}
	for i := range jobs {
		jobs[i].Slowest, jobs[i].Ranks = -1, 64
		if s.facts.Variant(jobs[i].Variant) < 0 {
			s.facts.Variants = append(s.facts.Variants, reading.Variant{Name: jobs[i].Variant})
		}
	}
	return s
}

// The first screen of a run with jobs shows how long their steps take in each variant.
func TestFirst(t *testing.T) {
	s := sectionOf(Job{Variant: "rails", Name: "gpt", IterationUS: stats(1200), Parts: partsOfTest(900, 0, 300, 0)},
		Job{Variant: "spread", Name: "gpt", IterationUS: stats(2000), Parts: partsOfTest(500, 200, 1290, 10)},
		Job{Variant: "open", Name: "gpt"}) // ended no step
	f := s.First()
	bars := f.Panels[0].Chart.(*chart.Bars)
	if f.Title != "Time of a step of gpt" || bars.X.Unit != "ms" || len(bars.Rows) != 2 || bars.Rows[0].Name != "rails" || bars.Rows[1].Name != "spread" {
		t.Fatalf("%+v", bars)
	}
	if len(bars.Parts) != 4 || len(f.Legend) != 4 {
		t.Fatalf("%d parts and %d keys, want 4: nothing is held and nothing idle", len(bars.Parts), len(f.Legend))
	}
	for i, want := range [][]float64{{0.9, 0, 0.3, 0}, {0.5, 0.2, 1.29, 0.01}} {
		if !cmp.Equal(bars.Rows[i].Values, want) {
			t.Errorf("%s: %v, want %v", bars.Rows[i].Name, bars.Rows[i].Values, want)
		}
	}
	for i, want := range []string{"rails: 1.2\u00a0ms, 25 % not computing", "spread: 2\u00a0ms, 75 % not computing"} {
		if bars.Rows[i].Label != want {
			t.Errorf("label %q, want %q", bars.Rows[i].Label, want)
		}
	}
	if words := s.Jobs[1].waits(); !cmp.Equal(words, []string{"64.5 % waiting for the network", "10 % in the bubble of the pipeline", "0.5 % waiting for late ranks"}) {
		t.Errorf("ranks spend %q", words)
	}
	f = sectionOf(s.Jobs[0], Job{Variant: "rails", Name: "moe", IterationUS: stats(1), Parts: partsOfTest(0, 0, 1, 0)}).First()
	if bars = f.Panels[0].Chart.(*chart.Bars); f.Title != "Time of a step" || bars.Rows[1].Name != "rails, moe" || bars.Rows[1].Values[0] != 0 {
		t.Errorf("%+v", bars)
	}
	if empty := sectionOf(); empty.First() != nil || empty.Parts() != nil {
		t.Error("a run without jobs has times of steps")
	}
}

// Where not all variants have room, the first screen shows whole ones: the first, those that lead, or
// else the fastest, and then the others. Bars end at the time of the step.
func TestFirstShowsWhoLeads(t *testing.T) {
	var jobs []Job
	for i, variant := range []string{"base", "b", "c", "d", "e", "alone"} {
		for _, name := range []string{"x", "y", "z"} {
			jobs = append(jobs, Job{Variant: variant, Name: name, IterationUS: stats(2000 - 100*float64(i)), Parts: partsOfTest(900, 0, 300, 0)})
		}
	}
	for _, c := range []struct {
		leading []string
		want    []string
	}{{[]string{"e", "c"}, []string{"base", "e", "c"}}, {nil, []string{"base", "alone", "b"}}, {[]string{"base", "e"}, []string{"base", "e", "b"}}} {
		f := sectionOf(jobs...).First(c.leading...)
		bars := f.Panels[0].Chart.(*chart.Bars)
		if len(bars.Rows) != 9 || !strings.Contains(f.Caption, " 9 more are in the table of jobs.") || !strings.Contains(f.Caption, "scaled") {
			t.Fatalf("%d rows; %s", len(bars.Rows), f.Caption)
		}
		for i, r := range bars.Rows {
			if want := c.want[i/3] + ", "; !strings.HasPrefix(r.Name, want) {
				t.Errorf("%q lead: row %d is of %q, want %q", c.leading, i, r.Name, want)
			}
		}
		if sum := bars.Rows[0].Values[0] + bars.Rows[0].Values[1]; math.Abs(sum-2) > 1e-9 {
			t.Errorf("the parts of a step of 2 ms are %v", bars.Rows[0].Values)
		}
	}
}

// The answer is how long the steps of the first job take, and what for.
func TestTell(t *testing.T) {
	parts := partsOfTest(40, 10, 50, 0)
	s := sectionOf(Job{Variant: "a", Name: "gpt", IterationUS: stats(1000), Parts: parts}, Job{Variant: "b", Name: "gpt", IterationUS: stats(1500), Parts: parts}, Job{Variant: "b", Name: "other", IterationUS: stats(9000)})
	var story section.Story
	s.Tell(&story)
	want := "A step of job gpt on 64 ranks takes 1\u00a0ms in variant a and 1.5\u00a0ms in b; in b the ranks spend 50 % waiting for the network and 10 % in the bubble of the pipeline."
	if got := strings.Join(story.Sentences(), " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range []string{"c", "d", "e"} {
		s.Jobs = append(s.Jobs, Job{Variant: c, Name: "gpt", IterationUS: stats(1200), Parts: parts, Slowest: -1})
	}
	if got := s.take(); !strings.Contains(got, "1.2\u00a0ms in d (and 1 more variant); in b") {
		t.Errorf("%q", got)
	}
}

// A path says where most time was lost: at a port, a NIC or a rank.
func TestLost(t *testing.T) {
	piece := func(kind waits.Kind, from, to, unloaded float64, hop string) waits.Piece {
		return waits.Piece{Kind: kind, Rank: 3, Host: "h3", Peer: 5, Flow: "f", FromUS: from, ToUS: to, UnloadedUS: unloaded, Hop: hop, HopDelayUS: 2}
	}
	of := func(pieces ...waits.Piece) *Path {
		return newPath(&waits.Path{Step: 1, ToUS: 100, Whole: pieces})
	}
	for _, c := range []struct {
		p    *Path
		want string
	}{
		{of(piece(waits.KindCompute, 0, 40, 40, ""), piece(waits.KindTransfer, 40, 100, 30, "a-b")), "30\u00a0µs (30 %) in the queue at a → b, most from rank 3 to 5 (flow f); each packet waits 2\u00a0µs"},
		{of(piece(waits.KindCompute, 0, 80, 40, ""), piece(waits.KindTransfer, 80, 100, 10, "a-b")), "40\u00a0µs (40 %) at rank 3 (h3), which computes longer than the median rank"},
		{of(piece(waits.KindTransfer, 0, 90, 10, ""), piece(waits.KindIdle, 90, 100, 10, "")), "80\u00a0µs (80 %) at the NIC of h3, where messages wait for each other, most from rank 3 to 5 (flow f)"},
		{of(piece(waits.KindCompute, 0, 60, 60, ""), piece(waits.KindLocal, 60, 100, 40, "")), "nothing at one place; 60\u00a0µs of compute, 40\u00a0µs of transfers"},
	} {
		if got := c.p.lost(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	s := sectionOf(Job{Variant: "run", Name: "gpt", Steps: 4, Done: 3, IterationUS: stats(90), Parts: partsOfTest(1, 1, 1, 1), Collectives: []Collective{{Name: "dp", Kind: "all_reduce", Algorithm: "ring", Ranks: 8, Bytes: 1e6, CCTUS: stats(10)}},
		Paths: []Path{*of(piece(waits.KindTransfer, 0, 100, 30, "a-b")), *newPath(&waits.Path{Step: 2, ToUS: 80, Whole: []waits.Piece{piece(waits.KindCompute, 0, 80, 80, "")}})}})
	s.Jobs[0].Slowest = 0
	if got := s.Findings(); len(got) != 1 || got[0] != "Step 1 of gpt, the slowest of 2, takes 100\u00a0µs. The critical path loses 70\u00a0µs (70 %) in the queue at a → b, most from rank 3 to 5 (flow f); each packet waits 2\u00a0µs." {
		t.Errorf("%q", got)
	}
	for id, want := range map[string]string{
		"jobs":        "run | gpt | 64 | 3 of 4 | 90\u00a0µs | 90\u00a0µs | 180\u00a0µs | 25 % | 25 % | 25 % | 25 % | – | –\n",
		"paths":       "run | 2 | 80\u00a0µs | 80\u00a0µs | 0\u00a0µs | 0\u00a0µs | nothing at one place; ",
		"collectives": "dp | run | gpt | all_reduce, ring | 8 | 1\u00a0MB | 10\u00a0µs | 20\u00a0µs | – | – | –\n",
	} {
		if got := sectiontest.Text(sectiontest.Part(s.Parts(), id)); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in %s", id, want, got)
		}
	}
	if p := sectiontest.Part(s.Parts(), "paths"); p.Says != "2 steps of gpt take from 80\u00a0µs to 100\u00a0µs." || p.Level != section.Quiet {
		t.Errorf("%+v", p)
	}
}
