package reports

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/reports/browsertest"
)

// at is a place in the window.
type at struct{ X, Y float64 }

// hand is a reader's hand on a page.
type hand struct {
	ctx context.Context
	t   *testing.T
}

func (h hand) mouse(kind input.DispatchMouseEventType, p at, clicks int64) {
	h.t.Helper()
	e := input.DispatchMouseEventParams{Type: kind, X: p.X, Y: p.Y, ClickCount: clicks}
	if kind != input.DispatchMouseEventTypeMouseMoved || clicks > 0 {
		e.Button, e.Buttons = input.MouseButtonLeft, 1
	}
	call(h.ctx, h.t, input.DispatchMouseEvent, e)
}

func (h hand) drag(from, to at) {
	h.t.Helper()
	h.mouse(input.DispatchMouseEventTypeMousePressed, from, 1)
	h.mouse(input.DispatchMouseEventTypeMouseMoved, at{(from.X + to.X) / 2, to.Y}, 1)
	h.mouse(input.DispatchMouseEventTypeMouseMoved, to, 1)
	h.mouse(input.DispatchMouseEventTypeMouseReleased, to, 1)
}

func (h hand) click(expression string, clicks int64) {
	h.t.Helper()
	p := h.place(expression)
	for n := int64(1); n <= clicks; n++ {
		h.mouse(input.DispatchMouseEventTypeMousePressed, p, n)
		h.mouse(input.DispatchMouseEventTypeMouseReleased, p, n)
	}
}

// place returns the middle of an element.
func (h hand) place(expression string) at {
	h.t.Helper()
	return read[at](h, `(e => { e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return {X: b.left + b.width / 2, Y: b.top + b.height / 2}; })(`+expression+`)`)
}

func read[T any](h hand, expression string) T {
	h.t.Helper()
	return do(h.ctx, h.t, chromedp.Evaluate[T](expression))
}

// plotPlace returns the place of a share of the width and height of the plot area of the
// drawing of a figure that is shown.
func (h hand) plotPlace(figure string, x, y float64) at {
	h.t.Helper()
	return read[at](h, fmt.Sprintf(`(svg => {
		svg.scrollIntoView({block: 'center'});
		const b = svg.getBoundingClientRect(), k = b.width / svg.viewBox.baseVal.width, [left, top, width, height] = svg.dataset.plot.split(' ').map(Number);
		return {X: b.left + k * (left + %g * width), Y: b.top + k * (top + %g * height)};
	})(%s)`, x, y, shownSVG(figure)))
}

func shownSVG(figure string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('svg[data-figure="%s"]')].find(s => s.getBoundingClientRect().width > 0)`, figure)
}

// tip returns the rows of the tooltip, "" when it is hidden.
func (h hand) tip() string {
	h.t.Helper()
	return read[string](h, `(t => t.hidden ? '' : [...t.children].map(c => c.textContent).join('\n'))(document.querySelector('.tip'))`)
}

func (h hand) wantTip(what, want string) {
	h.t.Helper()
	if got := h.tip(); got != want {
		h.t.Errorf("%s: tooltip %q, want %q", what, got, want)
	}
}

// watch collects what a page must not do.
type watch struct{ *browsertest.Watch }

func listening(ctx context.Context, t *testing.T, page string) watch {
	t.Helper()
	return watch{browsertest.Listen(ctx, t, page)}
}

func (w watch) check(t *testing.T) {
	t.Helper()
	if _, problems := w.Seen(); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
}

func show(ctx context.Context, t *testing.T, page, scheme string, width int64) {
	t.Helper()
	call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: "screen", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	do(ctx, t, chromedp.EmulateViewport(width, 900))
	do(ctx, t, chromedp.Navigate(page))
}

// slowestTip returns what the tooltip of the slowest flow's rate has to say at a point.
func slowestTip(r *analysis.Result, point int) string {
	rows := []string{fmt.Sprintf("Time %s\u00a0ms", number((float64(point)+0.5)*r.PointUS/1000))}
	for _, c := range r.Charts {
		if c.ID != "slowest" {
			continue
		}
		for _, l := range c.Panels[0].Lines {
			i := point - l.First
			rows = append(rows, fmt.Sprintf("%s %s\u00a0Gb/s (%s … %s)", l.Variant, number(rounded(l.Values[i])), number(rounded(l.Low[i])), number(rounded(l.High[i]))))
		}
	}
	return strings.Join(rows, "\n")
}

// The script shows the values that the data has, zooms all charts over time together, and
// hides and shows series.
func TestScriptOfCharts(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	page := written(t, r)
	ctx := browser(t)
	w := listening(ctx, t, page)
	h := hand{ctx, t}
	for _, width := range []int64{1400, 420} {
		show(ctx, t, page, "dark", width)
		end := read[float64](h, `JSON.parse(document.getElementById('data').textContent).figures.find(f => f.id === 'slowest-0').x.max`) // ms
		share := func(point int) float64 { return (float64(point) + 0.5) * r.PointUS / 1000 / end }
		h.wantTip("at first", "")
		h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("slowest-0", share(100), 0.3), 0)
		h.wantTip("pointer", slowestTip(r, 100))
		keepShot(ctx, t, fmt.Sprintf("tooltip-%d.png", width), chromedp.CaptureScreenshot())
		if box := read[[]float64](h, `(b => [b.left, b.top, innerWidth - b.right, innerHeight - b.bottom])(document.querySelector('.tip').getBoundingClientRect())`); slices.Min(box) < 0 {
			t.Errorf("the tooltip reaches out of the window: %v", box)
		}
		if lines := read[int](h, `document.querySelectorAll('.cursor path').length`); lines < 10 {
			t.Errorf("%d charts have a line at the time, want all over time", lines)
		}
		h.mouse(input.DispatchMouseEventTypeMouseMoved, at{5, 5}, 0)
		h.wantTip("pointer elsewhere", "")

		// Keys.
		read[bool](h, shownSVG("slowest-0")+`.focus() || true`)
		for _, k := range []struct {
			key   string
			point int
		}{{kb.Home, 0}, {kb.ArrowRight, 1}, {kb.ArrowRight, 2}, {kb.ArrowLeft, 1}} {
			do(ctx, t, chromedp.KeyEvent(k.key))
			h.wantTip("key", slowestTip(r, k.point))
		}
		if live := read[string](h, `document.querySelector('.tip').getAttribute('aria-live')`); live != "polite" {
			t.Errorf("what keys show is announced as %q", live)
		}
		do(ctx, t, chromedp.KeyEvent(kb.Escape))
		h.wantTip("Escape", "")

		// Zoom.
		h.drag(h.plotPlace("slowest-0", share(100), 0.2), h.plotPlace("slowest-0", share(180), 0.6))
		type zoomed struct {
			Zoomed, Time, Others int
			Text                 string
			Ticks                []string
			Points               int
		}
		inspect := `(() => {
			const of = new Map(JSON.parse(document.getElementById('data').textContent).figures.map(f => [f.id, f.x.clock]));
			const all = [...document.querySelectorAll('svg[data-figure]')], is = s => s.classList.contains('zoomed') && s.querySelector('[clip-path] [data-series]') !== null;
			const shown = ` + shownSVG("slowest-0") + `;
			return {Zoomed: all.filter(is).length, Time: all.filter(s => of.get(s.dataset.figure)).length, Others: all.filter(s => is(s) && !of.get(s.dataset.figure)).length,
				Text: document.querySelector('.zoombar').hidden ? '' : document.querySelector('.zoombar span').textContent,
				Ticks: [...shown.querySelectorAll('.ticks text')].map(t => t.textContent),
				Points: shown.querySelector('[clip-path] path:not([style*="fill-opacity"])')?.getAttribute('d').split('L').length ?? 0};
		})()`
		z := read[zoomed](h, inspect)
		if z.Zoomed != z.Time || z.Time < 9 || z.Others != 0 || !strings.HasPrefix(z.Text, "Charts show ") || len(z.Ticks) < 3 || z.Ticks[0] < "10" {
			t.Errorf("%d: after a drag %+v, want all charts over time", width, z)
		}
		if math.Abs(float64(z.Points)-82) > 2 { // and one on each side
			t.Errorf("%d: a line has %d points after zooming into 80", width, z.Points)
		}
		h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("slowest-0", (140-100.0)/80, 0.3), 0)
		h.wantTip("pointer in a span", slowestTip(r, 140))
		keepShot(ctx, t, fmt.Sprintf("zoomed-%d.png", width), chromedp.CaptureScreenshot())
		p := h.plotPlace("slowest-0", 0.5, 0.5)
		for n := int64(1); n <= 2; n++ {
			h.mouse(input.DispatchMouseEventTypeMousePressed, p, n)
			h.mouse(input.DispatchMouseEventTypeMouseReleased, p, n)
		}
		if z = read[zoomed](h, inspect); z.Zoomed != 0 || z.Text != "" {
			t.Errorf("%d: after a double click %+v, want no zoom", width, z)
		}

		// Legends. The first variant's line, its band and its row of the tooltip.
		key := `[...document.querySelectorAll('#main .legend button')].find(b => b.textContent === 'baseline')`
		count := `[...` + shownSVG("slowest-0") + `.querySelectorAll('[data-series="0"]')].filter(e => getComputedStyle(e).display !== 'none').length`
		before := read[int](h, count)
		h.click(key, 1)
		if n := read[int](h, count); before < 2 || n != 0 || read[string](h, key+`.getAttribute('aria-pressed')`) != "false" {
			t.Errorf("%d: baseline has %d elements, and %d when it is off", width, before, n)
		}
		h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("slowest-0", share(100), 0.3), 0)
		if tip := h.tip(); strings.Contains(tip, "baseline") || !strings.Contains(tip, "csig ") {
			t.Errorf("%d: tooltip without baseline: %q", width, tip)
		}
		h.click(key, 1)
		if n := read[int](h, count); n != before {
			t.Errorf("%d: baseline has %d elements when it is on again, want %d", width, n, before)
		}
		h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("actions-0", 0.1, 0.1), 0)
		if tip := h.tip(); !strings.HasPrefix(tip, "0-3\n") || !strings.Contains(tip, "\u00a0%") {
			t.Errorf("%d: tooltip of bars: %q", width, tip)
		}
	}
	// Touch.
	p := h.plotPlace("slowest-0", 0.5, 0.5)
	call(ctx, t, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: p.X, Y: p.Y}}})
	call(ctx, t, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}})
	if tip := h.tip(); !strings.HasPrefix(tip, "Time 1") {
		t.Errorf("touch: tooltip %q", tip)
	}
	if globals := read[[]string](h, `(() => { const f = document.createElement('iframe'); document.body.append(f); const own = new Set(Object.getOwnPropertyNames(f.contentWindow)); f.remove(); return Object.getOwnPropertyNames(window).filter(n => !own.has(n) && isNaN(n)); })()`); len(globals) > 0 {
		t.Errorf("the script leaves globals: %v", globals)
	}
	w.check(t)
}

// A matrix over time answers with its cell, and zooms with what stands above it.
func TestScriptOfMatrices(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	s := analysis.Signature{Variant: "csig", Job: "gpt", Steps: 1, BinUS: 20, Bins: 50, AllPorts: true,
		Spans: []analysis.SignatureSpan{{Name: "dp", BeginUS: 400, EndUS: 600, Active: make(analysis.Percents, 50)}}}
	for row := range 4 {
		s.Rows = append(s.Rows, analysis.SignatureRow{Name: fmt.Sprintf("tor%d-agg0", row), Tier: "tor", Direction: "up", Ports: 1})
		values := make(analysis.Percents, s.Bins)
		for i := range values {
			values[i] = int8(i + row)
		}
		s.Utilisation = append(s.Utilisation, values)
	}
	r.Signatures = []analysis.Signature{s}
	page := written(t, r)
	ctx := browser(t)
	w := listening(ctx, t, page)
	h := hand{ctx, t}
	show(ctx, t, page, "light", 1400)
	want := func(row, bin int) string {
		return fmt.Sprintf("Port tor%d-agg0 (ToR ↑)\nTime in the step %s to %s\u00a0ms \nBusy %d\u00a0%%", row, number(0.02*float64(bin)), number(0.02*float64(bin+1)), bin+row)
	}
	h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("signature-gpt-0", 10.5/50, 2.5/4), 0)
	h.wantTip("pointer", want(2, 10))
	left := fmt.Sprintf(`(([left, , width]) => { const svg = %[1]s, b = svg.getBoundingClientRect(), k = b.width / svg.viewBox.baseVal.width, bar = svg.querySelector('[data-part="spans"] .reach').getBoundingClientRect();
		return {X: ((bar.left - b.left) / k - left) / width, Y: bar.width / k / width}; })(%[1]s.dataset.plot.split(' ').map(Number))`, shownSVG("signature-gpt-0"))
	h.drag(h.plotPlace("signature-gpt-0", 0.4, 0.3), h.plotPlace("signature-gpt-0", 0.6, 0.3))
	if bar := read[at](h, left); math.Abs(bar.X) > 0.03 || math.Abs(bar.Y-1) > 0.05 {
		t.Errorf("the bar from 400 to 600 µs is at %v of the shown span, want all of it", bar)
	}
	h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("signature-gpt-0", (25.5-20)/10, 1.5/4), 0)
	h.wantTip("pointer in a span", want(1, 25))
	if read[bool](h, shownSVG("slowest-0")+`.classList.contains('zoomed')`) {
		t.Error("a span of the step is shown of the run")
	}
	do(ctx, t, chromedp.KeyEvent(kb.Escape)) // the tooltip
	do(ctx, t, chromedp.KeyEvent(kb.Escape)) // the zoom
	if bar := read[at](h, left); math.Abs(bar.X-0.4) > 0.01 || math.Abs(bar.Y-0.2) > 0.01 {
		t.Errorf("the bar is at %v after Escape", bar)
	}
	w.check(t)
}

// Tables are sorted by value, filtered by text and cut off where they are long.
func TestScriptOfTables(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	seconds := []float64{9.5, 12345.6, 0.0123, 100, 99.9}
	r.Runs = nil
	for i := range 60 {
		run := analysis.Run{Variant: []string{"b10", "b9"}[i%2], Seed: uint64(i), WallSeconds: 200 + float64(i), Valid: true}
		if i < len(seconds) {
			run.WallSeconds = seconds[i]
		}
		r.Runs = append(r.Runs, run)
	}
	page := written(t, r)
	ctx := browser(t)
	w := listening(ctx, t, page)
	h := hand{ctx, t}
	show(ctx, t, page, "light", 1400)
	table := `document.querySelector('table[aria-label="Runs"]')`
	column := func(n int) []string {
		return read[[]string](h, fmt.Sprintf(`[...%s.tBodies[0].rows].filter(r => getComputedStyle(r).display !== 'none').map(r => r.cells[%d].textContent)`, table, n))
	}
	if n := len(column(0)); n != 25 {
		t.Errorf("%d rows at first, want 25", n)
	}
	more := `document.querySelector('#how .more-rows')`
	h.click(more, 1)
	if n := len(column(0)); n != 60 || !read[bool](h, more+`.hidden`) {
		t.Errorf("%d rows after the button for all, want 60", n)
	}
	head := func(n int) string { return fmt.Sprintf(`%s.tHead.rows[0].cells[%d]`, table, n) }
	h.click(head(3)+`.firstChild`, 1)
	wall := column(3)
	if want := []string{number(0.0123), "9.5", "99.9", "100", "205"}; !slices.Equal(wall[:5], want) || wall[59] != number(12345.6) {
		t.Errorf("sorted by wall time: %v … %s, want %v", wall[:5], wall[59], want)
	}
	if sort := read[string](h, head(3)+`.getAttribute('aria-sort')`); sort != "ascending" {
		t.Errorf("aria-sort %q", sort)
	}
	h.click(head(3)+`.firstChild`, 1)
	if got := column(3); got[0] != number(12345.6) || got[59] != number(0.0123) {
		t.Errorf("sorted downwards: %v", got)
	}
	h.click(head(0)+`.firstChild`, 1)
	if got := column(0); got[0] != "b9" || got[59] != "b10" {
		t.Errorf("sorted by name: %s … %s", got[0], got[59])
	}
	h.click(`document.querySelector('#how input[type=search]')`, 1)
	for _, r := range "B10" {
		do(ctx, t, chromedp.KeyEvent(string(r)))
	}
	if got := column(0); len(got) != 30 || slices.Contains(got, "b9") || read[string](h, `document.querySelector('#how .tools [role=status]').textContent`) != "30 of 60 rows" {
		t.Errorf("filtered: %v", got)
	}
	w.check(t)
}

// Without script the page is the whole static report, and says nothing of what it cannot
// do.
func TestWithoutScript(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	page := written(t, r)
	ctx := browser(t)
	w := listening(ctx, t, page)
	call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	show(ctx, t, page, "light", 1400)
	h := hand{ctx, t}
	type static struct {
		Buttons, Hints, Hidden, Rows, Lines int
		Scripted                            bool
	}
	got := read[static](h, `({Buttons: document.querySelectorAll('button, input, select').length, Rows: document.querySelectorAll('tbody tr').length, Scripted: document.documentElement.classList.contains('scripted'),
		Hidden: [...document.querySelectorAll('tbody tr')].filter(e => e.closest('details:not([open])') === null && e.getBoundingClientRect().height === 0).length,
		Hints: [...document.querySelectorAll('.hint')].filter(e => e.getBoundingClientRect().height > 0).length,
		Lines: [...document.querySelectorAll('#main svg [data-series]')].filter(e => e.getBoundingClientRect().width > 0).length})`)
	if want := (static{Rows: got.Rows, Lines: got.Lines}); got != want || got.Rows < 20 || got.Lines != 6 {
		t.Errorf("%+v", got)
	}
	w.check(t)
}
