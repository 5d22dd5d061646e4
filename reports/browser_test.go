package reports

import (
	"context"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/reports/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// browser returns a new tab of headless Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	return browsertest.Tab(t)
}

func do[T any](ctx context.Context, t *testing.T, a chromedp.Action[T]) T {
	t.Helper()
	return browsertest.Do(ctx, t, a)
}

func call[P, R any](ctx context.Context, t *testing.T, c cdp.Command[P, R], params P) {
	t.Helper()
	browsertest.Call(ctx, t, c, params)
}

// keepShot keeps a picture of the page.
func keepShot(ctx context.Context, t *testing.T, name string, take chromedp.Action[[]byte]) {
	t.Helper()
	browsertest.KeepShot(ctx, t, name, take)
}

// drawn describes one chart of the page as the browser sees it.
type drawn struct {
	Section string
	Width   float64
	Strokes int // visible paths that are lines with a width and a height
	Areas   int // visible paths that are filled
	Texts   int
	Colours []string // of the lines and areas
	Beyond  string   // a text that stands outside of the drawing
}

const inspect = `[...document.querySelectorAll('svg.chart')].filter(svg => svg.getBoundingClientRect().width > 0).map(svg => {
	const box = svg.getBoundingClientRect(), d = {Section: svg.closest('section, figure[id]').id, Width: box.width, Strokes: 0, Areas: 0, Texts: 0, Colours: [], Beyond: ''};
	for (const p of svg.querySelectorAll('path')) {
		const s = getComputedStyle(p), b = p.getBoundingClientRect();
		if (s.visibility !== 'visible' || s.display === 'none') continue;
		if (s.fill !== 'none' && b.width > 0 && b.height > 0) { d.Areas++; d.Colours.push(s.fill); }
		if (s.stroke !== 'none' && b.width > 0 && b.height > 0) { d.Strokes++; d.Colours.push(s.stroke); }
	}
	for (const t of svg.querySelectorAll('text')) {
		const b = t.getBoundingClientRect();
		if (b.width > 0) d.Texts++;
		if (b.left < box.left - 2 || b.right > box.right + 2 || b.top < box.top - 2 || b.bottom > box.bottom + 2) d.Beyond = t.textContent;
	}
	return d;
})`

// written writes a report and returns its address.
func written(t *testing.T, r *analysis.Result) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteHTML(file, r); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// TestBrowserOfManyFlows: "opens in Chromium in under 2 s" (issue 11), from the request to
// the load event. CSIGLAB_REPORT_FOLDER names another run folder, for measurements.
func TestBrowserOfManyFlows(t *testing.T) {
	checkout.SkipSlowRace(t)
	var f *runfolder.Folder
	if dir := os.Getenv("CSIGLAB_REPORT_FOLDER"); dir != "" {
		var err error
		if f, err = runfolder.Open(dir); err != nil {
			t.Fatal(err)
		}
	} else {
		f = (&analysistest.Many{Leaves: 16, Spines: 8, Hosts: 8, Samples: true}).Folder(t)
	}
	numbers, err := analysis.Read(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	page := written(t, numbers)
	ctx := browser(t)
	least := math.Inf(1)
	for _, c := range []struct {
		name, scheme string
		width        int64
	}{{"many-light", "light", 1280}, {"many-dark", "dark", 1280}, {"many-phone-light", "light", 420}, {"many-phone-dark", "dark", 420}} {
		call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: c.scheme}}})
		do(ctx, t, chromedp.EmulateViewport(c.width, 900))
		do(ctx, t, chromedp.Navigate(page))
		load := do(ctx, t, chromedp.Evaluate[float64](`(() => { const n = performance.getEntriesByType('navigation')[0]; return n.loadEventEnd - n.startTime })()`))
		wide := do(ctx, t, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`))
		beyond := do(ctx, t, chromedp.Evaluate[[]drawn](inspect))
		keepShot(ctx, t, c.name+".png", chromedp.FullScreenshot(100))
		t.Logf("%s: load event after %.0f ms", c.name, load)
		least = min(least, load) // other tests share the machine
		if wide {
			t.Errorf("%s: the page is wider than its window of %d", c.name, c.width)
		}
		for _, d := range beyond {
			if d.Beyond != "" {
				t.Errorf("%s: %s: text %q stands outside", c.name, d.Section, d.Beyond)
			}
		}
	}
	if !(least > 0 && least <= 2000) {
		t.Errorf("load event after %.0f ms at best, want less than 2 s", least)
	}
}

func TestBrowser(t *testing.T) {
	checkout.SkipSlowRace(t)
	r := build(t, analysistest.ThreeFlow().Folder(t, nil))
	page := written(t, r.numbers)

	ctx := browser(t)
	w := listening(ctx, t, page)
	loads := 0
	for _, c := range []struct {
		name, media, scheme string
		width               int64
		background          string
	}{
		{"light", "screen", "light", 1280, "rgb(255, 255, 255)"},
		{"dark", "screen", "dark", 1280, "rgb(18, 22, 29)"},
		{"narrow", "screen", "light", 800, "rgb(255, 255, 255)"},
		{"phone", "screen", "dark", 420, "rgb(18, 22, 29)"},
		{"print", "print", "dark", 1000, "rgb(255, 255, 255)"},
	} {
		call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: c.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: c.scheme}}})
		do(ctx, t, chromedp.EmulateViewport(c.width, 900))
		do(ctx, t, chromedp.Navigate(page))
		charts := do(ctx, t, chromedp.Evaluate[[]drawn](inspect))
		background := do(ctx, t, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
		wide := do(ctx, t, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`))
		loads++
		keepShot(ctx, t, c.name+".png", chromedp.FullScreenshot(100))
		if background != c.background {
			t.Errorf("%s: background %s, want %s", c.name, background, c.background)
		}
		if wide {
			t.Errorf("%s: the page is wider than its window of %d", c.name, c.width)
		}
		if thin := do(ctx, t, chromedp.Evaluate[int](`[...document.querySelectorAll('.cells path')].filter(p => getComputedStyle(p).vectorEffect !== 'none').length`)); thin > 0 {
			t.Errorf("%s: %d paths of cells would not be as high as their row", c.name, thin)
		}
		panels := map[string]int{}
		for _, d := range charts {
			panels[d.Section]++
			strokes, areas := 3, 4 // of each variant a line and a band; the measuring window
			switch d.Section {
			case "throughput", "delays":
				areas = 1 // the measuring window
			case "utilisation":
				strokes, areas = 0, 0 // level lines
			case "signature":
				strokes, areas = 1, 0 // cells of one level
			case "shift-csig", "shift-csig-wide":
				strokes, areas = 0, 0 // bars are no paths
			case "actions":
				strokes, areas = 0, 6 // two actions of three flows
			}
			if d.Width < 200 || d.Strokes < strokes || d.Areas < areas || d.Texts < 6 {
				t.Errorf("%s: %s is %+v, want %d lines and %d areas", c.name, d.Section, d, strokes, areas)
			}
			if d.Beyond != "" {
				t.Errorf("%s: %s: text %q stands outside", c.name, d.Section, d.Beyond)
			}
			// An undefined variable would paint black.
			if slices.Contains(d.Colours, "rgb(0, 0, 0)") || slices.Contains(d.Colours, "rgba(0, 0, 0, 0)") {
				t.Errorf("%s: %s has unset colours: %v", c.name, d.Section, d.Colours)
			}
		}
		for section, want := range map[string]int{"main": 1, "queues": 2, "cwnd": 1, "throughput": 3, "delays": 3, "actions": 3} {
			if panels[section] != want {
				t.Errorf("%s: %d panels of %s, want %d", c.name, panels[section], section, want)
			}
		}
	}
	if seen, problems := w.Seen(); len(problems) > 0 || seen != loads {
		t.Errorf("%d loads, want %d; problems: %v", seen, loads, problems)
	}
}
