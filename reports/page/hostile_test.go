package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/browsertest"
)

// hostileNames are what a manifest that somebody wrote by hand may have as a name, after
// package words made characters visible.
var hostileNames = []string{
	`</script><script>hacked=1</script>`,
	`"><img src=x onerror=hacked=1>`,
	`'-hacked-'\" \\ ${hacked=1} {{.}} <!-- -->`,
	"&variant=csig#content&",
	"שלום مرحبا",
	"| a | [b](javascript:hacked=1) | `c` *d* &amp;",
	strings.Repeat("<long & wide>", 150),
	strings.Repeat("long-and-wide", 150),
}

// hostileSample has hostile names: the i-th and those that follow.
func hostileSample(i int) *sample {
	name := func(k int) string { return hostileNames[(i+k)%len(hostileNames)] }
	s := newSample(3)
	s.title, s.rows = name(0), 5
	for k := range 3 {
		s.variants[k], s.flows[k] = name(1+k), name(4+k)
	}
	return s
}

// Names are text: nothing runs, the page keeps its elements and its width, and variants of
// such names are chosen and quoted like others.
func TestHostileNames(t *testing.T) {
	checkout.SkipSlowRace(t)
	ctx := browsertest.Tab(t)
	type seen struct {
		Title, Heading, Elements, Hacked string
		Wide                             bool
		Chips                            []string
		Rows                             int
	}
	inspect := `(() => { const n = {}; for (const e of document.querySelectorAll('body *')) n[e.localName] = (n[e.localName] ?? 0) + 1;
		return {Title: document.title, Heading: document.querySelector('h1').textContent, Elements: ['script', 'h1', 'h2', 'section', 'table', 'figure', 'img', 'tr', 'td', 'iframe', 'a'].map(k => n[k] ?? 0).join(' '),
			Hacked: typeof hacked, Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth, Chips: [...document.querySelectorAll('.chip')].map(c => c.textContent),
			Rows: [...document.querySelectorAll('#fairness tbody tr')].filter(r => r.getBoundingClientRect().height > 0).length}; })()`
	plain := newSample(3)
	plain.rows = 5
	browsertest.Look(ctx, t, written(t, plain.document()), "screen", "light", 420)
	want := browsertest.Do(ctx, t, chromedp.Evaluate[seen](inspect))
	for first := range hostileNames {
		s := hostileSample(first)
		page := written(t, s.document())
		w := browsertest.Listen(ctx, t, page)
		for _, width := range []int64{1400, 420} {
			browsertest.Look(ctx, t, page, "screen", "light", width)
			got := browsertest.Do(ctx, t, chromedp.Evaluate[seen](inspect))
			if strings.Join(strings.Fields(got.Title), " ") != strings.Join(strings.Fields(s.title), " ")+" – csiglab" || got.Heading != s.title {
				t.Errorf("%d: title %q and heading %q", first, got.Title, got.Heading)
			}
			if got.Elements != want.Elements || got.Hacked != "undefined" || got.Wide {
				t.Errorf("%d, %d px: elements %s, want %s; hacked %s; wide %v", first, width, got.Elements, want.Elements, got.Hacked, got.Wide)
			}
			if len(got.Chips) != 4 || got.Chips[2] != s.variants[1] {
				t.Errorf("%d: chips %.200q", first, got.Chips)
			}
			browsertest.KeepShot(ctx, t, fmt.Sprintf("hostile-%d-%d.png", first, width), chromedp.CaptureScreenshot())
			// The address quotes the choice.
			hash := browsertest.Do(ctx, t, chromedp.Evaluate[string](`document.querySelectorAll('.chip')[2].click(), location.hash`))
			browsertest.Do(ctx, t, chromedp.Navigate("about:blank"))
			browsertest.Do(ctx, t, chromedp.Navigate(page+hash))
			if got = browsertest.Do(ctx, t, chromedp.Evaluate[seen](inspect)); got.Rows != 3 {
				t.Errorf("%d: %d rows of the variant of %.200s", first, got.Rows, hash)
			}
		}
		for _, problem := range problems(w) {
			if !strings.Contains(problem, "request for "+page+"#") {
				t.Errorf("%d: %s", first, problem)
			}
		}
	}
}

func problems(w *browsertest.Watch) []string {
	_, all := w.Seen()
	return all
}
