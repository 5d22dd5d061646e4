package history

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/section/variants"
)

var began = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

// revisionOf returns the revision of a day, whose metrics have values for the seeds from 1 on.
func revisionOf(number int, outcome verdict.Outcome, values map[string][]float64) verdict.Revision {
	r := verdict.Revision{Name: fmt.Sprintf("git:r%d", number), Source: fmt.Sprintf("verdicts/%d", number), Suite: "s", Date: began.AddDate(0, 0, number), Outcome: outcome}
	c := verdict.Cell{Name: "x", Clock: "virtual"}
	for _, name := range []string{"fct_us.p99", "jain.all", "trims"} {
		kept := verdict.Kept{Name: name, Outcome: outcome, Values: map[uint64]float64{}}
		for i, v := range values[name] {
			kept.Values[uint64(i+1)] = v
		}
		c.Metrics = append(c.Metrics, kept)
	}
	r.Cells = append(r.Cells, c)
	return r
}

// noisy returns values of eight seeds around a level, each off by up to 0.2 %.
func noisy(level, of float64) []float64 {
	values := make([]float64, 8)
	for i := range values {
		values[i] = level * (1 + 0.002*math.Sin(float64(i*i)+of))
	}
	return values
}

func historyOf(t *testing.T, revisions ...verdict.Revision) *History {
	t.Helper()
	h, err := New(revisions, nil, compare.NewDesign(measure.Meaning))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// five is a history in which one metric gets worse at 3 and better at 5, and another one moves without
// a direction at 5.
func five(t *testing.T) *History {
	t.Helper()
	var all []verdict.Revision
	for i, level := range []float64{1000, 1000, 1200, 1201, 900} {
		trims := 100.0
		if i == 4 {
			trims = 150
		}
		outcome := verdict.Pass
		if i == 2 {
			outcome = verdict.Fail
		}
		all = append(all, revisionOf(i+1, outcome, map[string][]float64{"fct_us.p99": noisy(level, float64(i)), "jain.all": noisy(0.9, 0), "trims": noisy(trims, float64(i))}))
	}
	for i := range all {
		all[i].Cells[0].Metrics[2].Better = verdict.Same
	}
	return historyOf(t, all...)
}

// A change is where the values of all seeds move by more than their noise, against the revision before.
func TestChanges(t *testing.T) {
	h := five(t)
	if len(h.Metrics) != 3 || h.Metrics[0].Name != "fct_us.p99" || h.Metrics[0].Unit != "µs" || h.Metrics[0].Better != "lower" || h.Metrics[2].Better != "" {
		t.Fatalf("%+v", h.Metrics)
	}
	for i, want := range []map[int]variants.Effect{{2: variants.Same, 3: variants.Worse, 4: variants.Same, 5: variants.Better}, {2: variants.Same, 3: variants.Same, 4: variants.Same, 5: variants.Same}, {2: variants.Same, 3: variants.Same, 4: variants.Same, 5: compare.Changed}} {
		m := &h.Metrics[i]
		for _, p := range m.Points {
			if p.Revision == 1 && p.Change == nil {
				continue
			}
			if p.Change == nil || p.Change.Outcome != want[p.Revision] || p.Change.Since != p.Revision-1 {
				t.Errorf("%s at %d: %+v, want %s", m.Name, p.Revision, p.Change, want[p.Revision])
			}
		}
	}
	p := h.Metrics[0].Points[2]
	if p.Seeds != 8 || p.Low == nil || !(*p.Low <= p.Median && p.Median <= *p.High) || math.Abs(p.Change.Effect-0.2) > 0.01 || p.Verdict != verdict.Fail {
		t.Errorf("%+v", p)
	}
}

// Where a revision lacks an experiment, the next one is compared with the last that has it. Seeds too
// few for an interval have none.
func TestGaps(t *testing.T) {
	values := map[string][]float64{"fct_us.p99": noisy(100, 1)}
	other := revisionOf(2, verdict.Pass, values)
	other.Cells[0].Name = "y"
	few := revisionOf(4, verdict.Pass, map[string][]float64{"fct_us.p99": {100, 101}})
	h := historyOf(t, revisionOf(1, verdict.Pass, values), other, revisionOf(3, verdict.Pass, map[string][]float64{"fct_us.p99": noisy(130, 2)}), few)
	m := &h.Metrics[0]
	if len(h.Metrics) != 2 || len(m.Points) != 3 || m.Points[1].Change.Since != 1 || m.Points[1].Change.Outcome != variants.Worse {
		t.Fatalf("%+v", h.Metrics)
	}
	if p := m.Points[2]; p.Low != nil || p.High != nil || p.Change.Outcome != compare.Inconclusive {
		t.Errorf("%+v, %+v", p, p.Change)
	}
}

// An experiment of one name that is another one is said to be.
func TestRedefined(t *testing.T) {
	a, b := revisionOf(1, "", map[string][]float64{"fct_us.p99": noisy(100, 1)}), revisionOf(2, "", map[string][]float64{"fct_us.p99": noisy(130, 1)})
	a.Cells[0].Definition, b.Cells[0].Definition = "one", "two"
	h := historyOf(t, a, b)
	if !h.Metrics[0].Points[1].Redefined || len(h.Notes) != 1 || !strings.Contains(textOf(t, h), "note: x: the experiment itself changed too") {
		t.Errorf("%+v %q", h.Metrics[0].Points, h.Notes)
	}
}

// Of 20 experiments of 4 metrics whose traces change at each revision and whose values do not, some
// metric of a revision is said to change at 5 % of the revisions at most; one that does change is found
// meanwhile, with eight seeds.
func TestHistoryKeepsItsLevel(t *testing.T) {
	const revisions, experiments, metrics, seeds = 500, 20, 4, 8
	random := rand.New(rand.NewPCG(5, 9))
	var all []verdict.Revision
	for i := range revisions {
		r := verdict.Revision{Name: fmt.Sprint(i), Date: began.AddDate(0, 0, i)}
		for e := range experiments {
			c := verdict.Cell{Name: fmt.Sprint("x", e)}
			for m := range metrics {
				kept := verdict.Kept{Name: fmt.Sprint("fct_us.m", m), Values: map[uint64]float64{}}
				for s := range seeds {
					v := 100 * math.Exp(0.03*random.ExpFloat64())
					if e == 0 && m == 0 && i%2 == 1 {
						v *= 1.5
					}
					kept.Values[uint64(s+1)] = v
				}
				c.Metrics = append(c.Metrics, kept)
			}
			r.Cells = append(r.Cells, c)
		}
		all = append(all, r)
	}
	h := historyOf(t, all...)
	wrong, found := map[int]bool{}, 0
	for i := range h.Metrics {
		for k := range h.Metrics[i].Points {
			switch p := &h.Metrics[i].Points[k]; {
			case !p.Change.moved():
			case i == 0:
				found++
			default:
				wrong[p.Revision] = true
			}
		}
	}
	// 5 % of 499 are 25, and three standard deviations more are 39.
	if len(wrong) > 39 || found < 490 {
		t.Errorf("at %d of 499 revisions a metric without a change is said to change; %d of 499 changes are found", len(wrong), found)
	}
	t.Logf("wrong at %d of 499, found %d", len(wrong), found)
}

func textOf(t *testing.T, h *History) string {
	t.Helper()
	var b strings.Builder
	if err := h.WriteText(&b, "csiglab history verdicts --html history.html"); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), "\u00a0", " ")
}

func TestForms(t *testing.T) {
	h := five(t)
	text := textOf(t, h)
	for _, want := range []string{
		"s: 5 revisions from 2026-05-02 to 2026-05-06: 2 of 3 metrics changed by more than the noise; the last verdict is pass.\n",
		"  3  2026-05-04  git:r3    fail     1 worse\n",
		"  5  2026-05-06  git:r5    pass     1 better, 1 changed\n",
		"\n  better   5     x           fct_us.p99  1.2 → 0.9 ms       −25 %\n",
		"\n  WORSE    3     x           fct_us.p99  1 → 1.2 ms         +20 %\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var page, markdown strings.Builder
	if err := h.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="experiment-0-metrics"`, "better at 5: −25", "verdict fail at 3", "✗ fail"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if err := h.WriteMarkdown(&markdown); err != nil || !strings.Contains(markdown.String(), "| 5 | git:r5 | x | trims | 100 → 150") || !strings.Contains(markdown.String(), "| 3 | git:r3 | 1.2\u00a0ms ✗ fail, +20\u00a0% ✗ worse | 0.9 ✗ fail | ") {
		t.Errorf("%v: %s", err, markdown.String())
	}
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back History
	if err := json.Unmarshal(data, &back); err != nil || back.Schema != Schema || len(back.Revisions) != 5 || back.Metrics[0].Points[4].Change.Outcome != variants.Better {
		t.Errorf("%v: %s", err, data)
	}
}

// A long history fits a screen, and says how to see all.
func TestLongHistory(t *testing.T) {
	var all []verdict.Revision
	for i := range 60 {
		all = append(all, revisionOf(i+1, verdict.Pass, map[string][]float64{"fct_us.p99": noisy(100+50*float64(i%2), 1)}))
	}
	text := textOf(t, historyOf(t, all...))
	if n := strings.Count(text, "\n"); n > 24 || !strings.HasSuffix(text, "all: csiglab history verdicts --html history.html\n") || !strings.Contains(text, "\n  60  ") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}

// Names that somebody wrote by hand are shown as text.
func TestHostileHistory(t *testing.T) {
	name := "<script>hacked=1</script>\n\x00\x07\u202e| a | [b](javascript:hacked=1)"
	a, b := revisionOf(1, "odd\x07", map[string][]float64{"trims": noisy(1, 1)}), revisionOf(2, "odd\x07", map[string][]float64{"trims": noisy(2, 1)})
	for _, r := range []*verdict.Revision{&a, &b} {
		r.Name, r.Suite, r.Source, r.Against, r.Failed, r.Cells[0].Name = name, name, name, name, []string{name}, name
		r.Cells[0].Metrics[2].Name = name
	}
	h := historyOf(t, a, b)
	var page, markdown strings.Builder
	if err := h.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := h.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{page.String(), markdown.String(), textOf(t, h)} {
		if strings.ContainsAny(text, "\x00\x07\u202e") {
			t.Errorf("%d bytes have a hostile character", len(text))
		}
	}
	if strings.Contains(page.String(), "<script>hacked") || strings.Contains(markdown.String(), "<script>") {
		t.Error("a name is markup")
	}
}
