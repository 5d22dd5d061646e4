package reports

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/reports/svg"
)

// jobOf returns a job with so many iterations of a time that it ends with a collective of 30 %.
func jobOf(name string, begin, us float64, n int) analysis.SharedJob {
	j := analysis.SharedJob{Name: name, Links: []string{"s0-s1"}, MedianUS: us, MeanUS: us, Times: n, TimesUS: []float64{us}}
	for k := range n {
		from, to := begin+us*float64(k), begin+us*float64(k+1)
		j.Iterations = append(j.Iterations, analysis.Iteration{Step: int32(k + 1), BeginUS: from, EndUS: to, Phases: [][]float64{{to - 0.3*us, to}}, Shared: [][]float64{}})
	}
	return j
}

func groupOf(variant string, jobs ...analysis.SharedJob) analysis.JobGroup {
	return analysis.JobGroup{Variant: variant, Seed: 1, Base: "fair", Links: []string{"s0-s1"}, Jobs: jobs, Pairs: []analysis.JobPair{}}
}

func resultOf(groups ...analysis.JobGroup) *analysis.Result {
	r := &analysis.Result{JobGroups: groups}
	for _, g := range groups {
		if !slices.ContainsFunc(r.Variants, func(v analysis.Variant) bool { return v.Name == g.Variant }) {
			r.Variants = append(r.Variants, analysis.Variant{Name: g.Variant, Seeds: 1, Shown: 1})
		}
	}
	return r
}

// The table has predicted beside measured times and speed-ups, links, and four digits.
func TestTableOfJobsThatShareLinks(t *testing.T) {
	first, last, apart := 0.994, 0.002, 6.0
	j := jobOf("a", 0, 1841, 3)
	j.Links = []string{"s0-s1", "s1-s2", "s2-s3"}
	j.SettledUS, j.SpeedUps, j.PredictedSpeedUp = 1841, []float64{1.2, 1.25, 1.3}, 1.24
	j.OverlapFirst, j.OverlapLast, j.Apart = &first, &last, &apart
	j.Prediction = &analysis.Prediction{AloneUS: 1800, FluidUS: 1850, Law: "weights 2 : 1"}
	lacks := jobOf("b", 0, 1841, 3)
	lacks.Links, lacks.Prediction = nil, &analysis.Prediction{Reason: "kind collective"}
	table := jobGroups(resultOf(groupOf("unfair", j, lacks)))
	if len(table.Columns) > 12 || !strings.Contains(table.Note, "variant fair") {
		t.Errorf("%d columns; note %q", len(table.Columns), table.Note)
	}
	for i, want := range []string{
		"unfair|a|s0-s1, s1-s2 and 1 more|1.841 ms|1.85 ms|-0.5 %|1.8 ms|1.25 (1.20–1.30)|1.24|99.4 % → 0.2 %|6|weights 2 : 1",
		"unfair|b|–|1.841 ms|–|–|–|–|–|–|–|kind collective",
	} {
		var row []string
		for _, c := range table.Rows[i] {
			row = append(row, strings.ReplaceAll(c.Text, "\u00a0", " "))
		}
		if got := strings.Join(row, "|"); got != want {
			t.Errorf("row %d (-got +want):\n-%s\n+%s", i, got, want)
		}
		if len(row) != len(table.Columns) {
			t.Errorf("row %d has %d cells", i, len(row))
		}
	}
}

func jobChart(t *testing.T, r *analysis.Result, id string) Chart {
	t.Helper()
	charts := jobCharts(r)
	at := slices.IndexFunc(charts, func(c Chart) bool { return c.ID == id })
	if at < 0 {
		t.Fatalf("no chart %s", id)
	}
	return charts[at]
}

// Overlap has a gap where no other job runs, and a job has one style in all variants.
func TestOverlapChart(t *testing.T) {
	a, b := jobOf("a", 0, 100, 4), jobOf("b", 0, 100, 2)
	a.Iterations[0].Overlap, a.Iterations[2].Alone, a.Iterations[3].Phases = 0.4, true, nil
	c := jobChart(t, resultOf(groupOf("fair", a, b), groupOf("other", b, a)), "overlap")
	if d := cmp.Diff(c.Panels[0].Lines[0].Y, []float64{40, 0, math.NaN(), math.NaN()}, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("overlap of a (-got +want):\n%s", d)
	}
	if d := cmp.Diff(c.Legend, []Key{{Name: "a"}, {Name: "b", Style: 1}}); d != "" {
		t.Errorf("legend (-got +want):\n%s", d)
	}
	if other := c.Panels[1].Lines; other[0].Name != "b" || other[0].Style != 1 || other[1].Style != 0 {
		t.Errorf("styles in the other variant: %+v", other)
	}
}

// Differences keep their sign, wrap with a gap, and are labelled in the order of the pair; the
// recurrence has the pair's colour, and names its weights.
func TestPhaseChart(t *testing.T) {
	g := groupOf("unfair", jobOf("a", 0, 100, 6), jobOf("b", 0, 100, 6))
	g.Pairs = []analysis.JobPair{{A: "b", B: "a", PeriodUS: 100, Steps: []float64{1, 2, 3, 4}, DifferenceUS: analysis.Values{-4, 5, 80, -2},
		RecurrenceUS: analysis.Values{math.NaN(), 5, 17, 23}, Ratio: 2.44, ApartUS: 30, ApartToUS: 70}}
	c := jobChart(t, resultOf(g), "phases")
	p := c.Panels[0]
	if p.Lines[0].Name != "a after b" || p.Lines[1].Name != "a after b: recurrence for weights 2.44 : 1" || !strings.Contains(c.Caption, "recurrence") {
		t.Errorf("%q and %q; %s", p.Lines[0].Name, p.Lines[1].Name, c.Caption)
	}
	if d := cmp.Diff(p.Lines[0].Y, []float64{-4, 5, math.NaN(), 80, math.NaN(), -2}, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("differences (-got +want):\n%s", d)
	}
	pair, model := lineStyle(p.Lines[0].Style), lineStyle(p.Lines[1].Style)
	if pair.Color != model.Color || cmp.Equal(pair.Dashes, model.Dashes) {
		t.Errorf("styles %+v and %+v", pair, model)
	}
	if d := cmp.Diff(p.Marks, []Mark{{"apart", 30}, {"apart below", 70}}); d != "" {
		t.Errorf("marks (-got +want):\n%s", d)
	}
	ticks, low, top := ticksFrom(p.YMin, p.YMax)
	if low > -4 || top < 80 || ticks[0].Value != 0 {
		t.Errorf("axis from %v to %v, ticks %v", low, top, ticks)
	}
	if data := p.data(); data.Y.Min != low || data.Y.Max != top {
		t.Errorf("the script's axis is from %v to %v", data.Y.Min, data.Y.Max)
	}
	g.Pairs[0].ApartUS, g.Pairs[0].ApartToUS, g.Pairs[0].DifferenceUS = 0, 0, analysis.Values{1, 2, 3, 4}
	if marks := jobChart(t, resultOf(g), "phases").Panels[0].Marks; len(marks) > 0 {
		t.Errorf("jobs that never are apart have %v", marks)
	}
}

// The distribution of iteration times is a step function that ends at 100 %: 15 of 16
// iterations are 93.75 %. Each group has an axis of its own.
func TestIterationTimesChart(t *testing.T) {
	a := jobOf("a", 0, 143, 2)
	a.Times, a.TimesUS = 16, append(slices.Repeat([]float64{143}, 15), 152)
	c := jobChart(t, resultOf(groupOf("fair", a, jobOf("b", 0, 300, 2)), groupOf("fair", jobOf("long", 0, 90000, 2))), "iterations")
	l := c.Panels[0].Lines[0]
	at := slices.Index(l.X, 152)
	if len(l.X) != 32 || l.Y[0] != 0 || l.Y[at] != 93.75 || l.Y[at+1] != 100 {
		t.Errorf("x %v, y %v", l.X, l.Y)
	}
	var ends []string
	for _, p := range c.Panels {
		ends = append(ends, fmt.Sprintf("%s: %.0f, %s", p.Title, p.XMax/1.02, p.XLabel))
	}
	if d := cmp.Diff(ends, []string{"a: 300, Iteration time (µs)", "b: 300, Iteration time (µs)", "long: 90, Iteration time (ms)"}); d != "" {
		t.Errorf("axes (-got +want):\n%s", d)
	}
}

// Where there is no place for all groups, those are shown that have all variants, with the
// base among them.
func TestShownGroups(t *testing.T) {
	var groups []*analysis.JobGroup
	for _, variant := range []string{"x", "y", "fair"} {
		for _, name := range []string{"a", "b"} {
			g := groupOf(variant, jobOf(name, 0, 100, 2))
			groups = append(groups, &g)
		}
	}
	for most, want := range map[int]string{2: "x a, fair a", 4: "x a, y a, fair a, fair b", 9: "x a, y a, fair a, x b, y b, fair b"} {
		var got []string
		for _, g := range shownGroups(groups, most) {
			got = append(got, g.Variant+" "+g.Jobs[0].Name)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%d: %s; want %s", most, s, want)
		}
	}
}

// Each job has a lane of its own, with bars where it communicates; of a short run there is one
// drawing, and more lanes than fit are mentioned.
func TestJobLanes(t *testing.T) {
	both := jobOf("a", 0, 100, 20)
	both.Iterations[1].Shared = [][]float64{{180, 190}}
	r := resultOf(groupOf("fair", both, jobOf("b", 50, 100, 20)), groupOf("fair", jobOf("c", 0, 100, 4), jobOf("d", 0, 100, 4)))
	p := jobLanes(r)[0]
	var titles []string
	for _, panel := range p.Panels {
		titles = append(titles, panel.Title)
	}
	if d := cmp.Diff(titles, []string{"fair: a, b, first iterations", "fair: a, b, last iterations", "fair: c, d, all iterations"}); d != "" {
		t.Errorf("titles (-got +want):\n%s", d)
	}
	for i, job := range []string{"a", "b"} {
		y := 6 + jobLane*float64(i) + jobNumber
		bar := fmt.Sprintf(`y="%v" width="25.5" height="18" style="fill:var(--flow-%d)"><title>%s, iteration 2: 100 µs`, y, i, job)
		if !strings.Contains(strings.ReplaceAll(string(p.Panels[0].SVG), "\u00a0", " "), strings.ReplaceAll(bar, "25.5", width3(590-90-14, 0.3/5.5))) {
			t.Errorf("no bar %q in %.3000s", bar, p.Panels[0].SVG)
		}
	}
	if n := strings.Count(string(p.Panels[0].SVG), "together with another job: 10"); n != 1 {
		t.Errorf("%d shades where jobs communicate together, want 1", n)
	}
	var many []analysis.SharedJob
	for i := range 12 {
		many = append(many, jobOf(fmt.Sprint("j", i), 0, 100, 3))
	}
	if got := jobLanes(resultOf(groupOf("fair", many...)))[0].Panels[0]; got.Subtitle != "the first 8 of 12 jobs" {
		t.Errorf("subtitle %q", got.Subtitle)
	}
}

func width3(area, share float64) string { return fmt.Sprint(math.Round(area*share*10) / 10) }

// Jobs of very different periods: the lanes stay small, since bars are joined.
func TestLanesOfShortIterations(t *testing.T) {
	short := jobOf("short", 0, 25, 22000)
	for i := range short.Iterations {
		short.Iterations[i].Shared = short.Iterations[i].Phases
	}
	p := jobLanes(resultOf(groupOf("fair", jobOf("long", 0, 100000, 6), short)))[0]
	for _, panel := range p.Panels {
		if n := len(panel.SVG); n > 200_000 {
			t.Errorf("%s: %d bytes", panel.Title, n)
		}
		if !strings.Contains(string(panel.SVG), "30 % of the time communicating") || !strings.Contains(string(panel.SVG), "fill-opacity:0.3") {
			t.Errorf("%s: short iterations are not drawn", panel.Title)
		}
	}
}

// A report of many jobs is bounded, says what it leaves out, and can be written as figures.
func TestManyJobsThatShareLinks(t *testing.T) {
	checkout.SkipSlowRace(t)
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	for i := range 100 {
		g := groupOf("csig", jobOf(fmt.Sprintf("j%03d", 2*i), 0, 100, 4), jobOf(fmt.Sprintf("j%03d", 2*i+1), 0, 100, 4))
		g.Pairs = []analysis.JobPair{{A: g.Jobs[0].Name, B: g.Jobs[1].Name, PeriodUS: 100, Steps: []float64{1, 2}, DifferenceUS: analysis.Values{0, 1}}}
		r.JobGroups = append(r.JobGroups, g)
	}
	for id, left := range map[string]string{"overlap": " 88 more", "phases": " 88 more", "iterations": " 188 more"} {
		c := jobChart(t, r, id)
		if len(c.Panels) != mostPanels || !strings.Contains(c.Caption, left) {
			t.Errorf("%s: %d panels; %s", id, len(c.Panels), c.Caption)
		}
		styles := map[int]string{}
		for _, k := range c.Legend {
			if other, ok := styles[k.Style]; ok && other != k.Name && id != "iterations" {
				t.Errorf("%s: %s and %s have one style", id, other, k.Name)
			}
			styles[k.Style] = k.Name
		}
	}
	if _, err := Figures(r, svg.Light); err != nil {
		t.Error(err)
	}
}

// Names that somebody wrote into a folder by hand are text in the table, the lanes and the
// charts.
func TestHostileJobNames(t *testing.T) {
	checkout.SkipSlowRace(t)
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	for i := range hostileNames {
		a, b := jobOf(hostileNames[i].name, 0, 100, 4), jobOf(hostileNames[(i+1)%len(hostileNames)].name, 10, 100, 4)
		a.Links = []string{hostileNames[0].name}
		g, other := groupOf("csig", a, b), groupOf("csig", a, jobOf("c", 0, 100, 4))
		g.Pairs = []analysis.JobPair{{A: a.Name, B: b.Name, PeriodUS: 100, Steps: []float64{1, 2}, DifferenceUS: analysis.Values{10, 12}, RecurrenceUS: analysis.Values{10, 20}, ApartUS: 30, ApartToUS: 70}}
		r.JobGroups = []analysis.JobGroup{g, other}
		var page bytes.Buffer
		if err := WriteHTML(&page, r); err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{"<script>hacked", "<img", "\u202e", "<long"} {
			if strings.Contains(page.String(), raw) {
				t.Errorf("%d: the page has %q", i, raw)
			}
		}
		if _, err := Figures(r, svg.Light); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}
