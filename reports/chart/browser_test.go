package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/reports/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// page returns a page with figures, their data, and the script and styles of reports.
func page(t *testing.T, figures []*Figure) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><title>charts</title><style>` + CSS())
	for _, pattern := range []string{"../page/*.css", "../script/*.js"} {
		names, err := filepath.Glob(pattern)
		if err != nil || names == nil {
			t.Skip("no ", pattern, ": ", err)
		}
		var text strings.Builder
		for _, name := range names {
			part, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(part)
		}
		if strings.HasSuffix(pattern, ".css") {
			b.WriteString(text.String() + "</style><main>")
			continue
		}
		var data []*Data
		for _, f := range figures {
			data = append(data, f.Data()...)
			fmt.Fprintf(&b, `<section id="%s"><h2>%[1]s</h2><ul class="legend">`, f.ID)
			for i := range f.Legend {
				fmt.Fprintf(&b, "<li>%s%s</li>", f.Legend[i].Swatch(), html.EscapeString(f.Legend[i].Name))
			}
			b.WriteString("</ul>")
			for i := range f.Panels {
				fmt.Fprintf(&b, `<figure><div class="only-wide">%s</div><div class="only-narrow">%s</div></figure>`, f.SVG(i, f.width(i)), f.SVG(i, Narrow))
			}
			b.WriteString("</section>")
		}
		d := (&Figure{ID: "fabric", Panels: []Panel{{Chart: graph(false)}}}).SVG(0, Whole)
		fmt.Fprintf(&b, `<figure id="fabric">%s<ul class="map-legend"><li><span></span></li></ul><p class="map-busiest"></p></figure>`, d)
		links := len(graph(false).Links)
		fabric := map[string]any{"lines": make([]string, links), "quantities": []any{map[string]any{"name": "Utilisation", "verb": "busy", "legend": []string{"idle"}}},
			"variants": []any{map[string]any{"name": "a", "binUs": 10, "bins": 2, "values": [][]byte{bytes.Repeat([]byte{95, 5}, links)}}}}
		block, err := json.Marshal(map[string]any{"figures": data, "map": fabric})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, `</main><script type="application/json" id="data">%s</script><script type="module">%s</script>`, block, text.String())
	}
	return b.String()
}

// The page's script answers keys on charts of each kind that it knows, zooms those over time,
// and hides series.
func TestScript(t *testing.T) {
	lines := lines()
	figures := []*Figure{
		{ID: "lines", Legend: []Key{LineKey("a", Nth(0)), LineKey("b", Nth(1))}, Panels: []Panel{{Chart: lines}}},
		{ID: "bars", Panels: []Panel{{Chart: bars()}}}, {ID: "matrix", Panels: []Panel{{Chart: matrix(12, false)}}}, {ID: "heat", Panels: []Panel{{Chart: heat(12, 100, false)}}},
	}
	ctx := browsertest.Tab(t)
	url := browsertest.Written(t, page(t, figures))
	eval := func(expression string) string {
		t.Helper()
		return browsertest.Do(ctx, t, chromedp.Evaluate[string](`(() => { const press = (svg, key) => { svg.focus(); svg.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); };
			const shown = id => [...document.querySelectorAll('#' + id + ' svg[data-figure]')].find(s => s.getClientRects().length);
			const seen = e => getComputedStyle(e).display !== 'none'; `+expression+` })()`))
	}
	for _, width := range []int64{1400, 420} {
		browsertest.Look(ctx, t, url, "screen", "light", width)
		for id, want := range map[string]string{"lines": "Time 50", "bars": "flow a", "matrix": "From tor0", "heat": "Port leaf0"} {
			if got := eval(`press(shown('` + id + `'), 'ArrowRight'); return document.querySelector('.tip').innerText`); !strings.Contains(got, want) {
				t.Errorf("%s at %d px: the tooltip is %q, want %q in it", id, width, got, want)
			}
		}
		if got := eval(`const svg = shown('lines'); press(svg, '+');
			return [svg.classList.contains('zoomed'), [...svg.querySelectorAll(':scope > g > [data-series]')].some(seen), [...svg.querySelectorAll('[clip-path] path[data-series]')].filter(seen).length, svg.querySelectorAll('[clip-path] rect.shade').length, [...svg.querySelectorAll('[data-part="x"]')].some(seen)].join(' ')`); got != "true false 6 1 false" {
			t.Errorf("lines at %d px: zoomed, own lines seen, lines of the script, shades, own ticks: %s, want true false 6 1 false", width, got)
		}
		if got := eval(`const svg = shown('heat'); press(svg, '+'); const c = svg.querySelector('[data-part="cells"]');
			return [c.closest('[clip-path]') !== null, c.getAttribute('transform').startsWith('matrix(2 0 0 1'), svg.querySelectorAll('[clip-path] [data-part="spans"]').length].join(' ')`); got != "true true 2" {
			t.Errorf("heat at %d px: clipped, stretched, spans: %s, want true true 2", width, got)
		}
		if got := eval(`document.querySelector('#lines .key').click(); return String([...shown('lines').querySelectorAll('[data-series="0"]')].every(e => !seen(e)))`); got != "true" {
			t.Errorf("lines at %d px: a series that is hidden is seen", width)
		}
		if got := eval(`const svg = document.querySelector('#fabric svg'), link = () => svg.querySelector('[data-line="3"]'), stroke = () => getComputedStyle(link()).stroke, all = [stroke()];
			const slider = document.querySelector('#fabric input[type=range]'); slider.value = 0; slider.dispatchEvent(new Event('input')); all.push(stroke());
			all.push([...svg.querySelectorAll('.way')].some(seen));
			document.querySelector('#fabric button').click(); all.push(stroke());
			return all.map(s => String(s).replaceAll(' ', '')).join(' ')`); got != "rgb(240,189,0) rgb(11,29,94) false rgb(240,189,0)" {
			t.Errorf("the fabric at %d px: a link before, in time, ways, and afterwards: %s", width, got)
		}
		browsertest.KeepShot(ctx, t, fmt.Sprintf("charts-%d.png", width), chromedp.FullScreenshot(100))
	}
}
