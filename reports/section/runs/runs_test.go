package runs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

type change = func(*runfolder.Manifest, *runfolder.Summary)

func read(t *testing.T, change change) (*Section, *reading.Reading) {
	t.Helper()
	return sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, change), New)
}

func tableOf(t *testing.T, s *Section, id string) *section.Table {
	t.Helper()
	p := sectiontest.Part(s.Parts(), id)
	if p == nil {
		t.Fatalf("no part %s", id)
	}
	return p.Blocks[0].(*section.Table)
}

func TestBanner(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range []struct {
		name     string
		state    section.State
		headline string
		change   change
	}{
		{"all good", section.Good, "Valid; 2 of 2 expectations hold; 1 of 2 published figures reproduced", nil},
		{"a failure", section.Bad, "Valid, but 1 of 2 expectations failed; 1 of 2 published", func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Expectations[0].OK = false }},
		{"invalid", section.Bad, "The run is not valid", func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Valid, s.Reasons = false, []string{"late timers"} }},
		{"nothing asked", section.Good, "Valid; the experiment states no expectation", func(m *runfolder.Manifest, s *runfolder.Summary) { m.Published, s.Expectations = nil, nil }},
		{"reproduced", section.Good, "; 1 of 1 published figures reproduced", func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Published = m.Published[:1] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, r := read(t, c.change)
			b := NewBanner(&r.Facts)
			if b.State != c.state || !strings.Contains(b.Headline, c.headline) {
				t.Errorf("banner %s %q, want %s %q", b.State, b.Headline, c.state, c.headline)
			}
			if c.name == "invalid" && !cmp.Equal(b.Reasons, []string{"late timers"}) {
				t.Errorf("reasons %v", b.Reasons)
			}
			levels := map[string]section.Level{}
			for _, p := range s.Parts() {
				levels[p.ID] = p.Level
			}
			want := map[string]section.Level{"expectations": section.Quiet, "published": section.Telling, "how": section.Quiet}
			switch c.name {
			case "a failure":
				want["expectations"] = section.Loud
			case "invalid":
				want["how"] = section.Telling
			case "nothing asked":
				want = map[string]section.Level{"how": section.Quiet}
			case "reproduced":
				want["published"] = section.Quiet
			}
			if d := cmp.Diff(levels, want); d != "" {
				t.Errorf("levels (-got +want):\n%s", d)
			}
		})
	}
}

func TestPublished(t *testing.T) {
	s, _ := read(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Published = append(m.Published, runfolder.Published{Variant: "csig", Metric: "absent", Value: 1, Low: 0.5, High: 2})
	})
	row := func(variant string, cells ...section.Cell) section.Row {
		return section.Row{Variant: variant, Cells: append(phrases.Cells(variant), cells...)}
	}
	cells := phrases.Cells
	want := []section.Row{
		row("baseline", append(cells("fairness_ratio", "4.668", "4.638 … 4.698 (3)", "5", "4.4 … 5.1"), section.Cell{Text: "✓ reproduced", State: section.Good}, section.Cell{Text: "slides"})...),
		row("csig", append(cells("fairness_ratio", "2.346", "2.316 … 2.376 (3)", "2.3", "2.2 … 2.31"), section.Cell{Text: "✗ outside: start-up trims", State: section.Bad}, section.Cell{Text: "slides"})...),
		row("csig", append(cells("absent", "–", "–", "1", "0.5 … 2"), section.Cell{Text: "✗ not measured", State: section.Bad}, section.Cell{})...),
	}
	if d := cmp.Diff(tableOf(t, s, "published").Rows, want); d != "" {
		t.Errorf("published (-got +want):\n%s", d)
	}
}

// A failed expectation stands at the top with both sides in full, and in the table with
// what it is made of.
func TestFailedExpectations(t *testing.T) {
	fair, least := 0.8, 2.5
	seed := uint64(2)
	failed := runfolder.Expectation{Expr: `csig["fct_us.p99"] < baseline["fct_us.p99"]`, Text: `csig["fct_us.p99"] = 1244.31 < baseline["fct_us.p99"] = 1190.02`, Value: 1244.31,
		Operands: []runfolder.Operand{{Expr: `csig["fct_us.p99"]`, Value: &fair}, {Expr: "fair", Value: &fair, Seed: &seed}, {Expr: `"rate_gbps.*"`, Count: 3}}}
	absent := runfolder.Expectation{Expr: "csig.x < 1", Text: "csig.x (absent) < 1", Reason: "csig has no x in seed 3", Operands: []runfolder.Operand{{Expr: "csig.x"}}}
	holds := runfolder.Expectation{Expr: "a > 2", Text: "a = 2.5 > 2", OK: true, Value: least, Operands: []runfolder.Operand{{Expr: "b", Value: &least}}, Notes: []string{"c is left out"}}
	s, r := read(t, func(_ *runfolder.Manifest, s *runfolder.Summary) {
		s.Expectations = []runfolder.Expectation{failed, absent, holds}
	})
	want := [][]string{
		{`csig["fct_us.p99"] = 1244.31 < baseline["fct_us.p99"] = 1190.02`, `✗ failed: with fair = 0.8 in seed 2, 3 values of "rate_gbps.*"`},
		{"csig.x (absent) < 1", "✗ failed: csig has no x in seed 3"},
		{"a = 2.5 > 2", "✓ holds: note: c is left out"},
	}
	if d := cmp.Diff(sectiontest.Rows(tableOf(t, s, "expectations")), want); d != "" {
		t.Errorf("expectations (-got +want):\n%s", d)
	}
	if d := cmp.Diff(NewBanner(&r.Facts).Reasons, []string{`✗ csig["fct_us.p99"] = 1244.31 < baseline["fct_us.p99"] = 1190.02`, "✗ csig.x (absent) < 1: csig has no x in seed 3"}); d != "" {
		t.Errorf("reasons (-got +want):\n%s", d)
	}
	_, r = read(t, func(_ *runfolder.Manifest, s *runfolder.Summary) {
		s.Expectations = []runfolder.Expectation{absent, absent, absent, absent}
	})
	if got := NewBanner(&r.Facts).Reasons; len(got) != 4 || got[3] != "and 1 more" {
		t.Errorf("reasons %q", got)
	}
}

// "`report` shows the finished seeds with a banner" (issue 10).
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
			if err := readingtest.AddRun(w, "base", seed, node, runfolder.RunData{Metrics: map[string]float64{"ratio": float64(seed)}, Invalid: c.invalid}); err != nil {
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
		s, r := sectiontest.Read[*Section](t, f, New)
		b := NewBanner(&r.Facts)
		const reason = "Interrupted. Missing: base, seed 2; alt, seed 7; many, 9 seeds. csiglab run --resume, with the name of this folder, does these runs."
		if b.State == section.Good || b.Headline != c.headline || b.Reasons[0] != reason {
			t.Errorf("%s: banner %+v, want %q and %q", c.name, b, c.headline, reason)
		}
		if v := r.Verdict; v.Good() || v.Valid != (c.invalid == nil) || len(v.Reasons) != 2*len(c.invalid) {
			t.Errorf("%s: verdict %+v", c.name, v)
		}
		if d := cmp.Diff(sectiontest.Rows(tableOf(t, s, "expectations")), [][]string{{"alt.ratio > base.ratio", "not evaluated"}}); d != "" {
			t.Errorf("%s: expectations (-got +want):\n%s", c.name, d)
		}
		if p := sectiontest.Part(s.Parts(), "expectations"); p.Says != "1 expectation not evaluated." || p.Level != section.Quiet {
			t.Errorf("%s: level %d, %q", c.name, p.Level, p.Says)
		}
		if len(r.Variants) != 1 || r.Variants[0].Seeds != 2 {
			t.Errorf("%s: variants %+v, want base with its 2 seeds", c.name, r.Variants)
		}
		var story section.Story
		story.Say(section.Answer, 1, "something")
		s.Tell(&story)
		if got := story.Sentences()[1]; !strings.Contains(strings.ToLower(got), "only 2 of 13 runs have finished") {
			t.Errorf("%s: story %q", c.name, got)
		}
	}
}

// Runs that ended with flows unfinished are a reason of the banner.
func TestUnfinishedComesFirst(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Open = true
	_, r := sectiontest.Read[*Section](t, e.Folder(t, func(m *runfolder.Manifest, s *runfolder.Summary) {
		for variant := range s.Variants {
			for i := range s.Variants[variant].Runs {
				s.Variants[variant].Runs[i].Metrics["model_ms"] = 32
			}
		}
	}), New)
	const in = "1 of 3 flows did not complete: the end of the run came first, at about 32\u00a0ms (variant %, in seed 1 of 3 seeds). The least done is 0-3 with 75 % of the payload."
	var want []string
	for _, variant := range []string{"baseline", "csig", "csig-wide"} {
		want = append(want, strings.Replace(in, "%", variant, 1))
	}
	want[2] += " Completion times are of the flows that completed."
	b := NewBanner(&r.Facts)
	if d := cmp.Diff(b.Reasons, want); d != "" {
		t.Errorf("reasons (-got +want):\n%s", d)
	}
	if b.State != section.Warn || !strings.HasPrefix(b.Headline, "Flows are unfinished. Valid; 2 of 2 expectations hold") {
		t.Errorf("banner %+v", b)
	}
}

func TestUnfinishedSentences(t *testing.T) {
	progress := func(seed uint64, completed int, cut bool, least ...reading.Done) reading.Progress {
		return reading.Progress{Variant: "run", Seed: seed, Flows: 240, Completed: completed, EndUS: 250, CutOff: cut, Least: least}
	}
	for _, c := range []struct {
		name string
		all  []reading.Progress
		want string
	}{
		{"all seeds", []reading.Progress{progress(1, 238, true, reading.Done{Flow: "0-8", Share: 0.5}), progress(2, 235, true, reading.Done{Flow: "4-8", Share: 0.124}, reading.Done{Flow: "5-8", Share: 0.3})},
			"2 to 5 of 240 flows did not complete: the end of the run came first, at about 250\u00a0µs (in all 2 seeds). The least done are 4-8 with 12.4 % and 5-8 with 30 % of the payload in seed 2. Completion times are of the flows that completed."},
		{"stuck", []reading.Progress{progress(1, 239, false, reading.Done{Flow: "0-8"}), progress(2, 240, false)},
			"1 of 240 flows did not complete (in seed 1 of 2 seeds). The least done is 0-8 with 0 % of the payload. Completion times are of the flows that completed."},
		{"all complete", []reading.Progress{progress(1, 240, false), progress(2, 240, false)}, ""},
	} {
		f := &reading.Facts{Variants: []reading.Variant{{Name: "run"}}, Progress: c.all, Setup: reading.Setup{Seeds: []uint64{1, 2}},
			Runs: []reading.Run{{Variant: "run", Seed: 1}, {Variant: "run", Seed: 2}}}
		if got := strings.Join(Unfinished(f), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Notes have the variants and the seeds that they are of.
func TestNotes(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		for i := range m.Variants {
			m.Variants[i].Notes = append(m.Variants[i].Notes, "all have <this>")
		}
		m.Variants[1].Notes = append(m.Variants[1].Notes, "two have this", "one has this")
		m.Variants[2].Notes = append(m.Variants[2].Notes, "two have this")
	})
	f.Manifest.Runs[0].Notes = []string{"of one run"}
	for _, run := range []int{3, 4, 6} {
		f.Manifest.Runs[run].Notes = []string{"of several runs"}
	}
	_, r := sectiontest.Read[*Section](t, f, New)
	want := []string{
		"all have <this>.", "Variants csig and csig-wide: two have this.", "Variant csig: one has this.", "Variant baseline, seed 1: of one run.",
		"Variant csig, seeds 1 and 2: of several runs.", "Variant csig-wide, seed 1: of several runs.",
	}
	if d := cmp.Diff(Notes(&r.Facts), want); d != "" {
		t.Errorf("notes (-got +want):\n%s", d)
	}
}

// A report says that records were dropped, and nothing when none were.
func TestDroppedRecords(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	for dropped, want := range map[int64]string{0: "", 12_345: "12\u202f345: charts and findings lack as many telemetry windows"} {
		f.Manifest.DroppedRecords = dropped
		s, _ := sectiontest.Read[*Section](t, f, New)
		got := ""
		for _, row := range sectiontest.Rows(s.how()) {
			if row[0] == "Dropped records" {
				got = row[1]
			}
		}
		if got != want {
			t.Errorf("%d dropped: %q, want %q", dropped, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	s, _ := read(t, nil)
	p := sectiontest.Part(s.Parts(), "how")
	if len(p.Blocks) != 3 || p.Blocks[0] != section.Code("csiglab run three-flow") || p.Says != "9 runs of 3 variants." {
		t.Fatalf("part %+v", p)
	}
	if row := sectiontest.Rows(p.Blocks[2].(*section.Table))[0]; row[6] != "✓ conservation" || row[5] != "01ab00000000" {
		t.Errorf("run %q", row)
	}
}

// A table that grows with the number of runs ends, and those that are not valid come
// first.
func TestManyRuns(t *testing.T) {
	var all []reading.Run
	for i := range 1000 {
		all = append(all, reading.Run{Variant: "run", Seed: uint64(i), Valid: i != 700})
	}
	got := table(all)
	if len(got.Rows) != phrases.MaxRows || got.Rows[0].Cells[1].Text != "700" || !strings.Contains(got.Note, "The first 200 of 1000 runs; manifest.json") {
		t.Errorf("%d rows, first %v, note %q", len(got.Rows), got.Rows[0], got.Note)
	}
}

// The story says how much the figures are worth.
func TestSure(t *testing.T) {
	facts := func(seeds int, variants ...string) *Section {
		r := &reading.Reading{Facts: reading.Facts{Verdict: reading.Verdict{Valid: true}}}
		for _, v := range variants {
			r.Variants = append(r.Variants, reading.Variant{Name: v, Seeds: seeds})
			for range seeds {
				r.Runs = append(r.Runs, reading.Run{Variant: v, Valid: true})
			}
		}
		return &Section{r: r}
	}
	invalid, lacking := facts(1, "run"), facts(1, "run")
	invalid.r.Verdict.Valid, invalid.r.Runs[0].Valid = false, false
	lacking.r.Verdict.Incomplete, lacking.r.DroppedRecords = &reading.Incomplete{Finished: 2, Runs: 9}, 1234
	for _, c := range []struct {
		s    *Section
		want string
	}{
		{facts(1, "run"), "the run is valid; with one seed, how much of this is chance is not known"},
		{facts(3, "run"), "all 3 runs are valid; the figures are medians of 3 seeds"},
		{facts(3, "a", "b"), "all 6 runs are valid; the figures are medians of 3 seeds"},
		{invalid, "do not rely on these figures: 1 of 1 run is not valid; with one seed, how much of this is chance is not known"},
		{lacking, "only 2 of 9 runs have finished; 1234 records found no room and the charts lack them; the run is valid; with one seed, how much of this is chance is not known"},
	} {
		if got := c.s.sure(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
