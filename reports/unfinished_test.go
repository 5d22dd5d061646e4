package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// A run that ends with flows unfinished says so first, on the page and in Markdown.
func TestUnfinishedComesFirst(t *testing.T) {
	e := analysistest.ThreeFlow()
	e.Open = true
	r := build(t, e.Folder(t, func(m *runfolder.Manifest, s *runfolder.Summary) {
		for variant := range s.Variants {
			for i := range s.Variants[variant].Runs {
				s.Variants[variant].Runs[i].Metrics["model_ms"] = 32
			}
		}
	}))
	want := []string{
		"1 of 3 flows did not complete: the end of the run came first, at about 32\u00a0ms (variant baseline, in seed 1 of 3 seeds). The least done is 0-3 with 75 % of the payload.",
		"1 of 3 flows did not complete: the end of the run came first, at about 32\u00a0ms (variant csig, in seed 1 of 3 seeds). The least done is 0-3 with 75 % of the payload.",
		"1 of 3 flows did not complete: the end of the run came first, at about 32\u00a0ms (variant csig-wide, in seed 1 of 3 seeds). The least done is 0-3 with 75 % of the payload. Completion times are of the flows that completed.",
	}
	if d := cmp.Diff(r.Verdict.Reasons, want); d != "" {
		t.Errorf("reasons (-got +want):\n%s", d)
	}
	if v := r.Verdict; v.State != stateWarn || v.Mark() != "!" || !strings.HasPrefix(v.Headline, "Flows are unfinished. Valid; 2 of 2 expectations hold") {
		t.Errorf("verdict %+v", v)
	}
	var page, markdown bytes.Buffer
	if err := WriteHTML(&page, r.numbers); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&markdown, r.numbers); err != nil {
		t.Fatal(err)
	}
	for form, order := range map[string][]string{
		page.String():     {"Flows are unfinished", "1 of 3 flows did not complete", `id="story"`, `id="fabric"`, `id="main"`, `id="expectations"`},
		markdown.String(): {"**Flows are unfinished", "1 of 3 flows did not complete", "## Findings", "## Expectations", "fct\\_us.p99 (of 2 to 3 of 3 flows)"},
	} {
		at := 0
		for _, text := range order {
			next := strings.Index(form[at:], text)
			if next < 0 {
				t.Fatalf("%q is missing, or comes too early:\n%.3000s", text, form)
			}
			at += next
		}
	}
}

func TestUnfinishedSentences(t *testing.T) {
	progress := func(seed uint64, completed int, cut bool, least ...analysis.Done) analysis.Progress {
		return analysis.Progress{Variant: "run", Seed: seed, Flows: 240, Completed: completed, EndUS: 250, CutOff: cut, Least: least}
	}
	for _, c := range []struct {
		name string
		all  []analysis.Progress
		want string
	}{
		{"all seeds", []analysis.Progress{progress(1, 238, true, analysis.Done{Flow: "0-8", Share: 0.5}), progress(2, 235, true, analysis.Done{Flow: "4-8", Share: 0.124}, analysis.Done{Flow: "5-8", Share: 0.3})},
			"2 to 5 of 240 flows did not complete: the end of the run came first, at about 250\u00a0µs (in all 2 seeds). The least done are 4-8 with 12.4 % and 5-8 with 30 % of the payload in seed 2. Completion times are of the flows that completed."},
		{"stuck", []analysis.Progress{progress(1, 239, false, analysis.Done{Flow: "0-8"}), progress(2, 240, false)},
			"1 of 240 flows did not complete (in seed 1 of 2 seeds). The least done is 0-8 with 0 % of the payload. Completion times are of the flows that completed."},
		{"all complete", []analysis.Progress{progress(1, 240, false), progress(2, 240, false)}, ""},
	} {
		r := &analysis.Result{Variants: []analysis.Variant{{Name: "run"}}, Progress: c.all, Setup: analysis.Setup{Seeds: []uint64{1, 2}},
			Runs: []analysis.Run{{Variant: "run", Seed: 1}, {Variant: "run", Seed: 2}}}
		if got := strings.Join(Unfinished(r), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Statistics of completion times say over how many of how many flows they are.
func TestMetricLabel(t *testing.T) {
	r := &analysis.Result{Variants: []analysis.Variant{{Name: "a"}, {Name: "b"}}, Progress: []analysis.Progress{
		{Variant: "a", Seed: 1, Flows: 240, Completed: 240}, {Variant: "b", Seed: 1, Flows: 240, Completed: 238}}}
	for _, c := range []struct {
		metric   string
		variants []string
		want     string
	}{
		{"fct_us.p99", nil, "fct_us.p99 (of 238 to 240 of 240 flows)"},
		{"fct_us.p99", []string{"b"}, "fct_us.p99 (of 238 of 240 flows)"},
		{"fct_us.p99", []string{"a"}, "fct_us.p99 (of all 240 flows)"},
		{"fct_us.p999", []string{"b"}, "fct_us.p999 (of 238 of 240 flows)"},
		{"fct_us.mean", []string{"b"}, "fct_us.mean (of 238 of 240 flows)"},
		{"slowdown.p50", []string{"b"}, "slowdown.p50 (of 238 of 240 flows)"},
		{"fct_us.0-8", nil, "fct_us.0-8"},
		{"fct_us.p-8", nil, "fct_us.p-8"},
		{"rate_gbps.0-8", nil, "rate_gbps.0-8"},
		{"trims", nil, "trims"},
	} {
		if got := MetricLabel(r, c.metric, c.variants...); got != c.want {
			t.Errorf("%s of %v: %q, want %q", c.metric, c.variants, got, c.want)
		}
	}
	if got := MetricLabel(&analysis.Result{Variants: r.Variants}, "fct_us.p99"); got != "fct_us.p99" {
		t.Errorf("without transfers: %q", got)
	}
}
