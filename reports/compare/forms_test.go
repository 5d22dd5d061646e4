package compare

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/series"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// sideOf returns a side with so many cases and metrics. Of the metrics a share is greater
// by factor than those of a side with factor 1.
func sideOf(folder string, cases, metrics, seeds int, factor float64) *Measured {
	m := &Measured{Folder: folder, Experiment: "x", Version: "0.1"}
	for c := range cases {
		one := Case{Variant: fmt.Sprintf("v%d", c)}
		for s := range seeds {
			values := map[string]float64{}
			for k := range metrics {
				v := 100 * (1 + 0.001*math.Sin(float64(s*s+k)+factor))
				if k%3 == 0 {
					v *= factor
				}
				if k%3 == 1 {
					v /= factor
				}
				values[fmt.Sprintf("fct_us.p%d", k)] = v
			}
			one.Seeds = append(one.Seeds, Seed{Seed: uint64(s + 1), TraceHash: fmt.Sprint(folder, s), Metrics: values})
		}
		m.Cases = append(m.Cases, one)
	}
	return m
}

func compareSides(t *testing.T, a, b *Measured) *Comparison {
	t.Helper()
	c, err := Folders(a, b, Design{Meaning: measure.Meaning, Confidence: 0.95, Delta: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func comparisonText(t *testing.T, c *Comparison) string {
	t.Helper()
	var b strings.Builder
	if err := c.WriteText(&b, "csiglab compare a b --html compare.html"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// "Text output: at most a screen, the most telling first, then how many are the same."
func TestComparisonTextIsAScreen(t *testing.T) {
	for _, size := range []struct{ cases, metrics, seeds int }{{1, 1, 1}, {1, 3, 12}, {1, 300, 16}, {3, 60, 14}, {9, 9, 12}, {40, 3, 12}, {400, 1, 2}} {
		c := compareSides(t, sideOf("a", size.cases, size.metrics, size.seeds, 1), sideOf("b", size.cases, size.metrics, size.seeds, 1.2))
		for range 9 {
			c.Differs = append(c.Differs, Disparity{What: strings.Repeat("w", 500), A: "1", B: strings.Repeat("2", 500)})
		}
		text := comparisonText(t, c)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > screenLines || len(lines) < 4 {
			t.Errorf("%+v: %d lines\n%s", size, len(lines), text)
		}
		if size.metrics*size.cases > 100 && !strings.Contains(text, "all: csiglab compare a b --html compare.html") {
			t.Errorf("%+v: nothing says how to see all:\n%s", size, text)
		}
	}
	text := comparisonText(t, compareSides(t, sideOf("a", 1, 60, 14, 1), sideOf("b", 1, 60, 14, 1.2)))
	for _, want := range []string{"B against A: 20 worse, 20 better, 20 the same.\n", "Variant v0: 14 seeds in pairs: 20 worse, 20 better, 20 the same\n", "\n  WORSE   fct_us.p", "\n  better  fct_us.p", "+20\u00a0%", "−17\u00a0%"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Index(text, "WORSE") > strings.Index(text, "\n  better") {
		t.Errorf("better before worse:\n%s", text)
	}
}

// "one seed gives no interval (say how to get one)", and too few seeds likewise.
func TestComparisonSaysHowManySeeds(t *testing.T) {
	for seeds, want := range map[int]string{
		1: "1 seed is too few to rule out chance; run both with --seeds 6.",
		5: "5 seeds are too few to rule out chance; run both with --seeds 6.",
	} {
		text := strings.ReplaceAll(comparisonText(t, compareSides(t, sideOf("a", 1, 30, seeds, 1), sideOf("b", 1, 30, seeds, 1.2))), "\u00a0", " ")
		if !strings.Contains(text, want) {
			t.Errorf("%d seeds: no %q in\n%s", seeds, want, text)
		}
	}
	if text := comparisonText(t, compareSides(t, sideOf("a", 2, 30, 5, 1), sideOf("b", 2, 30, 5, 1.2))); strings.Count(text, "run both with --seeds") != 1 {
		t.Errorf("of two variants, want it once:\n%s", text)
	}
	if text := comparisonText(t, compareSides(t, sideOf("a", 1, 1, 1, 1), sideOf("b", 1, 1, 1, 1.2))); !strings.Contains(text, "too few to rule out chance; run both with --seeds 6.") || !strings.Contains(text, "no interval") {
		t.Error(text)
	}
}

// "equal trace hashes say identical first".
func TestComparisonTextOfIdenticalRuns(t *testing.T) {
	a := sideOf("a", 2, 3, 2, 1)
	if text := comparisonText(t, compareSides(t, a, a)); !strings.HasPrefix(text, "Identical: every seed has the same trace on both sides. 6 the same.\n") {
		t.Error(text)
	}
	b := sideOf("a", 2, 3, 2, 1)
	b.Cases[1].Seeds[1].Metrics["fct_us.p0"]++
	if text := comparisonText(t, compareSides(t, a, b)); !strings.HasPrefix(text, "Every seed has the same trace on both sides, but metrics differ: ") {
		t.Error(text)
	}
	b = sideOf("b", 2, 3, 2, 1)
	b.Cases[1] = a.Cases[1]
	if text := comparisonText(t, compareSides(t, a, b)); !strings.Contains(text, "1 of 2 are identical, trace by trace") {
		t.Error(text)
	}
}

// The Markdown has every metric, and its tables their columns.
func TestComparisonMarkdown(t *testing.T) {
	c := compareSides(t, sideOf("a", 2, 30, 14, 1), sideOf("b", 2, 30, 14, 1.2))
	c.Differs = []Disparity{{What: "cc", A: "nscc", B: "swift"}}
	var b strings.Builder
	if err := c.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"# Comparison: x\n\n**B against A: worse and better in completion times (20 worse, 20 better, 20 the same).**\n", "\n## Variant v0\n", "\n### What changed\n", "\n## Variant v0: the same\n", "| cc | nscc | swift |", "✗ worse |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "| fct\\_us.p"); n != 90 {
		t.Errorf("%d rows of metrics, want 90: 30 over all cases, 30 of each case", n)
	}
}

// comparisonHTML writes the page of a comparison and returns its text.
func comparisonHTML(t *testing.T, c *Comparison, overlays []Overlay) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, c, overlays); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// threeFlows returns the comparison of two made-up runs with its figures.
func threeFlows(t *testing.T) (*Comparison, []Overlay) {
	t.Helper()
	folder := func(queue float64) *runfolder.Folder {
		s := readingtest.ThreeFlow()
		s.Queues["csig"] = [2]float64{queue, 109}
		s.Utilise = queue / 110
		s.Samples = map[string]map[uint16]int64{"csig": {5: 30}}
		return s.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Variants[1].CSIG = "compact" })
	}
	a, b := folder(50), folder(100)
	c, err := Folders(Measure(a), Measure(b), Design{Meaning: measure.Meaning, Confidence: 0.95, Delta: 0.01, VariantA: "csig"})
	if err != nil {
		t.Fatal(err)
	}
	overlays, err := ReadOverlays(a, b, measure.Meaning, []VariantPair{{A: "csig", B: "csig", LabelA: "A", LabelB: "B"}})
	if err != nil {
		t.Fatal(err)
	}
	return c, overlays
}

// "both sides in one picture with a legend (colour and line style)".
func TestComparisonCharts(t *testing.T) {
	checkout.SkipSlowRace(t)
	_, overlays := threeFlows(t)
	titles := map[string]string{"slowest": "Rate of flow 0-3", "queues": "Queue depth of the bottlenecks", "cwnd": "Congestion window of flow 0-3", "busy": "Utilisation of the busiest ports", "signal-delay": "CSIG's delay per hop"}
	for _, f := range overlays[0].charts() {
		if !strings.HasPrefix(f.Title, titles[f.ID]) || titles[f.ID] == "" {
			t.Errorf("figure %s: title %q, want %q", f.ID, f.Title, titles[f.ID])
		}
		delete(titles, f.ID)
		if len(f.Legend) != 2 || f.Legend[0].Name != "A" || f.Legend[1].Name != "B" {
			t.Errorf("figure %s: legend %+v", f.ID, f.Legend)
		} else if a, b := f.Legend[0].Line, f.Legend[1].Line; a.Paint == b.Paint || len(a.Dashes) == len(b.Dashes) {
			t.Errorf("figure %s: the lines differ in colour or in dashes alone", f.ID)
		}
		for _, p := range f.Panels {
			if n := len(p.Chart.(*chart.Lines).Lines); n != 2 {
				t.Errorf("figure %s: %d lines in a panel", f.ID, n)
			}
		}
	}
	if len(titles) > 0 {
		t.Errorf("no figure %v", titles)
	}
}

// Steps are drawn at their numbers, from 1.
func TestComparisonOfStepTimes(t *testing.T) {
	var o Overlay
	o.Variants = []reading.Variant{{Name: "A"}, {Name: "B"}}
	c := &series.Chart{ID: stepsChart + "gpt", Unit: "µs", Panels: []series.Panel{{Lines: []series.Line{{Variant: "A", Values: reading.Values{1000, 2000, 3000}}, {Variant: "B", Values: reading.Values{1500}}}}}}
	f := o.steps(c, "gpt")
	p := f.Panels[0].Chart.(*chart.Lines)
	if f.Title != "Iteration times of gpt" || p.Y.Label() != "Time (ms)" || p.Lines[0].X[2] != 3 || p.Lines[0].Y[2] != 3 || p.Y.Max != 3 || p.X.Max < 3 || len(f.Legend) != 2 {
		t.Errorf("%+v", f)
	}
	if c.Panels[0].Lines[0].Values[0] != 1000 {
		t.Error("drawing changes the numbers")
	}
}

// The scale of differences ends at 1, 2 or 5 times a power of ten.
func TestScaleOfDifferences(t *testing.T) {
	for v, want := range map[float64]string{0: "0", math.Copysign(0, -1): "0", -0.3: "−0.3", 12: "+12"} {
		if got := signed(v); got != want {
			t.Errorf("signed(%v) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]float64{0: 1, 3: 5, 0.2: 0.2, 51: 100, 1000: 1000} {
		if got := greatestChange([]reading.Values{{0, -v, math.NaN()}}); math.Abs(got-want) > 1e-9*want {
			t.Errorf("a scale for %v ends at %v, want %v", v, got, want)
		}
	}
}

// The story names the metric that says best how the runs fare, with both values, and what
// differs beside the results.
func TestStoryOfComparisons(t *testing.T) {
	of := func(factor float64) *Measured {
		m := sideOf("x", 2, 0, 12, 1)
		for c := range m.Cases {
			for s := range m.Cases[c].Seeds {
				m.Cases[c].Seeds[s].TraceHash = fmt.Sprint(factor)
				m.Cases[c].Seeds[s].Metrics = map[string]float64{"trims": 10 * factor * factor * factor, "fct_us.p99": 1000 * factor, "fct_us.mean": 500 / factor}
			}
		}
		return m
	}
	c := compareSides(t, of(1), of(1.5))
	c.Differs = []Disparity{{What: "links.trim", A: "true", B: "false"}}
	if got, want := strings.ReplaceAll(strings.Join(story(c), " "), "\u00a0", " "), "Variant v0: in B the tail completion time (p99) is 1.5 ms instead of 1 ms in A (+50 %), and the mean completion time is 333 µs instead of 500 µs in A (−33 %); 2 of 2 variants differ. Set differently: links.trim: true in A, false in B."; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	few := func(m *Measured) *Measured {
		for i := range m.Cases {
			m.Cases[i].Seeds = m.Cases[i].Seeds[:2]
		}
		return m
	}
	if got := story(compareSides(t, few(of(1)), few(of(1.5)))); len(got) != 1 || !strings.Contains(got[0], "the tail completion time (p99) is 1.5") || !strings.HasSuffix(got[0], "; the seeds do not tell whether this is chance.") {
		t.Errorf("of two seeds: %q", got)
	}
	if got := story(compareSides(t, of(1), of(1))); got != nil {
		t.Errorf("of equal runs: %q", got)
	}
}

// The page loads nothing, complains of nothing and shows its figures, and no text stands
// outside of its drawing.
func TestBrowserComparison(t *testing.T) {
	checkout.SkipSlowRace(t)
	ctx := browsertest.Tab(t)
	c, overlays := threeFlows(t)
	page := browsertest.Written(t, comparisonHTML(t, c, overlays))
	w := browsertest.Listen(ctx, t, page)
	type drawn struct {
		Figures []string
		Beyond  []string
		Wide    bool
	}
	for _, width := range []int64{1400, 420} {
		browsertest.Look(ctx, t, page, "screen", "light", width)
		browsertest.KeepShot(ctx, t, fmt.Sprintf("comparison-%d.png", width), chromedp.FullScreenshot(90))
		got := browsertest.Do(ctx, t, chromedp.Evaluate[drawn](`(() => {
			const d = {Figures: [...document.querySelectorAll('.figure')].map(e => e.id), Beyond: [], Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth};
			for (const svg of document.querySelectorAll('svg.chart')) {
				const box = svg.getBoundingClientRect();
				for (const text of svg.querySelectorAll('text')) {
					const b = text.getBoundingClientRect();
					if (b.width > 0 && (b.left < box.left - 2 || b.right > box.right + 2 || b.top < box.top - 2 || b.bottom > box.bottom + 2)) d.Beyond.push(text.textContent);
				}
			}
			return d;
		})()`))
		if len(got.Beyond) > 0 || got.Wide {
			t.Errorf("%d px: wider than the window %v, outside of drawings %q", width, got.Wide, got.Beyond)
		}
		for _, id := range []string{"slowest", "queues", "cwnd", "busy", "signal-delay", "signature", "heatmap-delay"} {
			if !strings.Contains(" "+strings.Join(got.Figures, " ")+" ", " case-0-"+id+" ") {
				t.Errorf("no drawing %s of %v", id, got.Figures)
			}
		}
	}
	if loads, problems := w.Seen(); loads != 2 || len(problems) > 0 {
		t.Errorf("loaded %d times; problems: %v", loads, problems)
	}
}

// hostileNames are texts that somebody may have written into a folder.
var hostileNames = []string{
	`</script><script>hacked=1</script>`,
	`"><img src=x onerror=hacked=1>`,
	`'-hacked-'\" \\ ${hacked=1} {{.}} <!-- -->`,
	"two\nlines\tand\x00a bell\x07",
	"\u202egnihtyna\u2066 \u200bשלום مرحبا",
	"| a | [b](javascript:hacked=1) | `c` *d* &amp; \xff",
	strings.Repeat("<long & wide>", 800),
}

// Names from folders that somebody wrote by hand are shown as text.
func TestHostileComparison(t *testing.T) {
	checkout.SkipSlowRace(t)
	for i, name := range hostileNames {
		a, b := sideOf(name, 1, 4, 12, 1), sideOf(name+"b", 1, 4, 12, 1.3)
		for _, m := range []*Measured{a, b} {
			m.Experiment, m.Version, m.Command = name, name, []string{name}
			m.Cases[0].Variant = name
			for s := range m.Cases[0].Seeds {
				m.Cases[0].Seeds[s].Metrics["fct_us."+name] = m.Cases[0].Seeds[s].Metrics["fct_us.p0"]
			}
		}
		c := compareSides(t, a, b)
		c.Differs, c.Notes = []Disparity{{What: name, A: name, B: name + "b"}}, []string{name}
		page := comparisonHTML(t, c, nil)
		for _, bad := range []string{"<script>hacked", "<img src=x", "\x00", "\x07", "\u202e"} {
			if strings.Contains(page, bad) {
				t.Errorf("name %d: the page has %q", i, bad)
			}
		}
		if text := comparisonText(t, c); strings.ContainsAny(text, "\x00\x07\u202e") || strings.Count(text, "\n") > screenLines || len(text) > 20000 {
			t.Errorf("name %d: %d bytes of text", i, len(text))
		}
		var b2 strings.Builder
		if err := c.WriteMarkdown(&b2); err != nil {
			t.Fatal(err)
		}
		if text := b2.String(); strings.Contains(text, "<script>") || strings.Contains(text, "<img") || strings.ContainsAny(text, "\x00\x07\u202e") {
			t.Errorf("name %d: Markdown has it as it is", i)
		}
	}
}
