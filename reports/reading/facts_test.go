package reading

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// surveyed returns a folder after its survey.
func surveyed(t *testing.T, f *runfolder.Folder) *Reading {
	t.Helper()
	r, err := Open(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Survey(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerdict(t *testing.T) {
	r := surveyed(t, readingtest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, s *runfolder.Summary) {
		m.Published = append(m.Published, runfolder.Published{Variant: "csig", Metric: "absent", Value: 1, Low: 0.5, High: 2},
			runfolder.Published{Variant: "baseline", Metric: "target_qdelay_us", Value: 10, Low: 10.517, High: 10.517})
		s.Expectations[1].OK = false
	}))
	v := &r.Verdict
	var outcomes []Outcome
	for _, c := range v.Published {
		outcomes = append(outcomes, c.Outcome)
	}
	// The band includes its ends.
	if want := []Outcome{Reproduced, Outside, NotMeasured, Reproduced}; !cmp.Equal(outcomes, want) {
		t.Errorf("outcomes %v, want %v", outcomes, want)
	}
	if v.Good() || !v.Valid || v.Held() != 1 || v.Count(Reproduced) != 2 || v.Count(Outside) != 1 || v.Count(NotMeasured) != 1 {
		t.Errorf("verdict %+v", v)
	}
	ratio := (69.9 + 69.5) / 2 / 30.1 // of the seeds, and 0.03 more from one to the next
	median := ratio + 0.03
	want := []Comparison{
		{Variant: "csig", Metric: "fairness_ratio", Measured: &median, Seeds: Spread{3, ratio, ratio + 0.06}, Published: 2.3, Low: 2.2, High: 2.31, Outcome: Outside, Source: "slides", Note: "start-up trims"},
		{Variant: "csig", Metric: "absent", Published: 1, Low: 0.5, High: 2, Outcome: NotMeasured},
	}
	if diff := cmp.Diff(v.Published[1:3], want, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("comparisons (-got +want):\n%s", diff)
	}
}

// A figure of an experiment that was changed is not the published one, and the known cause of another
// figure is not its cause.
func TestPublishedOfAnother(t *testing.T) {
	f := surveyed(t, readingtest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Command = []string{"csiglab", "run", "three-flow", "--set", "csig.init=1/64", "--set=end=1ms"}
	}))
	if f.Verdict.Published == nil {
		t.Fatal("nothing published")
	}
	for _, c := range f.Verdict.Published {
		if c.Note != "the experiment was changed (csig.init=1/64 end=1ms), and the published figure is not of that" {
			t.Errorf("note %q", c.Note)
		}
	}
}

// Utilisation is of the time that a port sends, which has the line overhead in it and is right
// while a fault slows the port: bytes over its rate are not.
func TestUtilisationIsOfTime(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Utilise = 10.0 / 11
	for _, change := range []func(m *runfolder.Manifest){
		func(m *runfolder.Manifest) { m.Variants[0].Overhead = 415 },
		func(m *runfolder.Manifest) {
			for i := range m.Ports {
				m.Ports[i].RateBPS *= 4
			}
		},
	} {
		f := surveyed(t, e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { change(m) }))
		if got := f.Limits[0].Busiest().Utilisation; math.Abs(got-e.Utilise) > 0.002 {
			t.Errorf("utilisation %.4f, want %.4f", got, e.Utilise)
		}
	}
}

func TestFindings(t *testing.T) {
	f := surveyed(t, readingtest.ThreeFlow().Folder(t, nil))
	if len(f.Limits) != 2 || f.Limits[0].PortID != (PortID{5, 3}) || f.Limits[1].PortID != (PortID{4, 1}) {
		t.Fatalf("ports %+v, want the deeper queue of s1 -> s2 first", f.Limits)
	}
	if p := f.Limits[0]; p.From != "s1" || p.To != "s2" || p.Parallel || !p.Full || len(p.Use) != 3 || p.Busiest().Utilisation != 1 {
		t.Errorf("port %+v", p)
	}
	if use, ok := f.Limits[1].In("baseline"); !ok || math.Abs(use.MeanQueueBytes-71_000) > 2000 || use.PeakQueueBytes < 1.3*60_000 {
		t.Errorf("use %+v", use)
	}
	if diff := cmp.Diff(f.Crossings, &Crossings{All: []string{"0-3"}, Some: [][]string{{"2-3"}, {"0-1"}}}); diff != "" {
		t.Errorf("crossings (-got +want):\n%s", diff)
	}
	if s := f.Sharing; s == nil || s.Slowest != "0-3" || s.Flows != 3 || s.Even || len(s.Rates) != 3 || math.Abs(s.Rates[1].SlowestGbps-30.1) > 0.2 {
		t.Errorf("sharing %+v", s)
	}
	e := readingtest.ThreeFlow()
	e.Utilise = 0.63
	f = surveyed(t, e.Folder(t, nil))
	if len(f.Limits) == 0 || f.Limits[0].Full || f.Crossings != nil {
		t.Errorf("findings of links that are not full: %+v", f.Limits)
	}
}

// The rate of a flow is the metric's, which is that of the flow's own time, whether the
// measuring window has an end or not.
func TestRatesOfOpenWindow(t *testing.T) {
	for open, want := range map[bool]float64{true: 80, false: 80} {
		f := readingtest.OneWindow(t, open, 2, readingtest.Flow{Name: "a", Size: 5, Gbps: 40})
		if got := surveyed(t, f).Medians["run"]["a"]; got != want {
			t.Errorf("open window %v: rate %v, want %v", open, got, want)
		}
	}
}

func TestManyFlows(t *testing.T) {
	var flows []runfolder.Flow
	rates := map[string]float64{}
	for i := range 20 {
		name := string(rune('a' + i))
		flows = append(flows, runfolder.Flow{Name: name})
		rates[name] = float64((i * 7) % 20)
	}
	groups, group := groupFlows(flows, rates)
	// Slowest a d g j by rate 0 1 2 3, fastest by 17 18 19.
	if len(groups) != MaxGroups || groups[MaxGroups-1] != (Group{Flows: 13}) {
		t.Errorf("groups %v", groups)
	}
	for i, g := range groups[:MaxGroups-1] {
		if r := rates[g.Flow]; r > 3 && r < 17 {
			t.Errorf("flow %s of rate %v has its own line", g.Flow, r)
		}
		if group[g.Flow] != i {
			t.Errorf("flow %s is in group %d, want %d", g.Flow, group[g.Flow], i)
		}
	}
	if group["b"] != MaxGroups-1 {
		t.Errorf("flow b is in group %d, want the last", group["b"])
	}
}

func TestLongRunIsThinned(t *testing.T) {
	r := surveyed(t, readingtest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.IntervalUS = 10 }))
	// 31910 us in windows of 10 us are more than 800 points of 10, 20 or 30 us.
	if r.PointUS != 40 {
		t.Errorf("points of %v us, want 40", r.PointUS)
	}
}

func TestDamagedTable(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	for _, table := range []string{"ports", "flows", "cc", "phases"} {
		path := filepath.Join(f.Dir, table+".parquet")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{whole[:100], whole} {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := Open(f, measure.Meaning)
			if err == nil {
				err = r.Survey()
			}
			if err == nil {
				err = r.Finish(ccReader{})
			}
			if damaged := len(text) < len(whole); damaged != errors.Is(err, runfolder.ErrDamaged) || damaged && !strings.Contains(err.Error(), path) {
				t.Errorf("reading %d of %d bytes of %s: %v", len(text), len(whole), table, err)
			}
		}
	}
}

// The order in which rows of several runs were written does not matter.
func TestRunsThatAlternate(t *testing.T) {
	checkout.SkipSlowRace(t)
	f := readingtest.ThreeFlow().Folder(t, nil)
	want := surveyed(t, f).Facts
	f.Manifest.Files = nil // the digests of the tables as they were
	alternate[runfolder.PortRow](t, f, "ports")
	alternate[runfolder.FlowRow](t, f, "flows")
	alternate[runfolder.PhaseRow](t, f, "phases")
	if diff := cmp.Diff(surveyed(t, f).Facts, want, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("rows in another order (-got +want):\n%s", diff)
	}
}

// alternate writes a table again such that rows of all runs alternate, each run
// in its order. All runs must have as many rows.
func alternate[Row any](t *testing.T, f *runfolder.Folder, table string) {
	t.Helper()
	path := filepath.Join(f.Dir, table+".parquet")
	rows, err := parquet.ReadFile[Row](path)
	if err != nil {
		t.Fatal(err)
	}
	runs := len(f.Manifest.Runs)
	var mixed []Row
	for i := range len(rows) / runs {
		for r := range runs {
			mixed = append(mixed, rows[r*len(rows)/runs+i])
		}
	}
	if len(mixed) != len(rows) {
		t.Fatalf("%s has %d rows of %d runs", table, len(rows), runs)
	}
	if err := parquet.WriteFile(path, mixed); err != nil {
		t.Fatal(err)
	}
}

func TestPrograms(t *testing.T) {
	at := 5.0
	f := readingtest.ThreeFlow().Folder(t, nil)
	f.Manifest.Runs[0].Programs = []runfolder.Program{
		{Host: "h0", StartUS: &at}, {Host: "h0", StartUS: &at, Code: 3}, {Host: "h0", StartUS: &at, Signal: "killed", Code: -1},
		{Host: "h0", StartUS: &at, Code: 1, Stopped: true}, {Host: "h0", Failure: "no such file"}, {Host: "h0"},
	}
	got := surveyed(t, f).Programs
	var endings []Ending
	good := 0
	for _, p := range got {
		endings = append(endings, p.Ending)
		if p.Good() {
			good++
		}
	}
	if want := []Ending{Exited, Exited, Killed, Stopped, Failed, NotStarted}; !cmp.Equal(endings, want) || good != 1 || got[1].Code != 3 || got[2].Code != 0 {
		t.Errorf("programs %+v, want %v", got, want)
	}
}

func TestFidelity(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	if got := surveyed(t, f).Fidelity; got != nil {
		t.Errorf("virtual time: %+v", got)
	}
	f.Manifest.Runs[1].Fidelity = &runfolder.Fidelity{LatenessP99US: 90, LatenessShare: 0.1, Frames: 1000, Lost: 1, Unread: 2, Displaced: 3}
	f.Manifest.Runs[4].Fidelity = &runfolder.Fidelity{LatenessP99US: 80, LatenessShare: 0.2, Frames: 500, Displaced: 1}
	if got, want := surveyed(t, f).Fidelity, (&Fidelity{LatenessP99US: 80, LatenessShare: 0.2, Frames: 1500, Lost: 3, Displaced: 4}); !cmp.Equal(got, want) {
		t.Errorf("fidelity %+v, want %+v", got, want)
	}
}

// A run that ends with flows unfinished says how many of how many, and which are the
// least done. Flows of programs do not count.
func TestUnfinished(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Rates = map[string][3]float64{"baseline": e.Rates["baseline"]}
	e.Open = true
	f := e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Flows = append(m.Flows, runfolder.Flow{Flow: 3, Name: "h0-h3 app"}) // without a size
	})
	r := surveyed(t, f)
	want := []Progress{
		{Variant: "baseline", Seed: 1, Flows: 3, Completed: 2, CutOff: true, Least: []Done{{"0-3", 0.75}}},
		{Variant: "baseline", Seed: 2, Flows: 3, Completed: 3}, {Variant: "baseline", Seed: 3, Flows: 3, Completed: 3},
	}
	if d := cmp.Diff(r.Progress, want); d != "" {
		t.Errorf("progress (-got +want):\n%s", d)
	}
	if d := cmp.Diff(r.Unfinished(), want[:1]); d != "" {
		t.Errorf("unfinished (-got +want):\n%s", d)
	}
	// A check that says that a transport is stuck: the end is not the cause.
	f.Manifest.Runs[0].Checks = []runfolder.Check{{Name: "completion", Detail: "flow 0-3 did not complete, and nothing is left to do"}}
	if p := surveyed(t, f).Progress[0]; p.CutOff || p.Open() != 1 {
		t.Errorf("a run whose transport is stuck: %+v", p)
	}
}

func TestLeastDone(t *testing.T) {
	var least []Done
	for _, d := range []Done{{"a", 0.5}, {"b", 0.1}, {"c", 0.9}, {"d", 0.1}, {"e", 0}, {"f", 0.1}} {
		least = addLeast(least, d)
	}
	if d := cmp.Diff(least, []Done{{"e", 0}, {"b", 0.1}, {"d", 0.1}}); d != "" {
		t.Errorf("least done (-got +want):\n%s", d)
	}
}

// ccReader asks for the table of congestion controls.
type ccReader struct{}

func (ccReader) Pass(n int, p *Pass) error {
	if n == 1 {
		p.CC(func(*runfolder.CCRow) {})
	}
	return nil
}

// The rates of flows that the summary lacks come from the table of metrics.
func TestRatesBeyondTheSummary(t *testing.T) {
	m := &readingtest.Many{Leaves: 4, Spines: 2, Hosts: 4}
	if s := surveyed(t, m.Folder(t)).Sharing; s == nil || s.Slowest != "3-2" || s.Rates[0].SlowestGbps != 0.6 {
		t.Errorf("sharing %+v, want 3-2 with 0.6 Gb/s", s)
	}
}

// The JSON form of values has null where there is none.
func TestValues(t *testing.T) {
	text, err := json.Marshal(Values{1, math.NaN(), 2.5})
	if err != nil || string(text) != "[1,null,2.5]" {
		t.Fatalf("%s, %v", text, err)
	}
	var back Values
	if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(back, Values{1, math.NaN(), 2.5}, cmpopts.EquateNaNs()) {
		t.Errorf("%v, %v", back, err)
	}
}
