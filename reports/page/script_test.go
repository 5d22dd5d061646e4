package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/section"
)

// at is a place in the window.
type at struct{ X, Y float64 }

// hand is a reader's hand on a page.
type hand struct {
	ctx context.Context
	t   *testing.T
}

func read[T any](h hand, expression string) T {
	h.t.Helper()
	return browsertest.Do(h.ctx, h.t, chromedp.Evaluate[T](expression))
}

func (h hand) mouse(kind input.DispatchMouseEventType, p at, clicks int64) {
	h.t.Helper()
	e := input.DispatchMouseEventParams{Type: kind, X: p.X, Y: p.Y, ClickCount: clicks}
	if kind != input.DispatchMouseEventTypeMouseMoved || clicks > 0 {
		e.Button, e.Buttons = input.MouseButtonLeft, 1
	}
	browsertest.Call(h.ctx, h.t, input.DispatchMouseEvent, e)
}

func (h hand) click(selector string) {
	h.t.Helper()
	p := read[at](h, fmt.Sprintf(`(e => { e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return {X: b.left + b.width / 2, Y: b.top + b.height / 2}; })(%s)`, selector))
	h.mouse(input.DispatchMouseEventTypeMousePressed, p, 1)
	h.mouse(input.DispatchMouseEventTypeMouseReleased, p, 1)
	awaitFrame(h) // a change of the address is heard later
}

func (h hand) key(key string) {
	h.t.Helper()
	browsertest.Do(h.ctx, h.t, chromedp.KeyEvent(key))
}

func shownSVG(figure string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('svg[data-figure="%s"]')].find(s => s.getBoundingClientRect().width > 0)`, figure)
}

// plotPlace returns the place of a share of the width and height of a figure's plot area.
func (h hand) plotPlace(figure string, x, y float64) at {
	h.t.Helper()
	return read[at](h, fmt.Sprintf(`(svg => {
		svg.scrollIntoView({block: 'center'});
		const b = svg.getBoundingClientRect(), k = b.width / svg.viewBox.baseVal.width, [left, top, width, height] = svg.dataset.plot.split(' ').map(Number);
		return {X: b.left + k * (left + %g * width), Y: b.top + k * (top + %g * height)};
	})(%s)`, x, y, shownSVG(figure)))
}

func (h hand) tip() string {
	h.t.Helper()
	return read[string](h, `(t => t.hidden ? '' : [...t.children].map(c => c.textContent).join('\n'))(document.querySelector('.tip'))`)
}

// shown is what a reader sees of variants.
type shown struct {
	Pressed string // chips, by their names
	Rows    string // of the table of fairness: variants
	Columns string // of the variants compared: their heads
	Cells   int    // in a row of it
	Panels  string // of throughput
	Series  int    // of the main figure
	Keys    string // of its legend
	Lacks   int    // blocks that have other variants alone
	Map     string
	Hash    string
}

const inspectShown = `(() => {
	const seen = e => e.getClientRects().length > 0, texts = (s, of = e => e.textContent) => [...document.querySelectorAll(s)].filter(seen).map(of).join(' ');
	return {Pressed: texts('.chip[aria-pressed="true"]'), Rows: [...new Set(texts('#fairness tbody td:nth-child(2)').split(' '))].join(' '), Columns: texts('#compared th'),
		Cells: [...document.querySelectorAll('#compared tbody tr:first-child td')].filter(seen).length, Panels: texts('#throughput figcaption strong'),
		Series: new Set([...document.querySelectorAll('#main svg [data-series]')].filter(seen).map(e => e.dataset.series)).size, Keys: texts('#main .legend li'),
		Lacks: [...document.querySelectorAll('.none')].filter(seen).length, Map: document.querySelector('.map-controls option:checked')?.textContent ?? '', Hash: location.hash};
})()`

func TestVariants(t *testing.T) {
	ctx := browsertest.Tab(t)
	s := newSample(3)
	d := s.document()
	page := written(t, d)
	w := browsertest.Listen(ctx, t, page)
	h := hand{ctx, t}
	chip := func(i int) string { return fmt.Sprintf(`document.querySelectorAll('.chip')[%d]`, i) }
	all := shown{Pressed: "All variants", Rows: "baseline csig csig-wide", Columns: "Quantity baseline csig csig-wide", Cells: 4, Panels: "baseline csig csig-wide", Series: 3, Keys: "baseline csig csig-wide", Map: "baseline"}
	one := shown{Pressed: "csig", Rows: "csig", Columns: "Quantity csig", Cells: 2, Panels: "csig", Series: 1, Keys: "csig", Map: "csig", Hash: "#&variant=csig"}
	two := shown{Pressed: "csig csig-wide", Rows: "csig csig-wide", Columns: "Quantity csig csig-wide", Cells: 3, Panels: "csig csig-wide", Series: 2, Keys: "csig csig-wide", Map: "csig", Hash: "#&variant=csig&variant=csig-wide"}
	want := func(what string, want shown) {
		t.Helper()
		if got := read[shown](h, inspectShown); got != want {
			t.Errorf("%s:\n%+v, want\n%+v", what, got, want)
		}
	}
	for _, width := range []int64{1400, 420} {
		browsertest.Look(ctx, t, "about:blank", "screen", "light", width)
		browsertest.Look(ctx, t, page, "screen", "light", width)
		if width == 420 { // heads of tables are in their rows
			all.Columns, one.Columns, two.Columns = "", "", ""
			all.Rows = "baseline csig" // the first five rows
			two.Rows = "csig csig-wide"
		}
		want("at first", all)
		h.click(chip(2))
		want("one", one)
		h.click(chip(3))
		want("two", two)
		browsertest.KeepShot(ctx, t, fmt.Sprintf("variants-%d.png", width), chromedp.FullScreenshot(100))
		// A link to a part keeps the choice, and both are quoted.
		h.click(`document.querySelector('#fairness > .anchor')`)
		two.Hash = "#fairness&variant=csig&variant=csig-wide"
		want("a part", two)
		browsertest.Do(ctx, t, chromedp.Navigate("about:blank"))
		browsertest.Do(ctx, t, chromedp.Navigate(page+two.Hash))
		want("a quoted link", two)
		if top := read[float64](h, `document.getElementById('fairness').getBoundingClientRect().top`); top < 0 || top > 120 {
			t.Errorf("the part of a quoted link is at %.0f", top)
		}
		two.Hash = "#&variant=csig&variant=csig-wide"
		h.click(chip(1))
		if got := read[shown](h, inspectShown); got.Pressed != "All variants" || got.Hash != "#fairness" {
			t.Errorf("all chosen: %+v", got)
		}
		// A series that the legend hides stays hidden.
		h.click(`document.querySelector('#main .legend button')`)
		h.click(chip(1))
		h.click(chip(0))
		if n := read[shown](h, inspectShown).Series; n != 2 {
			t.Errorf("%d series while the legend hides one", n)
		}
		// The tooltip has the series that are shown.
		h.click(chip(2))
		h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("slowest-0", 0.2, 0.5), 0)
		if tip := h.tip(); !strings.Contains(tip, "\ncsig ") || strings.Contains(tip, "baseline") || strings.Contains(tip, "csig-wide") {
			t.Errorf("tooltip of one variant: %q", tip)
		}
	}
	for _, p := range problems(w) {
		if !strings.HasPrefix(p, "request for "+page+"#") && p != "request for about:blank" {
			t.Error(p)
		}
	}
	// What is of other variants alone says so.
	lone := s.fairness()
	lone.Label, lone.Rows = "Lone", lone.Rows[:3] // of baseline
	remarked := s.fairness()
	remarked.Rows = remarked.Rows[:3]
	d.Parts = append(d.Parts, section.Part{ID: "lone", Title: "Lone", Level: section.Plain, Blocks: []section.Block{lone}},
		section.Part{ID: "remarked", Title: "Remarked", Level: section.Plain, Blocks: []section.Block{section.Paragraph("A remark."), remarked}})
	browsertest.Look(ctx, t, written(t, d), "screen", "light", 1400)
	h.click(chip(2))
	if got := read[shown](h, inspectShown).Lacks; got != 1 || read[bool](h, `document.querySelector('#remarked table').checkVisibility()`) {
		t.Errorf("%d blocks say that they lack the variant", got)
	}
	// A part of nothing else is not shown.
	for _, shown := range []bool{false, true} {
		if got := read[[]bool](h, `['#lone', '.contents-column a[href="#lone"]'].map(s => document.querySelector(s).checkVisibility())`); !slices.Equal(got, []bool{shown, shown}) {
			t.Errorf("a part of another variant and its entry are shown: %v, want %v", got, shown)
		}
		h.click(chip(1))
	}
	// One variant is no choice.
	browsertest.Look(ctx, t, written(t, newSample(1).document()), "screen", "light", 1400)
	if n := read[int](h, `document.querySelectorAll('.chip').length`); n != 0 {
		t.Errorf("%d chips for one variant", n)
	}
}

// A link into a closed part opens it, the contents mark where the reader is, and a phone has
// them as a menu.
func TestContents(t *testing.T) {
	ctx := browsertest.Tab(t)
	page := written(t, newSample(3).document())
	h := hand{ctx, t}
	open := func() string {
		return read[string](h, `[...document.querySelectorAll('.quiet > details[open]')].map(d => d.parentNode.id).join(' ')`)
	}
	top := func(id string) float64 {
		return read[float64](h, `document.getElementById('`+id+`').getBoundingClientRect().top`)
	}
	current := func() string {
		return read[string](h, `[...new Set([...document.querySelectorAll('.contents [aria-current]')].map(a => a.hash))].join(' ')`)
	}
	browsertest.Look(ctx, t, page, "screen", "light", 1400)
	if got := open(); got != "" || current() != "#content" {
		t.Errorf("at first %q is open and %q is current", got, current())
	}
	if menu, column := read[bool](h, `document.querySelector('.contents-menu').getClientRects().length > 0`), read[bool](h, `document.querySelector('.contents-column').getClientRects().length > 0`); menu || !column {
		t.Errorf("at 1400 px: menu %v, column %v", menu, column)
	}
	h.click(`document.querySelector('.contents-column a[href="#how"]')`)
	if got := open(); got != "how" {
		t.Errorf("open after a link to a closed part: %q", got)
	}
	if y := top("how"); y < 0 || y > 900 {
		t.Errorf("the part is at %.0f", y)
	}
	h.click(`document.querySelector('.contents-column a[href="#queues"]')`)
	if y, c := top("queues"), current(); y < 0 || y > 100 || c != "#queues" {
		t.Errorf("the part is at %.0f, current is %q", y, c)
	}
	// The column stays in the window.
	if y := read[float64](h, `document.querySelector('.contents-column').getBoundingClientRect().top`); y < 0 || y > 40 {
		t.Errorf("the column is at %.0f", y)
	}
	// The same link again, after the reader scrolled away.
	read[bool](h, `(scrollTo(0, 0), true)`)
	h.click(`document.querySelector('.contents-column a[href="#queues"]')`)
	if y := top("queues"); y < 0 || y > 100 {
		t.Errorf("after the link again the part is at %.0f", y)
	}
	browsertest.Do(ctx, t, chromedp.Navigate("about:blank"))
	browsertest.Do(ctx, t, chromedp.Navigate(page+"#heatmap-0")) // a figure in a closed part
	if got := open(); got != "heatmap" {
		t.Errorf("open after a link to a figure in a closed part: %q", got)
	}
	h.click(`document.querySelector('.open-all')`)
	if got := strings.Fields(open()); len(got) != 19 {
		t.Errorf("%d parts are open after the button for all", len(got))
	}
	h.click(`document.querySelector('.open-all')`)
	if got := open(); got != "" {
		t.Errorf("open after the button again: %q", got)
	}
	browsertest.Look(ctx, t, page, "screen", "dark", 420)
	h.click(`document.querySelector('.contents-menu summary')`)
	browsertest.KeepShot(ctx, t, "menu-420.png", chromedp.CaptureScreenshot())
	h.click(`document.querySelector('.contents-menu a[href="#ports"]')`)
	if y := top("ports"); y < 0 || y > 120 || read[bool](h, `document.querySelector('.contents-menu').open`) {
		t.Errorf("on a phone the part is at %.0f, or the menu is open", y)
	}
}

// awaitFrame waits until the browser has drawn, which is when the contents are marked.
func awaitFrame(h hand) {
	h.t.Helper()
	read[bool](h, `requestAnimationFrame(() => requestAnimationFrame(() => { document.body.dataset.drawn = ''; })), true`)
	for !read[bool](h, `'drawn' in document.body.dataset`) {
	}
	read[bool](h, `delete document.body.dataset.drawn`)
}

// Without script the page is the whole static report, and says nothing of what it cannot do.
func TestWithoutScript(t *testing.T) {
	ctx := browsertest.Tab(t)
	page := written(t, newSample(3).document())
	w := browsertest.Listen(ctx, t, page)
	browsertest.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	h := hand{ctx, t}
	type static struct {
		Buttons, Hints, Hidden, Rows, Lines, Links int
		Scripted, Wide                             bool
	}
	for _, width := range []int64{1400, 420} {
		browsertest.Look(ctx, t, page, "screen", "light", width)
		got := read[static](h, `({Buttons: document.querySelectorAll('button, input, select').length, Rows: document.querySelectorAll('tbody tr').length, Scripted: document.documentElement.classList.contains('scripted'),
			Hidden: [...document.querySelectorAll('tbody tr')].filter(e => e.closest('details:not([open])') === null && e.getBoundingClientRect().height === 0).length,
			Hints: [...document.querySelectorAll('.hint, .chips, .map-controls')].length, Links: document.querySelectorAll('.contents-column a').length,
			Lines: [...document.querySelectorAll('#main svg [data-series]')].filter(e => e.getBoundingClientRect().width > 0).length, Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth})`)
		if want := (static{Rows: got.Rows, Lines: 6, Links: 32}); got != want || got.Rows < 100 {
			t.Errorf("%+v, want %+v", got, want)
		}
		browsertest.KeepShot(ctx, t, fmt.Sprintf("without-script-%d.png", width), chromedp.FullScreenshot(100))
	}
	if p := problems(w); len(p) > 0 {
		t.Error(p)
	}
}

// Tables are sorted by value, filtered by text, cut off where they are long, and scroll in
// themselves where they are wide: the page does not, at any width.
func TestTables(t *testing.T) {
	ctx := browsertest.Tab(t)
	page := written(t, newSample(2).document())
	w := browsertest.Listen(ctx, t, page)
	h := hand{ctx, t}
	column := func(n int) []string {
		return read[[]string](h, fmt.Sprintf(`[...document.querySelector('table[aria-label="Runs"]').tBodies[0].rows].filter(r => r.getClientRects().length > 0).map(r => r.cells[%d].textContent)`, n))
	}
	for _, width := range []int64{1400, 1000, 700, 420} {
		browsertest.Look(ctx, t, "about:blank", "screen", "light", width)
		browsertest.Look(ctx, t, page+"#how", "screen", "light", width)
		type scroll struct {
			Page, Cut, Scrolls bool
			Focus              string
		}
		got := read[scroll](h, `(f => ({Page: document.documentElement.scrollWidth > document.documentElement.clientWidth, Cut: f.scrollWidth > f.clientWidth + 1 && getComputedStyle(f).overflowX !== 'auto', Scrolls: f.classList.contains('scrolls'), Focus: f.tabIndex + ' ' + f.getAttribute('role') + ' ' + f.getAttribute('aria-label')}))(document.querySelector('#blame .scroll'))`)
		want := scroll{Scrolls: true, Focus: "0 region Where transfers waited"}
		if width == 420 {
			want = scroll{Focus: "-1 null null"}
		}
		if got != want {
			t.Errorf("%d px: %+v, want %+v", width, got, want)
		}
		rows := 12
		if width == 420 {
			rows = 5
		}
		if n := len(column(0)); n != rows {
			t.Errorf("%d px: %d rows at first, want %d", width, n, rows)
		}
		h.click(`document.querySelector('#how .more-rows')`)
		if n := len(column(0)); n != 60 || !read[bool](h, `document.querySelector('#how .more-rows').hidden`) {
			t.Errorf("%d rows after the button for all, want 60", n)
		}
		read[bool](h, `document.querySelector('#how select').value = '2,1', document.querySelector('#how select').dispatchEvent(new Event('change'))`)
		if wall := column(2); !slices.Equal(wall[:3], []string{"0.5", "1.5", "2.5"}) || read[string](h, `document.querySelector('#how th:nth-child(3)').getAttribute('aria-sort')`) != "ascending" {
			t.Errorf("sorted by wall time: %v", wall[:3])
		}
		if width == 420 {
			continue
		}
		h.click(`document.querySelector('#how th:nth-child(3) button')`)
		if wall := column(2); wall[0] != "59.5" {
			t.Errorf("sorted downwards: %v", wall[:3])
		}
		h.click(`document.querySelector('#how input[type=search]')`)
		for _, r := range "CSIG" {
			h.key(string(r))
		}
		if got := column(0); len(got) != 30 || slices.Contains(got, "baseline") || read[string](h, `document.querySelector('#how .tools [role=status]').textContent`) != "30 of 60 rows" {
			t.Errorf("filtered: %v", got)
		}
	}
	for _, p := range problems(w) {
		if p != "request for about:blank" && p != "request for "+page+"#how" {
			t.Error(p)
		}
	}
}

// Charts show exact values, zoom together, and answer to keys.
func TestCharts(t *testing.T) {
	ctx := browsertest.Tab(t)
	page := written(t, newSample(3).document())
	w := browsertest.Listen(ctx, t, page)
	h := hand{ctx, t}
	for _, width := range []int64{1400, 420} {
		browsertest.Look(ctx, t, page, "screen", "dark", width)
		h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("slowest-0", 0.5, 0.5), 0)
		_, y, low, high := wave(0, 0)
		if tip, want := h.tip(), fmt.Sprintf("baseline %.2f\u00a0Gb/s (%.2f … %.2f)", y[100], low[100], high[100]); !strings.HasPrefix(tip, "Time 15\u00a0ms\n"+want[:12]) {
			t.Errorf("%d: tooltip %q, want %q", width, tip, want)
		}
		read[bool](h, shownSVG("slowest-0")+`.focus() || true`)
		h.key(kb.Home)
		h.key(kb.ArrowRight)
		if tip := h.tip(); !strings.HasPrefix(tip, "Time 0.15\u00a0ms\n") {
			t.Errorf("%d: tooltip of a key %q", width, tip)
		}
		h.key(kb.Escape)
		zoomed := `[...document.querySelectorAll('svg.zoomed')].filter(s => s.getClientRects().length > 0).length`
		from, to := h.plotPlace("slowest-0", 0.3, 0.5), h.plotPlace("slowest-0", 0.6, 0.5)
		h.mouse(input.DispatchMouseEventTypeMousePressed, from, 1)
		h.mouse(input.DispatchMouseEventTypeMouseMoved, to, 1)
		h.mouse(input.DispatchMouseEventTypeMouseReleased, to, 1)
		if n := read[int](h, zoomed); n < 11 { // of the main figure, windows, queues, throughput, signature and tail
			t.Errorf("%d: %d charts are zoomed", width, n)
		}
		if text := read[string](h, `document.querySelector('.zoombar span').textContent`); text != "Charts show 9 to 18\u00a0ms" {
			t.Errorf("%d: %q", width, text)
		}
		browsertest.KeepShot(ctx, t, fmt.Sprintf("zoomed-%d.png", width), chromedp.FullScreenshot(100))
		h.mouse(input.DispatchMouseEventTypeMouseMoved, h.plotPlace("signature-0", 0.505, 2.5/16), 0)
		if tip := h.tip(); tip != "Port tor2-agg0 (hosts ↑)\nTime 13.5 to 13.8\u00a0ms \nBusy 57\u00a0%" {
			t.Errorf("%d: tooltip of a matrix in a span %q", width, tip)
		}
		h.key(kb.Escape)
		h.key(kb.Escape)
		if n := read[int](h, zoomed); n != 0 {
			t.Errorf("%d: %d charts are zoomed after Escape", width, n)
		}
	}
	if p := problems(w); len(p) > 0 {
		t.Error(p)
	}
	if globals := read[[]string](h, `(() => { const f = document.createElement('iframe'); document.body.append(f); const own = new Set(Object.getOwnPropertyNames(f.contentWindow)); f.remove(); return Object.getOwnPropertyNames(window).filter(n => !own.has(n) && isNaN(n)); })()`); len(globals) > 0 {
		t.Errorf("the script leaves globals: %v", globals)
	}
}

// The fabric's links are coloured over time, and look as before after it.
func TestMap(t *testing.T) {
	ctx := browsertest.Tab(t)
	page := written(t, newSample(3).document())
	w := browsertest.Listen(ctx, t, page)
	h := hand{ctx, t}
	browsertest.Look(ctx, t, page, "screen", "light", 1400)
	styles := `[...document.querySelectorAll('#fabric svg .link')].map(l => l.getAttribute('style')).toSorted().join('|')`
	before := read[string](h, styles)
	h.click(`document.querySelector('.map-controls summary')`)
	read[bool](h, `(s => { s.value = 3; s.dispatchEvent(new Event('input')); return true; })(document.querySelector('.map-time input'))`)
	if text := read[string](h, `document.querySelector('.map-controls output').textContent`); text != "3\u00a0ms to 4\u00a0ms" {
		t.Errorf("time %q", text)
	}
	if ways := read[int](h, `[...document.querySelectorAll('#fabric svg .way')].filter(e => e.getClientRects().length > 0).length`); ways != 0 || read[string](h, styles) == before {
		t.Errorf("%d ways, or the links are as before", ways)
	}
	if text := read[string](h, `document.querySelector('.map-busiest').textContent`); !strings.HasPrefix(text, "Most loaded now: ") {
		t.Errorf("busiest %q", text)
	}
	browsertest.KeepShot(ctx, t, "map.png", chromedp.CaptureScreenshot())
	h.click(`[...document.querySelectorAll('.map-controls button')].find(b => b.textContent === 'Whole run')`)
	if read[string](h, styles) != before {
		t.Error("after the whole run is chosen the links are not as before")
	}
	if p := problems(w); len(p) > 0 {
		t.Error(p)
	}
}
