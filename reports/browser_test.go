package reports

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// chromium is the browser of all tests, started by the first of them.
var chromium struct {
	sync.Once
	ctx context.Context // of its first tab
	end []func()
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, end := range slices.Backward(chromium.end) {
		end()
	}
	os.Exit(code)
}

func startChromium(path string) {
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		chromium.err = err
		return
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(90*time.Second))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	chromium.end = append(chromium.end, func() { os.RemoveAll(profile) }, cancel)
	chromium.ctx, cancel = chromedp.NewContext(ctx)
	chromium.end = append(chromium.end, cancel)
	_, chromium.err = chromedp.Run(chromium.ctx, chromedp.Evaluate[bool](`true`))
}

// browser returns a new tab of headless Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: ", err)
	}
	if testing.Short() {
		t.Skip("-short: no browser")
	}
	chromium.Do(func() { startChromium(path) })
	if chromium.err != nil {
		t.Fatal("chromium: ", chromium.err)
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func do[T any](ctx context.Context, t *testing.T, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func call[P, R any](ctx context.Context, t *testing.T, c cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, c, params); err != nil {
		t.Fatal(err)
	}
}

// keepShot writes a picture of the page into the folder TEST_SCREENSHOTS, if that
// is set.
func keepShot(ctx context.Context, t *testing.T, name string, take chromedp.Action[[]byte]) {
	t.Helper()
	folder := os.Getenv("TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	shot := do(ctx, t, take)
	if err := os.WriteFile(filepath.Join(folder, name), shot, 0o644); err != nil {
		t.Fatal(err)
	}
}

// watch collects what a page must not do: complain or ask the network for
// anything but itself.
type watch struct {
	mu       sync.Mutex
	problems []string
	loads    int // of the page itself
}

func (w *watch) listen(page string) func(any) {
	return func(event any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			w.problems = append(w.problems, fmt.Sprintf("console %s", e.Type))
		case *runtime.EventExceptionThrown:
			w.problems = append(w.problems, "exception "+e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			w.problems = append(w.problems, fmt.Sprintf("log %s %s", e.Entry.Level, e.Entry.Text))
		case *network.EventRequestWillBeSent:
			switch u := e.Request.URL; {
			case u == page:
				w.loads++
			case !strings.HasPrefix(u, "data:"):
				w.problems = append(w.problems, "request for "+u)
			}
		}
	}
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
	numbers, err := analysis.Read(f)
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
	r := build(t, analysistest.ThreeFlow().Folder(t, nil))
	page := written(t, r.numbers)

	ctx := browser(t)
	var w watch
	if err := chromedp.Listen(ctx, w.listen(page)); err != nil {
		t.Fatal(err)
	}
	call(ctx, t, network.Enable, network.EnableParams{})
	call(ctx, t, log.Enable, cdp.Empty{})
	call(ctx, t, runtime.Enable, cdp.Empty{})
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
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) > 0 || w.loads != loads {
		t.Errorf("%d loads, want %d; problems: %v", w.loads, loads, w.problems)
	}
}
