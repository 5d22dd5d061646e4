package reports

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/campaign"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports/analysis"
)

// firstScreen describes what of a page stands in the first window.
type firstScreen struct {
	Verdict, Story, Fabric, Main float64 // lower edges; 0 when it is missing
	Text                         string  // the story
	MainTop                      float64
	Letters                      float64  // height of the smallest text of the drawings
	Wide                         bool     // the page is wider than its window
	Cut                          []string // cells and blocks that reach beyond the window
	Links, Ways, Boxes           int      // that are drawn
}

const inspectFirst = `(() => {
	const lower = id => { const e = document.getElementById(id); return e ? e.getBoundingClientRect().bottom : 0; };
	const shown = e => e.getBoundingClientRect().width > 0;
	const d = {Verdict: lower('verdict'), Story: lower('story'), Fabric: lower('fabric'), Text: document.getElementById('story')?.textContent ?? '', Main: 0, MainTop: 0, Letters: 1000, Cut: []};
	const main = [...document.querySelectorAll('#main svg.chart')].find(shown);
	if (main) { d.Main = main.getBoundingClientRect().bottom; d.MainTop = main.getBoundingClientRect().top; }
	for (const t of document.querySelectorAll('#main svg text, #fabric svg text'))
		if (shown(t)) { const svg = t.closest('svg'); d.Letters = Math.min(d.Letters, parseFloat(getComputedStyle(t).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width); }
	d.Wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
	for (const e of document.querySelectorAll('td, th, p, li, figure, dd, h2')) {
		const b = e.getBoundingClientRect();
		if (b.width > 0 && (b.right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible')) d.Cut.push(e.textContent.slice(0, 40));
	}
	const svg = [...document.querySelectorAll('#fabric svg.fabric')].find(shown);
	const count = what => svg ? svg.querySelectorAll(what).length : 0;
	d.Links = count('.link'); d.Ways = count('.way'); d.Boxes = count('rect');
	return d;
})()`

// The first screen tells the story without scrolling: verdict, sentences, fabric and
// main chart, of an experiment of three flows and of one of 240, at 1400 and at 420 px.
func TestFirstScreen(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range []struct {
		name               string
		boxes, links, ways int
		story              string
	}{
		{"three-flow", 29, 28, 3, "In variant baseline all 3 flows complete, on average in 24\u00a0ms and at the latest in 32.5\u00a0ms. Two links limit the flows: "},
		{"all-to-all", 36, 48, 0, "All 240 flows complete, on average in 15.6\u00a0µs and at the latest in 20.8\u00a0µs. No link is full while measured: the busiest, "},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := browser(t)
			page := pageOf(t, c.name)
			for _, s := range []struct {
				name          string
				scheme        string
				width, height int64
			}{{"1400-light", "light", 1400, 900}, {"1400-dark", "dark", 1400, 900}, {"420-light", "light", 420, 900}, {"420-dark", "dark", 420, 900}} {
				call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Media: "screen", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})
				do(ctx, t, chromedp.EmulateViewport(s.width, s.height))
				do(ctx, t, chromedp.Navigate(page))
				keepShot(ctx, t, fmt.Sprintf("%s-%s.png", c.name, s.name), chromedp.CaptureScreenshot())
				keepShot(ctx, t, fmt.Sprintf("%s-%s-whole.png", c.name, s.name), chromedp.FullScreenshot(100))
				checkPixels(ctx, t, s.name)
				d := do(ctx, t, chromedp.Evaluate[firstScreen](inspectFirst))
				if !strings.HasPrefix(d.Text, c.story) {
					t.Errorf("%s: story %q, want %q", s.name, d.Text, c.story)
				}
				lower := []float64{1, d.Verdict, d.Story, d.Fabric, float64(s.height)}
				if s.width > 1000 { // the chart stands beside the fabric
					lower = []float64{1, d.Verdict, d.Story, d.MainTop, d.Fabric, float64(s.height)}
				}
				end := d.Main
				if s.width < 1000 { // five sentences leave less room: the chart begins in the window
					end = d.MainTop
				}
				if !slices.IsSorted(lower) || d.Main <= d.Story || end > float64(s.height) {
					t.Errorf("%s: verdict, story, fabric and main chart are not in this order within the window: %+v", s.name, d)
				}
				if d.Letters < 9 {
					t.Errorf("%s: a text of the drawings is %.1f px high", s.name, d.Letters)
				}
				if d.Wide || len(d.Cut) > 0 {
					t.Errorf("%s: the page is wider than the window: %v, or cut: %q", s.name, d.Wide, d.Cut)
				}
				if d.Boxes != c.boxes || d.Links != c.links || d.Ways != c.ways {
					t.Errorf("%s: %d boxes, %d links and %d ways of flows, want %d, %d and %d", s.name, d.Boxes, d.Links, d.Ways, c.boxes, c.links, c.ways)
				}
			}
		})
	}
}

// checkPixels looks whether the drawings of the first screen show something: pixels that
// differ from the corner of their figure.
func checkPixels(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	boxes := do(ctx, t, chromedp.Evaluate[[][4]float64](`[...document.querySelectorAll('#main svg.chart, #fabric svg.fabric')].map(s => s.getBoundingClientRect()).filter(b => b.width > 0).map(b => [b.left, b.top, b.right, b.bottom])`))
	shot, err := png.Decode(bytes.NewReader(do(ctx, t, chromedp.CaptureScreenshot())))
	if err != nil {
		t.Fatal(err)
	}
	if len(boxes) != 2 {
		t.Errorf("%s: %d drawings", name, len(boxes))
	}
	for _, b := range boxes {
		area := image.Rect(int(b[0])+1, int(b[1])+1, int(b[2]), int(b[3])).Intersect(shot.Bounds())
		drawn := 0
		for y := area.Min.Y; y < area.Max.Y; y++ {
			for x := area.Min.X; x < area.Max.X; x++ {
				if shot.At(x, y) != shot.At(area.Min.X, area.Min.Y) {
					drawn++
				}
			}
		}
		if share := float64(drawn) / float64(max(area.Dx()*area.Dy(), 1)); share < 0.02 {
			t.Errorf("%s: %.2f %% of the pixels in %v are drawn", name, 100*share, area)
		}
	}
}

// pageOf runs an experiment in virtual time and returns the address of its report.
func pageOf(t *testing.T, name string) string {
	t.Helper()
	set, err := experiment.Load(name, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "run")
	if _, err := campaign.Run(t.Context(), set, campaign.Options{Out: folder}); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	r, err := analysis.Read(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "report.html")
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
