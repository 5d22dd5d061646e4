package reports_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// A run without a record, and one of a single window, have a report too.
func TestHardlyAnything(t *testing.T) {
	for _, windows := range []int{0, 1} {
		w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Manifest{
			Name: "tiny", IntervalUS: 100, Variants: []runfolder.Variant{{Name: "run"}},
			Nodes: []runfolder.Node{{Node: 0, Name: "h0", Kind: runfolder.KindHost}}, Flows: []runfolder.Flow{{Name: "0-1"}}})
		if err != nil {
			t.Fatal(err)
		}
		node := &metrics.Batch{Flows: []metrics.FlowWindow{{WireBytes: 4150}}[:windows], Totals: []metrics.NodeTotals{{Name: "h0"}}}
		if err := readingtest.AddRun(w, "run", 1, node, runfolder.RunData{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(runfolder.NewSummary("tiny")); err != nil {
			t.Fatal(err)
		}
		f, err := runfolder.Open(w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		r := read(t, f)
		all := formsOf(t, r)
		if strings.Contains(all.html+all.markdown+all.json, "NaN") {
			t.Errorf("%d windows: NaN", windows)
		}
		if got := len(r.Figures()); got != 2*windows { // the slowest flow's rate and all flows'
			t.Errorf("%d windows: %d figures, want %d", windows, got, 2*windows)
		}
		if got := strings.Contains(all.html, "fill:var(--flow-0)"); got != (windows == 1) {
			t.Errorf("%d windows: a dot for the single point: %v", windows, got)
		}
	}
}

// A folder of whose tables one is damaged has no report: whichever it is.
func TestDamagedTables(t *testing.T) {
	f := sampled().Folder(t, nil)
	tables, err := filepath.Glob(filepath.Join(f.Dir, "*.parquet"))
	if err != nil || len(tables) < 5 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	damaged := 0
	for _, path := range tables {
		name := filepath.Base(path)
		if f.Manifest.Tables[strings.TrimSuffix(name, ".parquet")] == 0 {
			continue
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, whole[:len(whole)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		switch _, err := reports.Read(f, measure.Meaning); {
		case errors.Is(err, runfolder.ErrDamaged) && strings.Contains(err.Error(), name):
			damaged++
		case name != "metrics.parquet" || err != nil: // read where the summary lacks metrics of flows
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if damaged < 5 {
		t.Errorf("%d damaged tables were found", damaged)
	}
	read(t, f) // it is whole again
}

// "`report` shows the finished seeds with a banner" (issue 10), in every form.
func TestIncompleteFolder(t *testing.T) {
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
		if err := readingtest.AddRun(w, "base", seed, node, runfolder.RunData{Metrics: map[string]float64{"ratio": float64(seed)}}); err != nil {
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
	r := read(t, f)
	if len(r.Variants) != 1 || r.Variants[0].Seeds != 2 {
		t.Errorf("variants %+v, want base with its 2 seeds", r.Variants)
	}
	all := formsOf(t, r)
	for _, form := range []string{all.html, all.markdown} {
		inOrder(t, form, "Incomplete: 2 of 13 runs have finished; flows are unfinished", "Missing: base, seed 2; alt, seed 7; many, 9 seeds.")
	}
	for _, want := range []string{`"incomplete":{`, `"finished":2`, `"runs":13`} {
		if !strings.Contains(all.json, want) {
			t.Errorf("JSON lacks %s: %.500s", want, all.json)
		}
	}
}

// A report says that records were dropped, and nothing when none were.
func TestDroppedRecords(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	for dropped, want := range map[int64]string{0: "", 12_345: "12\u202f345: charts and findings lack as many telemetry windows"} {
		f.Manifest.DroppedRecords = dropped
		all := formsOf(t, read(t, f))
		for _, form := range []string{all.html, all.markdown} {
			if want != "" && !strings.Contains(form, want) || strings.Contains(form, "Dropped records") != (want != "") {
				t.Errorf("%d dropped: the report does not say %q", dropped, want)
			}
		}
		if got := strings.Contains(all.json, fmt.Sprintf(`"droppedRecords":%d`, dropped)); got != (want != "") {
			t.Errorf("%d dropped: in JSON %v", dropped, got)
		}
	}
}
