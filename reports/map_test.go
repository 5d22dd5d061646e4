package reports_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/fabric"
)

// The slider colours the links at a time, says the time and the values as text, and
// answers to keys; without script the map is that of the whole run.
func TestMap(t *testing.T) {
	r := read(t, readingtest.ThreeFlow().Folder(t, nil))
	page := browsertest.Written(t, formsOf(t, r).html)
	ctx := browsertest.Tab(t)
	w := browsertest.Listen(ctx, t, page)
	browsertest.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	browsertest.Look(ctx, t, page, "screen", "light", 1400)
	if !evaluate[bool](ctx, t, `document.querySelector('.map-controls') === null`) {
		t.Error("without script there are controls that do nothing")
	}
	browsertest.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
	s, ok := reports.Of[*fabric.Section](r)
	load := of(t, s, ok).Loads[0]
	busiest, bin := 0, load.Bins/2
	for i := range load.Lines {
		if load.Lines[i].Busy[bin] > load.Lines[busiest].Busy[bin] {
			busiest = i
		}
	}
	stroke := fmt.Sprintf(`getComputedStyle([...document.querySelectorAll('#fabric path[data-line="%d"]')].find(p => p.getBoundingClientRect().width + p.getBoundingClientRect().height > 0)).stroke`, busiest)
	const output = `document.querySelector('.map-controls output').textContent`
	for _, width := range []int64{1400, 420} {
		browsertest.Look(ctx, t, page, "screen", "light", width)
		whole := evaluate[string](ctx, t, stroke)
		if text := evaluate[string](ctx, t, output); text != "the whole run" {
			t.Errorf("at first: %q", text)
		}
		evaluate[bool](ctx, t, fmt.Sprintf(`(s => { document.querySelector('.map-controls').open = true; s.value = %d; s.dispatchEvent(new Event('input')); return true; })(document.querySelector('.map-controls input'))`, bin))
		level := chart.LevelOf(float64(load.Lines[busiest].Busy[bin]) / 100)
		want := evaluate[string](ctx, t, fmt.Sprintf(`(e => { e.style.color = 'var(--s%d)'; document.body.append(e); const c = getComputedStyle(e).color; e.remove(); return c; })(document.createElement('i'))`, level))
		if got := evaluate[string](ctx, t, stroke); got != want || got == whole {
			t.Errorf("%d: the busiest line is %s, want %s, and not that of the whole run, %s", width, got, want, whole)
		}
		if text := evaluate[string](ctx, t, output); !regexp.MustCompile(`^[0-9.]+ .s to [0-9.]+ .s$`).MatchString(strings.ReplaceAll(text, "\u00a0", " ")) {
			t.Errorf("the time is %q", text)
		}
		if text := evaluate[string](ctx, t, `document.querySelector('.map-busiest').textContent`); !strings.Contains(text, fmt.Sprintf(": %d %% busy", load.Lines[busiest].Busy[bin])) {
			t.Errorf("most loaded: %q, want %d %%", text, load.Lines[busiest].Busy[bin])
		}
		if evaluate[bool](ctx, t, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
			t.Errorf("%d: the page is wider than its window", width)
		}
		browsertest.KeepShot(ctx, t, fmt.Sprintf("map-%d.png", width), chromedp.CaptureScreenshot())
		evaluate[bool](ctx, t, `[...document.querySelectorAll('svg.fabric')].find(s => s.getBoundingClientRect().width > 0).focus() || true`)
		browsertest.Do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		l := &s.Fabric.Lines[0]
		if text := evaluate[string](ctx, t, output); !strings.Contains(text, s.Fabric.Boxes[l.A].Name+" – "+s.Fabric.Boxes[l.B].Name+": ") {
			t.Errorf("after a key: %q", text)
		}
		evaluate[bool](ctx, t, `(s => { s.value = '1'; s.dispatchEvent(new Event('change')); return true; })(document.querySelectorAll('.map-controls select')[1])`)
		if text := evaluate[string](ctx, t, `document.querySelector('.map-legend').textContent`); !strings.Contains(text, "all available") {
			t.Errorf("legend %q", text)
		}
		evaluate[bool](ctx, t, `document.querySelector('.map-controls button').click() || true`)
		if got := evaluate[string](ctx, t, stroke); got != whole {
			t.Errorf("the whole run again: %s, want %s", got, whole)
		}
	}
	quiet(t, w)
}
