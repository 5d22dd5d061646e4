package reports

import (
	"bytes"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// sideOf returns a side with so many cases and metrics. Of the metrics a share is greater
// by factor than those of a side with factor 1.
func sideOf(folder string, cases, metrics, seeds int, factor float64) *analysis.Measured {
	m := &analysis.Measured{Folder: folder, Experiment: "x", Version: "0.1"}
	for c := range cases {
		one := analysis.Case{Variant: fmt.Sprintf("v%d", c)}
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
			one.Seeds = append(one.Seeds, analysis.Seed{Seed: uint64(s + 1), TraceHash: fmt.Sprint(folder, s), Metrics: values})
		}
		m.Cases = append(m.Cases, one)
	}
	return m
}

func compareSides(t *testing.T, a, b *analysis.Measured) *analysis.FolderComparison {
	t.Helper()
	c, err := analysis.CompareFolders(a, b, analysis.FolderDesign{Meaning: measure.Meaning, Confidence: 0.95, Delta: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func comparisonText(t *testing.T, c *analysis.FolderComparison) string {
	t.Helper()
	var b strings.Builder
	if err := WriteComparisonText(&b, c, "csiglab compare a b --html compare.html"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// "Text output: at most a screen, the most telling first, then how many are the same."
func TestComparisonTextIsAScreen(t *testing.T) {
	for _, size := range []struct{ cases, metrics, seeds int }{{1, 1, 1}, {1, 3, 12}, {1, 300, 16}, {3, 60, 14}, {9, 9, 12}, {40, 3, 12}, {400, 1, 2}} {
		c := compareSides(t, sideOf("a", size.cases, size.metrics, size.seeds, 1), sideOf("b", size.cases, size.metrics, size.seeds, 1.2))
		for range 9 {
			c.Differs = append(c.Differs, analysis.Disparity{What: strings.Repeat("w", 500), A: "1", B: strings.Repeat("2", 500)})
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
		1: "1 seed: too few for an interval. 6 give one of 95 %; with 11 a difference in one of 30 metrics can be found: run both with --seeds 11.",
		8: "8 seeds are too few to find a difference in one of 30 metrics; 11 are enough: run both with --seeds 11, or name fewer metrics with --metric.",
	} {
		text := strings.ReplaceAll(comparisonText(t, compareSides(t, sideOf("a", 1, 30, seeds, 1), sideOf("b", 1, 30, seeds, 1.2))), "\u00a0", " ")
		if !strings.Contains(text, want) {
			t.Errorf("%d seeds: no %q in\n%s", seeds, want, text)
		}
	}
	if text := comparisonText(t, compareSides(t, sideOf("a", 2, 30, 8, 1), sideOf("b", 2, 30, 8, 1.2))); strings.Count(text, "run both with --seeds") != 1 {
		t.Errorf("of two variants, want it once:\n%s", text)
	}
	if text := comparisonText(t, compareSides(t, sideOf("a", 1, 1, 1, 1), sideOf("b", 1, 1, 1, 1.2))); !strings.Contains(text, "6 are enough: run both with --seeds 6.") || !strings.Contains(text, "no interval") {
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
	c.Differs = []analysis.Disparity{{What: "cc", A: "nscc", B: "swift"}}
	var b strings.Builder
	if err := WriteComparisonMarkdown(&b, c); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"# Comparison: x\n\n**B against A: 20 worse, 20 better, 20 the same.**\n", "\n## Variant v0\n", "\n### What changed\n", "\n### The same\n", "| cc | nscc | swift |", "✗ worse |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "| fct\\_us.p"); n != 60 {
		t.Errorf("%d rows of metrics, want 60", n)
	}
}

// comparisonHTML writes the page of a comparison and returns its text.
func comparisonHTML(t *testing.T, c *analysis.FolderComparison, overlays []analysis.Overlay) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteComparisonHTML(&b, c, overlays); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// threeFlows returns the comparison of two made-up runs with its figures.
func threeFlows(t *testing.T) (*analysis.FolderComparison, []analysis.Overlay) {
	t.Helper()
	folder := func(queue float64) *runfolder.Folder {
		s := analysistest.ThreeFlow()
		s.Queues["csig"] = [2]float64{queue, 109}
		s.Utilise = queue / 110
		s.Samples = map[string]map[uint16]int64{"csig": {5: 30}}
		return s.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Variants[1].CSIG = "compact" })
	}
	a, b := folder(50), folder(100)
	c, err := analysis.CompareFolders(analysis.Measure(a), analysis.Measure(b), analysis.FolderDesign{Meaning: measure.Meaning, Confidence: 0.95, Delta: 0.01, VariantA: "csig"})
	if err != nil {
		t.Fatal(err)
	}
	overlays, err := analysis.ReadOverlays(a, b, measure.Meaning, []analysis.VariantPair{{A: "csig", B: "csig", LabelA: "A", LabelB: "B"}})
	if err != nil {
		t.Fatal(err)
	}
	return c, overlays
}

// "both sides in one picture with a legend (colour and line style)".
func TestComparisonCharts(t *testing.T) {
	checkout.SkipSlowRace(t)
	_, overlays := threeFlows(t)
	o := &overlays[0]
	charts, err := drawCharts(o.Result, overlayDrawings(o))
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{"slowest": "Rate of flow 0-3", "queues": "Queue depth of the bottlenecks", "cwnd": "Congestion window of flow 0-3", "busy": "Utilisation of the busiest ports", "signal-delay": "CSIG's delay per hop"}
	for _, c := range charts {
		if titles[c.ID] != c.Title {
			t.Errorf("chart %s: title %q, want %q", c.ID, c.Title, titles[c.ID])
		}
		delete(titles, c.ID)
		if len(c.Legend) != 2 || c.Legend[0].Name != "A" || c.Legend[1].Name != "B" || c.Legend[0].Style == c.Legend[1].Style {
			t.Errorf("chart %s: legend %+v", c.ID, c.Legend)
		}
		if a, b := lineStyle(c.Legend[0].Style), lineStyle(c.Legend[1].Style); a.Color == b.Color || dashArray(a.Dashes) == dashArray(b.Dashes) {
			t.Errorf("chart %s: the lines differ in colour or in dashes alone", c.ID)
		}
		for _, p := range c.Panels {
			if len(p.Lines) != 2 {
				t.Errorf("chart %s: %d lines in a panel", c.ID, len(p.Lines))
			}
		}
	}
	if len(titles) > 0 {
		t.Errorf("no chart %v", titles)
	}
}

// Steps are drawn at their numbers, from 1.
func TestComparisonOfStepTimes(t *testing.T) {
	r := &analysis.Result{Variants: []analysis.Variant{{Name: "A"}, {Name: "B"}}}
	c := &analysis.Chart{ID: analysis.StepsChart + "gpt", Unit: "µs", Panels: []analysis.Panel{{Lines: []analysis.Line{{Variant: "A", Values: analysis.Values{1000, 2000, 3000}}, {Variant: "B", Values: analysis.Values{1500}}}}}}
	chart := stepLengths(r, c, "gpt")
	p := chart.Panels[0]
	if chart.Title != "Iteration times of gpt" || p.YLabel != "Time (ms)" || p.Lines[0].X[2] != 3 || p.Lines[0].Y[2] != 3 || p.YMax != 3 || p.XMax < 3 || len(chart.Legend) != 2 {
		t.Errorf("%+v", chart)
	}
	if c.Panels[0].Lines[0].Values[0] != 1000 {
		t.Error("drawing changes the numbers")
	}
}

// rgb returns a colour's linear channels.
func rgb(t *testing.T, colour string) (channels [3]float64) {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i := range channels {
		c := float64(v>>(16-8*i)&0xFF) / 255
		if channels[i] = c / 12.92; c > 0.04045 {
			channels[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return channels
}

// lab returns a colour in CIE L*a*b*, as one who lacks a kind of cones sees it. Matrices of
// Viénot, Brettel and Mollon 1999, Digital video colourmaps for checking the legibility of
// displays by dichromats, in linear RGB.
func lab(t *testing.T, colour, vision string) [3]float64 {
	c := rgb(t, colour)
	see := map[string][3][3]float64{
		"all":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"protan": {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
		"deutan": {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
	}[vision]
	var seen [3]float64
	for i := range seen {
		for k := range c {
			seen[i] += see[i][k] * c[k]
		}
		seen[i] = min(max(seen[i], 0), 1)
	}
	xyz := [3]float64{(0.4124*seen[0] + 0.3576*seen[1] + 0.1805*seen[2]) / 0.9505, 0.2126*seen[0] + 0.7152*seen[1] + 0.0722*seen[2], (0.0193*seen[0] + 0.1192*seen[1] + 0.9505*seen[2]) / 1.089}
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	return [3]float64{116*f(xyz[1]) - 16, 500 * (f(xyz[0]) - f(xyz[1])), 200 * (f(xyz[1]) - f(xyz[2]))}
}

// "a diverging scale that works in dark and for colour-blind readers": from no difference
// on, each level stands out more from the background, and less differs from more at each
// level, also for those who lack the cones for red or green.
func TestDivergingScale(t *testing.T) {
	scales := regexp.MustCompile(`\.diverging \{([^}]*)\}`).FindAllStringSubmatch(pageStyle, -1)
	if len(scales) != 2 {
		t.Fatalf("%d diverging scales, want one for light and one for dark", len(scales))
	}
	for i, scheme := range []string{"light", "dark"} {
		page := paints(t, i == 1)
		level := map[string]string{}
		for _, v := range regexp.MustCompile(`--(s[0-9]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(scales[i][1], -1) {
			level[v[1]] = v[2]
		}
		at := func(k int) string {
			if k == 0 {
				return page["--idle"]
			}
			return level[fmt.Sprintf("s%d", k)]
		}
		for _, vision := range []string{"all", "protan", "deutan"} {
			distance := func(a, b string) float64 {
				p, q := lab(t, a, vision), lab(t, b, vision)
				return math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2])
			}
			for _, side := range []int{0, changeLevels} {
				before := at(0)
				for k := 1; k <= changeLevels; k++ {
					now := at(side + k)
					step := lab(t, now, vision)[0] - lab(t, before, vision)[0]
					if scheme == "light" {
						step = -step
					}
					if step < 3 || distance(now, before) < 6 {
						t.Errorf("%s, %s: level %d is %.1f from the one before, %.1f in lightness", scheme, vision, side+k, distance(now, before), step)
					}
					before = now
				}
			}
			for k := 1; k <= changeLevels; k++ {
				if d := distance(at(k), at(k+changeLevels)); d < 15 {
					t.Errorf("%s, %s: less and more differ by %.1f at level %d", scheme, vision, d, k)
				}
			}
		}
		// Numbers in cells can be read (WCAG 2.2 AA, §1.4.3).
		ink := map[int]string{1: "--ink", 2: "--ink", 3: "--on-middle", 4: "--on-dark", 5: "--on-dark"}
		for k := 1; k <= 2*changeLevels; k++ {
			a, b := luminance(t, at(k)), luminance(t, page[ink[(k-1)%changeLevels+1]])
			if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); contrast < 4.5 {
				t.Errorf("%s: a number on level %d has a contrast of %.1f", scheme, k, contrast)
			}
		}
	}
}

// Levels of differences: nothing near 0, the same on either side, the last at the end.
func TestChangeLevels(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want int
	}{{0, 0}, {0.1, 0}, {-0.1, 0}, {0.5, 6}, {-0.5, 1}, {2.1, 7}, {-2.1, 2}, {10, 10}, {-10, 5}, {99, 10}, {math.NaN(), -1}} {
		if got := changeLevel(c.v, 10); got != c.want {
			t.Errorf("changeLevel(%v, 10) = %d, want %d", c.v, got, c.want)
		}
	}
	for v, want := range map[float64]string{0: "0", math.Copysign(0, -1): "0", -0.3: "−0.3", 12: "+12"} {
		if got := signed(v); got != want {
			t.Errorf("signed(%v) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]float64{0: 1, 3: 5, 0.2: 0.2, 51: 100, 1000: 1000} {
		if got := greatestChange([]analysis.Values{{0, -v, math.NaN()}}); math.Abs(got-want) > 1e-9*want {
			t.Errorf("a scale for %v ends at %v, want %v", v, got, want)
		}
	}
}

// TestBrowserComparison: the page loads nothing, complains of nothing and shows its figures.
func TestBrowserComparison(t *testing.T) {
	checkout.SkipSlowRace(t)
	ctx := browser(t)
	c, overlays := threeFlows(t)
	path := filepath.Join(t.TempDir(), "compare.html")
	if err := os.WriteFile(path, []byte(comparisonHTML(t, c, overlays)), 0o644); err != nil {
		t.Fatal(err)
	}
	page := (&url.URL{Scheme: "file", Path: path}).String()
	w := listening(ctx, t, page)
	do(ctx, t, chromedp.Navigate(page))
	drawings := do(ctx, t, chromedp.Evaluate[[]drawn](inspect))
	sections := map[string]bool{}
	for _, d := range drawings {
		sections[strings.TrimPrefix(d.Section, "case-0-")] = true
		if d.Beyond != "" {
			t.Errorf("%s: %q stands outside of the drawing", d.Section, d.Beyond)
		}
		if d.Texts == 0 {
			t.Errorf("%s has no text", d.Section)
		}
	}
	for _, id := range []string{"slowest", "queues", "cwnd", "busy", "signal-delay", "signature", "heatmap-delay"} {
		if !sections[id] {
			t.Errorf("no drawing %s of %v", id, sections)
		}
	}
	keepShot(ctx, t, "comparison.png", chromedp.FullScreenshot(90))
	w.check(t)
}

// Names from folders that somebody wrote by hand are shown as text.
func TestHostileComparison(t *testing.T) {
	checkout.SkipSlowRace(t)
	for i := range hostileNames {
		name := hostileNames[i].name
		a, b := sideOf(name, 1, 4, 12, 1), sideOf(name+"b", 1, 4, 12, 1.3)
		for _, m := range []*analysis.Measured{a, b} {
			m.Experiment, m.Version, m.Command = name, name, []string{name}
			m.Cases[0].Variant = name
			for s := range m.Cases[0].Seeds {
				m.Cases[0].Seeds[s].Metrics["fct_us."+name] = m.Cases[0].Seeds[s].Metrics["fct_us.p0"]
			}
		}
		c := compareSides(t, a, b)
		c.Differs, c.Notes = []analysis.Disparity{{What: name, A: name, B: name + "b"}}, []string{name}
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
		if err := WriteComparisonMarkdown(&b2, c); err != nil {
			t.Fatal(err)
		}
		if text := b2.String(); strings.Contains(text, "<script>") || strings.Contains(text, "<img") || strings.ContainsAny(text, "\x00\x07\u202e") {
			t.Errorf("name %d: Markdown has it as it is", i)
		}
	}
}
