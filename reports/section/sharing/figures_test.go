package sharing

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

// jobOf returns a job with so many iterations of a time that it ends with a collective of 30 %.
func jobOf(name string, begin, us float64, n int) Job {
	j := Job{Name: name, Links: []string{"s0-s1"}, MedianUS: us, MeanUS: us, Times: n, TimesUS: []float64{us}}
	for k := range n {
		from, to := begin+us*float64(k), begin+us*float64(k+1)
		j.Iterations = append(j.Iterations, Iteration{Step: int32(k + 1), BeginUS: from, EndUS: to, Phases: [][]float64{{to - 0.3*us, to}}, Shared: [][]float64{}})
	}
	return j
}

func groupOf(variant string, jobs ...Job) Group {
	return Group{Variant: variant, Seed: 1, Base: "fair", Links: []string{"s0-s1"}, Jobs: jobs, Pairs: []Pair{}}
}

func sectionOf(groups ...Group) *Section {
	s := &Section{Groups: groups, reading: &reading.Reading{}}
	for _, g := range groups {
		if s.reading.Variant(g.Variant) < 0 {
			s.reading.Variants = append(s.reading.Variants, reading.Variant{Name: g.Variant, Seeds: 1, Shown: 1})
		}
	}
	return s
}

func linesOf(f *chart.Figure, panel int) *chart.Lines { return f.Panels[panel].Chart.(*chart.Lines) }

// The table has predicted beside measured times and speed-ups, links, and four digits.
func TestTable(t *testing.T) {
	first, last, apart := 0.994, 0.002, 6.0
	j := jobOf("a", 0, 1841, 3)
	j.Links = []string{"s0-s1", "s1-s2", "s2-s3"}
	j.SettledUS, j.SpeedUps, j.PredictedSpeedUp = 1841, []float64{1.2, 1.25, 1.3}, 1.24
	j.OverlapFirst, j.OverlapLast, j.Apart = &first, &last, &apart
	j.Prediction = &Prediction{AloneUS: 1800, FluidUS: 1850, Law: "weights 2 : 1"}
	lacks := jobOf("b", 0, 1841, 3)
	lacks.Links, lacks.Prediction = nil, &Prediction{Reason: "kind collective"}
	s := sectionOf(groupOf("unfair", j, lacks))
	parts := s.Parts()
	text := strings.ReplaceAll(sectiontest.Text(&parts[0]), "\u00a0", " ")
	for _, want := range []string{
		"unfair | a | s0-s1, s1-s2 and 1 more | 1.841 ms | 1.85 ms | -0.5 % | 1.8 ms | 1.25 (1.20–1.30) | 1.24 | 99.4 % → 0.2 % | 6 | weights 2 : 1\n",
		"unfair | b | – | 1.841 ms | – | – | – | – | – | – | – | kind collective\n", "variant fair over these"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if parts[0].Says != "In unfair the iterations of a are 1.25 times as fast as in fair." || !strings.Contains(parts[1].Says, "a move apart: from iteration 6 on") {
		t.Errorf("%q, %q", parts[0].Says, parts[1].Says)
	}
	j.SpeedUps, j.OverlapFirst = nil, nil
	parts = sectionOf(groupOf("unfair", j)).Parts()
	if got := []string{parts[0].Says, parts[1].Says}; !strings.Contains(got[0], "alone it would take 1.8") || got[1] != "At last 0.2 % of the communication of a is together with that of others." {
		t.Errorf("%q", got)
	}
	if sectionOf().Parts() != nil {
		t.Error("parts without jobs that share links")
	}
}

// Overlap has a gap where no other job runs, and a job has one look in all variants.
func TestOverlaps(t *testing.T) {
	a, b := jobOf("a", 0, 100, 4), jobOf("b", 0, 100, 2)
	a.Iterations[0].Overlap, a.Iterations[2].Alone, a.Iterations[3].Phases = 0.4, true, nil
	f := sectionOf(groupOf("fair", a, b), groupOf("other", b, a)).overlaps()
	if d := cmp.Diff(linesOf(f, 0).Lines[0].Y, []float64{40, 0, math.NaN(), math.NaN()}, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("overlap of a (-got +want):\n%s", d)
	}
	if d := cmp.Diff(f.Legend, []chart.Key{chart.LineKey("a", chart.Beside(2, 0)), chart.LineKey("b", chart.Beside(2, 1))}); d != "" {
		t.Errorf("legend (-got +want):\n%s", d)
	}
	if other := linesOf(f, 1).Lines; other[0].Name != "b" || !cmp.Equal(other[0].Look, chart.Beside(2, 1)) || !cmp.Equal(other[1].Look, chart.Beside(2, 0)) {
		t.Errorf("looks in the other variant: %+v", other)
	}
}

// Differences keep their sign, wrap with a gap, and are labelled in the order of the pair; the
// recurrence has the pair's colour, and names its weights.
func TestDifferences(t *testing.T) {
	g := groupOf("unfair", jobOf("a", 0, 100, 6), jobOf("b", 0, 100, 6))
	g.Pairs = []Pair{{A: "b", B: "a", PeriodUS: 100, Steps: []float64{1, 2, 3, 4}, DifferenceUS: reading.Values{-4, 5, 80, -2},
		RecurrenceUS: reading.Values{math.NaN(), 5, 17, 23}, Ratio: 2.44, ApartUS: 30, ApartToUS: 70}}
	f := sectionOf(g).differences()
	c := linesOf(f, 0)
	if c.Lines[0].Name != "a after b" || c.Lines[1].Name != "a after b: recurrence for weights 2.44 : 1" || !strings.Contains(f.Caption, "recurrence") {
		t.Errorf("%q and %q; %s", c.Lines[0].Name, c.Lines[1].Name, f.Caption)
	}
	if d := cmp.Diff(c.Lines[0].Y, []float64{-4, 5, math.NaN(), 80, math.NaN(), -2}, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("differences (-got +want):\n%s", d)
	}
	if !cmp.Equal(c.Lines[0].Look.Model(), c.Lines[1].Look) {
		t.Errorf("looks %+v and %+v", c.Lines[0].Look, c.Lines[1].Look)
	}
	if d := cmp.Diff(c.Levels, []chart.LevelMark{{Name: "apart", Y: 30}, {Name: "apart below", Y: 70}}); d != "" {
		t.Errorf("marks (-got +want):\n%s", d)
	}
	if data := c.Data(); data.Y.Min > -4 || data.Y.Max < 80 {
		t.Errorf("the script's axis is from %v to %v", data.Y.Min, data.Y.Max)
	}
	g.Pairs[0].ApartUS, g.Pairs[0].ApartToUS, g.Pairs[0].DifferenceUS = 0, 0, reading.Values{1, 2, 3, 4}
	if marks := linesOf(sectionOf(g).differences(), 0).Levels; len(marks) > 0 {
		t.Errorf("jobs that never are apart have %v", marks)
	}
}

// The distribution of iteration times is a step function that ends at 100 %: 15 of 16
// iterations are 93.75 %. Each group has an axis of its own.
func TestTimes(t *testing.T) {
	a := jobOf("a", 0, 143, 2)
	a.Times, a.TimesUS = 16, append(slices.Repeat([]float64{143}, 15), 152)
	f := sectionOf(groupOf("fair", a, jobOf("b", 0, 300, 2)), groupOf("fair", jobOf("long", 0, 90000, 2))).times()
	l := linesOf(f, 0).Lines[0]
	at := slices.Index(l.X, 152)
	if len(l.X) != 32 || l.Y[0] != 0 || l.Y[at] != 93.75 || l.Y[at+1] != 100 {
		t.Errorf("x %v, y %v", l.X, l.Y)
	}
	var ends []string
	for i := range f.Panels {
		x := linesOf(f, i).X
		ends = append(ends, fmt.Sprintf("%s: %.0f, %s", f.Panels[i].Title, x.Max/1.02, x.Label()))
	}
	if d := cmp.Diff(ends, []string{"a: 300, Iteration time (µs)", "b: 300, Iteration time (µs)", "long: 90, Iteration time (ms)"}); d != "" {
		t.Errorf("axes (-got +want):\n%s", d)
	}
}

// Where there is no place for all groups, those are shown that have all variants, with the
// base among them.
func TestFirstGroups(t *testing.T) {
	var groups []*Group
	for _, variant := range []string{"x", "y", "fair"} {
		for _, name := range []string{"a", "b"} {
			g := groupOf(variant, jobOf(name, 0, 100, 2))
			groups = append(groups, &g)
		}
	}
	for most, want := range map[int]string{2: "x a, fair a", 4: "x a, y a, fair a, fair b", 9: "x a, y a, fair a, x b, y b, fair b"} {
		var got []string
		for _, g := range first(groups, most) {
			got = append(got, g.Variant+" "+g.Jobs[0].Name)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%d: %s; want %s", most, s, want)
		}
	}
}

// Each job has a lane of its own, with bars where it communicates; of a short run there is one
// drawing, and more lanes than fit are mentioned.
func TestLanes(t *testing.T) {
	both := jobOf("a", 0, 100, 20)
	both.Iterations[1].Shared = [][]float64{{180, 190}}
	f := sectionOf(groupOf("fair", both, jobOf("b", 50, 100, 20)), groupOf("fair", jobOf("c", 0, 100, 4), jobOf("d", 0, 100, 4))).lanes()
	var titles []string
	for _, panel := range f.Panels {
		titles = append(titles, panel.Title)
	}
	if d := cmp.Diff(titles, []string{"fair: a, b, first iterations", "fair: a, b, last iterations", "fair: c, d, all iterations"}); d != "" {
		t.Errorf("titles (-got +want):\n%s", d)
	}
	g := f.Panels[0].Chart.(*chart.Gantt)
	for _, k := range g.Kinds { // the legend has the colours of the bars
		if !slices.ContainsFunc(f.Legend, func(key chart.Key) bool { return key.Name == k.Name && key.Fills[0] == k.Paint }) {
			t.Errorf("the legend has no %q in the colour of its bars", k.Name)
		}
	}
	shades := 0
	for i, job := range []string{"a", "b"} {
		from := 170.0 + 50*float64(i)
		at := slices.IndexFunc(g.Lanes[i].Spans, func(s chart.Span) bool { return s.Kind == communicating && s.From == from })
		if at < 0 || g.Lanes[i].Spans[at].To != from+30 || !strings.HasPrefix(g.Lanes[i].Spans[at].Tip, job+", iteration 2: 100\u00a0µs") {
			t.Errorf("no bar from %v us in %+v", from, g.Lanes[i].Spans)
		}
		for _, s := range g.Lanes[i].Spans {
			if s.Kind == together {
				shades++
			}
		}
	}
	if shades != 1 {
		t.Errorf("%d shades where jobs communicate together, want 1", shades)
	}
	var many []Job
	for i := range 12 {
		many = append(many, jobOf(fmt.Sprint("j", i), 0, 100, 3))
	}
	if got := sectionOf(groupOf("fair", many...)).lanes().Panels[0]; got.Subtitle != "the first 8 of 12 jobs" {
		t.Errorf("subtitle %q", got.Subtitle)
	}
}

// Jobs of very different periods: the lanes stay small, since bars are joined.
func TestLanesOfShortIterations(t *testing.T) {
	short := jobOf("short", 0, 25, 22000)
	for i := range short.Iterations {
		short.Iterations[i].Shared = short.Iterations[i].Phases
	}
	f := sectionOf(groupOf("fair", jobOf("long", 0, 100000, 6), short)).lanes()
	for i, panel := range f.Panels {
		if n := len(f.SVG(i, chart.Whole)); n > 200_000 {
			t.Errorf("%s: %d bytes", panel.Title, n)
		}
		spans := panel.Chart.(*chart.Gantt).Lanes[1].Spans
		if !slices.ContainsFunc(spans, func(s chart.Span) bool {
			return math.Abs(s.Opacity-0.3) < 1e-9 && strings.Contains(s.Tip, "30 % of the time communicating")
		}) {
			t.Errorf("%s: short iterations are not drawn", panel.Title)
		}
	}
}

// Figures of many jobs are bounded, and say what they leave out.
func TestManyJobs(t *testing.T) {
	var groups []Group
	for i := range 100 {
		g := groupOf("csig", jobOf(fmt.Sprintf("j%03d", 2*i), 0, 100, 4), jobOf(fmt.Sprintf("j%03d", 2*i+1), 0, 100, 4))
		g.Pairs = []Pair{{A: g.Jobs[0].Name, B: g.Jobs[1].Name, PeriodUS: 100, Steps: []float64{1, 2}, DifferenceUS: reading.Values{0, 1}}}
		groups = append(groups, g)
	}
	s := sectionOf(groups...)
	for left, f := range map[string]*chart.Figure{" 88 more": s.overlaps(), " 88 more ": s.differences(), " 188 more": s.times()} {
		if len(f.Panels) != mostPanels || !strings.Contains(f.Caption, strings.TrimRight(left, " ")) {
			t.Errorf("%s: %d panels; %s", f.ID, len(f.Panels), f.Caption)
		}
		var keys []string
		for _, k := range f.Legend {
			look := fmt.Sprint(*k.Line)
			if slices.Contains(keys, look) {
				t.Errorf("%s: %s has the look of another line", f.ID, k.Name)
			}
			keys = append(keys, look)
		}
	}
}

// Names that somebody wrote into a folder by hand are text in the table, the lanes and the
// charts.
func TestHostileNames(t *testing.T) {
	const hostile = "</script><script>hacked<img src=x>\x00"
	a, b := jobOf(hostile, 0, 100, 4), jobOf("b", 10, 100, 4)
	g, other := groupOf("csig", a, b), groupOf("csig", a, jobOf("c", 0, 100, 4))
	g.Pairs = []Pair{{A: a.Name, B: b.Name, PeriodUS: 100, Steps: []float64{1, 2}, DifferenceUS: reading.Values{10, 12}, RecurrenceUS: reading.Values{10, 20}, ApartUS: 30, ApartToUS: 70}}
	for _, p := range sectionOf(g, other).Parts() {
		for _, block := range p.Blocks {
			f, ok := block.(*chart.Figure)
			if !ok {
				continue
			}
			for i := range f.Panels {
				wide, narrow := f.SVG(i, chart.Half), f.SVG(i, chart.Narrow)
				for _, raw := range []string{"<script>hacked", "<img", "\x00"} {
					if strings.Contains(string(wide+narrow), raw) {
						t.Errorf("%s has %q", f.ID, raw)
					}
				}
			}
		}
	}
}
