package page

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/chart"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// html returns the page of a document.
func html(t *testing.T, d *Document) string {
	t.Helper()
	var b strings.Builder
	if err := d.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// written writes the page of a document into a file and returns its address.
func written(t *testing.T, d *Document) string {
	t.Helper()
	return browsertest.Written(t, html(t, d))
}

// The first screen is read without scrolling: the verdict, the story, whose answer stands
// out, the fabric and the main chart. No text or block is cut at any width, and no chart's
// text stands outside of it.
func TestFirstScreen(t *testing.T) {
	checkout.SkipSlowRace(t)
	ctx := browsertest.Tab(t)
	type screen struct {
		Lower   []float64 // edges of verdict, answer, story, fabric and the main chart
		MainTop float64
		Answer  bool // it stands out
		Wide    bool
		Cut     []string
		Beyond  []string // texts of charts
		Letters float64  // height of the smallest text of the first drawings
		Screens float64
	}
	inspect := `(() => {
		const seen = e => e.getBoundingClientRect().width > 0, lower = s => [...document.querySelectorAll(s)].find(seen)?.getBoundingClientRect().bottom ?? 0;
		const size = s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize);
		const d = {Lower: ['#verdict', '#story .answer', '#story', '#fabric svg.fabric', '#main svg.chart'].map(lower), Answer: size('#story .answer') > 1.1 * size('#story p:last-child'), Cut: [], Beyond: [], Letters: 100,
			MainTop: [...document.querySelectorAll('#main svg.chart')].find(seen).getBoundingClientRect().top, Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth, Screens: document.documentElement.scrollHeight / innerHeight};
		for (const e of document.querySelectorAll('td, th, p, li, figure, dd, h2, button, summary')) {
			const b = e.getBoundingClientRect(), strip = e.closest('.scroll, .panels, .chips');
			if (b.width > 0 && !(strip && strip.scrollWidth > strip.clientWidth) && (b.right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible')) d.Cut.push(e.textContent.slice(0, 40));
		}
		for (const svg of document.querySelectorAll('svg.chart')) {
			const box = svg.getBoundingClientRect();
			for (const t of svg.querySelectorAll('text')) {
				const b = t.getBoundingClientRect();
				if (b.width > 0 && (b.left < box.left - 2 || b.right > box.right + 2 || b.top < box.top - 2 || b.bottom > box.bottom + 2)) d.Beyond.push(t.textContent);
				if (b.width > 0 && svg.closest('.first')) d.Letters = Math.min(d.Letters, parseFloat(getComputedStyle(t).fontSize) * box.width / svg.viewBox.baseVal.width);
			}
		}
		return d;
	})()`
	for _, variants := range []int{1, 6} {
		page := written(t, newSample(variants).document())
		for _, width := range []int64{1400, 1240, 1000, 760, 420} {
			for _, scheme := range []string{"light", "dark"} {
				browsertest.Look(ctx, t, page, "screen", scheme, width)
				name := fmt.Sprintf("first-%d-%d-%s", variants, width, scheme)
				browsertest.KeepShot(ctx, t, name+".png", chromedp.CaptureScreenshot())
				browsertest.KeepShot(ctx, t, name+"-whole.png", chromedp.FullScreenshot(100))
				got := browsertest.Do(ctx, t, chromedp.Evaluate[screen](inspect))
				order := slices.Clone(got.Lower[:4])
				end := got.MainTop // on a phone the chart begins in the window
				if width > 740 {
					end = max(got.Lower[3], got.Lower[4])
				}
				if !slices.IsSorted(order) || got.Lower[0] == 0 || end > 900 || !got.Answer {
					t.Errorf("%s: %+v", name, got)
				}
				if got.Wide || len(got.Cut) > 0 || len(got.Beyond) > 0 || got.Letters < 9 {
					t.Errorf("%s: wider than the window %v, cut %q, outside of charts %q, letters of %.1f px", name, got.Wide, got.Cut, got.Beyond, got.Letters)
				}
				t.Logf("%s: %.1f screens", name, got.Screens)
			}
		}
	}
}

// Paper has the open parts, a line of each closed one, all columns of tables, and nothing
// that only a screen can use; it is light.
func TestPrint(t *testing.T) {
	ctx := browsertest.Tab(t)
	page := written(t, newSample(3).document())
	for _, scripted := range []bool{true, false} {
		browsertest.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripted})
		browsertest.Look(ctx, t, page, "print", "dark", 1000)
		browsertest.KeepShot(ctx, t, fmt.Sprintf("print-%v.png", scripted), chromedp.FullScreenshot(100))
		type paper struct {
			Ground      string
			Tools, Open int
			Lines       int // of closed parts
			Rows        int
		}
		got := browsertest.Do(ctx, t, chromedp.Evaluate[paper](`(() => { const seen = s => [...document.querySelectorAll(s)].filter(e => e.checkVisibility()).length;
			return {Ground: getComputedStyle(document.body).backgroundColor, Tools: seen('.contents, .anchor, .chips, .tools, .hint, .open-all, .map-controls, .more-rows, .only-narrow'), Open: seen('.quiet > details > :not(summary)'), Lines: seen('.quiet summary'), Rows: seen('#blame tbody tr')}; })()`))
		if want := (paper{Ground: "rgb(255, 255, 255)", Lines: 19, Rows: 40}); got != want {
			t.Errorf("script %v: %+v, want %+v", scripted, got, want)
		}
	}
}

// "sufficient contrast" (issue 14): WCAG 2.2 AA, §1.4.3, of the texts of the page.
func TestContrast(t *testing.T) {
	luminance := func(c color.NRGBA) float64 {
		channel := func(v uint8) float64 {
			c := float64(v) / 255
			if c <= 0.04045 {
				return c / 12.92
			}
			return math.Pow((c+0.055)/1.055, 2.4)
		}
		return 0.2126*channel(c.R) + 0.7152*channel(c.G) + 0.0722*channel(c.B)
	}
	for name, p := range map[string]*chart.Palette{"light": chart.Light, "dark": chart.Dark} {
		for _, pair := range [][2]chart.Paint{
			{chart.Ink, chart.Paper}, {chart.Soft, chart.Paper}, {chart.Good, chart.Paper}, {chart.Warn, chart.Paper}, {chart.Bad, chart.Paper}, {chart.Target, chart.Paper}, {chart.Flow(0), chart.Paper},
			{chart.Ink, chart.Card}, {chart.Soft, chart.Card}, {chart.Good, chart.Card}, {chart.Warn, chart.Card}, {chart.Bad, chart.Card},
		} {
			a, b := luminance(p.Colour(pair[0])), luminance(p.Colour(pair[1]))
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", name, pair[0].Variable(), pair[1].Variable(), ratio)
			}
		}
	}
	// A variable that no palette has would paint nothing.
	defined := map[string]bool{"--columns": true}
	for _, m := range regexp.MustCompile(`(--[a-z0-9-]+):`).FindAllStringSubmatch(chart.CSS(), -1) {
		defined[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(style(), -1) {
		if !defined[m[1]] {
			t.Errorf("%s is not defined", m[1])
		}
	}
}
