package reports

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// The map has the analysis' numbers, byte for byte, and names as text.
func TestMapData(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	if len(r.FabricLoads) == 0 || len(r.FabricLoads[0].Lines) != len(r.Fabric.Lines) {
		t.Fatalf("%d loads", len(r.FabricLoads))
	}
	hostile := "</script><script>x()//<!--\n"
	r.Fabric.Boxes[r.Fabric.Lines[0].A].Name = hostile
	m := newFabricMap(r)
	block, err := dataBlock(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(string(block), `<script type="application/json" id="data">`), "</script>")
	if at := strings.IndexAny(inner, "<>&"); at >= 0 {
		t.Errorf("the block has %q", inner[at:min(at+20, len(inner))])
	}
	var all struct{ Map fabricMap }
	err = json.Unmarshal([]byte(inner), &all)
	back := all.Map
	if err != nil || !strings.HasPrefix(back.Lines[0], hostile) {
		t.Errorf("names %q, %v", back.Lines[0], err)
	}
	for i, v := range back.Variants {
		load := &r.FabricLoads[i]
		for q, of := range []func(*analysis.FabricInTime) analysis.Percents{
			func(l *analysis.FabricInTime) analysis.Percents { return l.Busy },
			func(l *analysis.FabricInTime) analysis.Percents { return l.Left },
			func(l *analysis.FabricInTime) analysis.Percents { return l.Named },
		} {
			if q == 2 && !load.HasNamed {
				if v.Values[q] != "" {
					t.Errorf("%s names links without samples", v.Name)
				}
				continue
			}
			values, err := base64.StdEncoding.DecodeString(v.Values[q])
			if err != nil || len(values) != len(load.Lines)*load.Bins {
				t.Fatalf("%s: %d bytes, %v", v.Name, len(values), err)
			}
			for l := range load.Lines {
				for bin, want := range of(&load.Lines[l]) {
					if got := values[l*load.Bins+bin]; got != byte(want) && !(want < 0 && got == noByte) {
						t.Fatalf("%s: quantity %d, line %d, bin %d: %d, want %d", v.Name, q, l, bin, got, want)
					}
				}
			}
		}
	}
	r.FabricLoads = nil
	if newFabricMap(r) != nil {
		t.Error("a map without loads")
	}
}

// The slider colours the links at a time, says the time and the values as text, and
// answers to keys; without script the map is that of the whole run.
func TestMapScript(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	page := written(t, r)
	ctx := browser(t)
	w := listening(ctx, t, page)
	h := hand{ctx, t}
	call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	show(ctx, t, page, "light", 1400)
	if hidden := read[bool](h, `document.querySelector('.map-controls') === null`); !hidden {
		t.Error("without script there are controls that do nothing")
	}
	call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
	load := &r.FabricLoads[0]
	busiest, bin := 0, load.Bins/2
	for i := range load.Lines {
		if load.Lines[i].Busy[bin] > load.Lines[busiest].Busy[bin] {
			busiest = i
		}
	}
	stroke := fmt.Sprintf(`getComputedStyle([...document.querySelectorAll('#fabric path[data-line="%d"]')].find(p => p.getBoundingClientRect().width + p.getBoundingClientRect().height > 0)).stroke`, busiest)
	output := `document.querySelector('.map-controls output').textContent`
	for _, width := range []int64{1400, 420} {
		show(ctx, t, page, "light", width)
		whole := read[string](h, stroke)
		if text := read[string](h, output); text != "the whole run" {
			t.Errorf("at first: %q", text)
		}
		read[bool](h, fmt.Sprintf(`(s => { document.querySelector('.map-controls').open = true; s.value = %d; s.dispatchEvent(new Event('input')); return true; })(document.querySelector('.map-controls input'))`, bin))
		level := levelOf(float64(load.Lines[busiest].Busy[bin]) / 100)
		want := read[string](h, fmt.Sprintf(`(e => { e.style.color = 'var(--s%d)'; document.body.append(e); const c = getComputedStyle(e).color; e.remove(); return c; })(document.createElement('i'))`, level))
		if got := read[string](h, stroke); got != want || got == whole {
			t.Errorf("%d: the busiest line is %s, want %s, and not that of the whole run, %s", width, got, want, whole)
		}
		if text := read[string](h, output); !regexp.MustCompile(`^[0-9.]+ .s to [0-9.]+ .s$`).MatchString(strings.ReplaceAll(text, "\u00a0", " ")) {
			t.Errorf("the time is %q", text)
		}
		if text := read[string](h, `document.querySelector('.map-busiest').textContent`); !strings.Contains(text, fmt.Sprintf(": %d %% busy", load.Lines[busiest].Busy[bin])) {
			t.Errorf("most loaded: %q, want %d %%", text, load.Lines[busiest].Busy[bin])
		}
		if wide := read[bool](h, `document.documentElement.scrollWidth > document.documentElement.clientWidth`); wide {
			t.Errorf("%d: the page is wider than its window", width)
		}
		keepShot(ctx, t, fmt.Sprintf("map-%d.png", width), chromedp.CaptureScreenshot())
		read[bool](h, `[...document.querySelectorAll('svg.fabric')].find(s => s.getBoundingClientRect().width > 0).focus() || true`)
		do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		l := &r.Fabric.Lines[0]
		if text := read[string](h, output); !strings.Contains(text, r.Fabric.Boxes[l.A].Name+" – "+r.Fabric.Boxes[l.B].Name+": ") {
			t.Errorf("after a key: %q", text)
		}
		read[bool](h, `(s => { s.value = '1'; s.dispatchEvent(new Event('change')); return true; })(document.querySelectorAll('.map-controls select')[1])`)
		if text := read[string](h, `document.querySelector('.map-legend').textContent`); !strings.Contains(text, "all available") {
			t.Errorf("legend %q", text)
		}
		read[bool](h, `document.querySelector('.map-controls button').click() || true`)
		if got := read[string](h, stroke); got != whole {
			t.Errorf("the whole run again: %s, want %s", got, whole)
		}
	}
	w.check(t)
	if !slices.ContainsFunc(r.FabricLoads, func(l analysis.FabricLoad) bool { return l.HasNamed }) {
		t.Log("no variant of this run names links")
	}
}

// A place has in the legend the colour that it has in the cells.
func TestLegendOfPlaces(t *testing.T) {
	for colour := range modalColours {
		if swatch := string(modalSwatch(colour, "A")); !strings.Contains(swatch, fmt.Sprintf(`<g class="k%d"><rect`, colour)) {
			t.Errorf("colour %d: %s", colour, swatch)
		}
	}
}
