package reports

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// "`report` shows the finished seeds with a banner" (issue 10), in every form.
func TestIncompleteFolder(t *testing.T) {
	for _, c := range []struct {
		name     string
		invalid  []string
		headline string
	}{
		{"valid runs", nil, "Incomplete: 2 of 13 runs have finished; flows are unfinished"},
		{"an invalid run", []string{"a frame is missing"}, "Incomplete: 2 of 13 runs have finished, of which some are not valid; flows are unfinished"},
	} {
		m := runfolder.Manifest{
			Name: "cut", IntervalUS: 100, Variants: []runfolder.Variant{{Name: "base"}, {Name: "alt"}, {Name: "many"}},
			Flows:        []runfolder.Flow{{Name: "0-1", Size: 1000}},
			Published:    []runfolder.Published{{Variant: "alt", Metric: "ratio", Value: 1, Low: 0, High: 2}},
			Expectations: []string{"alt.ratio > base.ratio"},
			Missing:      []runfolder.VariantSeeds{{Variant: "base", Seeds: []uint64{1, 2, 3}}, {Variant: "alt", Seeds: []uint64{7}}, {Variant: "many", Seeds: []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}}},
		}
		w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range []uint64{1, 3} {
			node := &metrics.Batch{Totals: []metrics.NodeTotals{{Name: "h0"}}, Flows: []metrics.FlowWindow{{WireBytes: 1250}}}
			if err := analysistest.AddRun(w, "base", seed, node, runfolder.RunData{Metrics: map[string]float64{"ratio": float64(seed)}, Invalid: c.invalid}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Abort("interrupted"); err != nil {
			t.Fatal(err)
		}
		f, err := runfolder.OpenKept(w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		r := build(t, f)
		const reason = "Interrupted. Missing: base, seed 2; alt, seed 7; many, 9 seeds. csiglab run --resume, with the name of this folder, does these runs."
		if r.Verdict.State == stateGood || r.Verdict.Headline != c.headline || r.Verdict.Reasons[0] != reason {
			t.Errorf("%s: banner %+v, want %q and %q", c.name, r.Verdict, c.headline, reason)
		}
		if v := r.numbers.Verdict; v.Good() || v.Valid != (c.invalid == nil) || len(v.Reasons) != 2*len(c.invalid) {
			t.Errorf("%s: verdict %+v", c.name, v)
		}
		if rows := r.Expectations.Rows; len(rows) != 1 || rows[0][0].Text != "alt.ratio > base.ratio" || rows[0][len(rows[0])-1].Text != "not evaluated" {
			t.Errorf("%s: expectations %+v", c.name, rows)
		}
		if len(r.numbers.Variants) != 1 || r.numbers.Variants[0].Seeds != 2 {
			t.Errorf("%s: variants %+v, want base with its 2 seeds", c.name, r.numbers.Variants)
		}
		var html, markdown, text bytes.Buffer
		if err := WriteHTML(&html, r.numbers); err != nil {
			t.Fatal(err)
		}
		if err := WriteMarkdown(&markdown, r.numbers); err != nil {
			t.Fatal(err)
		}
		if err := WriteJSON(&text, r.numbers); err != nil {
			t.Fatal(err)
		}
		for form, want := range map[*bytes.Buffer]string{&html: "Missing: base, seed 2", &markdown: "Missing: base, seed 2", &text: `"incomplete":`} {
			if !strings.Contains(strings.ReplaceAll(form.String(), `": `, `":`), want) {
				t.Errorf("%s: %q is not in:\n%.500s", c.name, want, form)
			}
		}
	}
}
