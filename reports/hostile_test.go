package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/reports/svg"
)

// hostileNames are what a manifest that somebody wrote by hand may have as a name, and
// what the page shows of it.
var hostileNames = []struct{ name, shown string }{
	{`</script><script>hacked=1</script>`, ""},
	{`"><img src=x onerror=hacked=1>`, ""},
	{`'-hacked-'\" \\ ${hacked=1} {{.}} <!-- -->`, ""},
	{"two\nlines\tand\x00a bell\x07", "two lines and\u2400a bell\u2407"},
	{"\u202egnihtyna\u2066 \u200bשלום مرحبا", "\ufffdgnihtyna\ufffd \ufffdשלום مرحبا"},
	{"| a | [b](javascript:hacked=1) | `c` *d* &amp; \xff", "| a | [b](javascript:hacked=1) | `c` *d* &amp; \ufffd"},
	{strings.Repeat("<long & wide>", 800), strings.Repeat("<long & wide>", 800)[:mostCharacters] + "… (10400 characters)"},
}

func shownName(i int) string {
	if h := hostileNames[i]; h.shown != "" {
		return h.shown
	}
	return hostileNames[i].name
}

// hostileResult returns a result like r in which every kind of name is a hostile one, the
// i-th and those that follow.
func hostileResult(t *testing.T, r *analysis.Result, first int) *analysis.Result {
	t.Helper()
	name := func(i int) string { return hostileNames[(first+i)%len(hostileNames)].name }
	// Names that are keys of tables of the folder are changed in the numbers: all at once.
	old := map[string]string{"baseline": name(2), "csig": name(3), "0-3": name(4), "0-1": name(5), "2-3": name(6), "h0": name(0), "s1": name(1), "h3": name(6), "s1-s2": name(2)}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range old {
		quoted, err := json.Marshal(to)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte(`"`+from+`"`), quoted)
	}
	var changed analysis.Result
	if err := json.Unmarshal(text, &changed); err != nil {
		t.Fatal(err)
	}
	changed.Name, changed.Description, changed.Setup.Command = name(0), name(1), []string{"csiglab", name(2)}
	return &changed
}

// "Hostile names … in experiment, job and node names are shown as text everywhere" (issue
// 14): nothing runs, the page keeps its elements and its width, and the names are what a
// reader sees.
func TestHostileNames(t *testing.T) {
	checkout.SkipSlowRace(t)
	e := analysistest.ThreeFlow()
	e.Samples = map[string]map[uint16]int64{"csig": {1: 5}}
	good := build(t, e.Folder(t, nil)).numbers
	ctx := browser(t)
	elements := `(() => { const n = {}; for (const e of document.querySelectorAll('body *')) n[e.localName] = (n[e.localName] ?? 0) + 1; return ['script', 'h1', 'h2', 'section', 'table', 'figure', 'img', 'tr', 'td', 'iframe', 'a'].map(k => n[k] ?? 0).join(' '); })()`
	show(ctx, t, written(t, good), "light", 420)
	plainElements := read[string](hand{ctx, t}, elements)
	for first := range hostileNames {
		r := hostileResult(t, good, first)
		page := written(t, r)
		w := listening(ctx, t, page)
		for _, width := range []int64{1400, 420} {
			if first > 1 && width == 1400 {
				continue
			}
			show(ctx, t, page, "light", width)
			h := hand{ctx, t}
			keepShot(ctx, t, fmt.Sprintf("hostile-%d-%d.png", first, width), chromedp.CaptureScreenshot())
			type seen struct {
				Title, Heading, Description, Elements, Hacked string
				Wide                                          bool
				Legend                                        []string
			}
			got := read[seen](h, `({Title: document.title, Heading: document.querySelector('h1').textContent, Description: document.querySelector('header p').textContent, Elements: `+elements+`, Hacked: typeof hacked,
				Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth, Legend: [...document.querySelectorAll('#main .legend li')].map(e => e.textContent)})`)
			// A browser joins the spaces of a title.
			if want := strings.Join(strings.Fields(shownName(first)), " ") + " – csiglab"; strings.Join(strings.Fields(got.Title), " ") != want {
				t.Errorf("%d: title %q, want %q", first, got.Title, want)
			}
			if got.Heading != shownName(first) || got.Description != strings.TrimSpace(shownName((first+1)%len(hostileNames))) {
				t.Errorf("%d: heading %q and description %q", first, got.Heading, got.Description)
			}
			if got.Elements != plainElements || got.Hacked != "undefined" || got.Wide {
				t.Errorf("%d, %d px: elements %s, want %s; hacked %s; wide %v", first, width, got.Elements, plainElements, got.Hacked, got.Wide)
			}
			for i, want := range []string{shownName((first + 2) % len(hostileNames)), shownName((first + 3) % len(hostileNames)), "csig-wide"} {
				if i >= len(got.Legend) || got.Legend[i] != want {
					t.Errorf("%d: legend %q, want %q at %d", first, got.Legend, want, i)
				}
			}
			h.mouse("mouseMoved", h.plotPlace("slowest-0", 0.5, 0.5), 0)
			if tip := h.tip(); !strings.Contains(tip, shownName((first+2)%len(hostileNames))) {
				t.Errorf("%d: tooltip %.200q", first, tip)
			}
		}
		w.check(t)

		// Markdown has as many cells in each row as in the head, and no element or link.
		var markdown bytes.Buffer
		if err := WriteMarkdown(&markdown, r); err != nil {
			t.Fatal(err)
		}
		if at := regexp.MustCompile(`<[a-z/!]|[^\\]\]\(|[\x00-\x09\x0b-\x1f]`).FindString(markdown.String()); at != "" {
			t.Errorf("%d: Markdown has %q", first, at)
		}
		columns := 0
		for line := range strings.Lines(markdown.String()) {
			bars := strings.Count(regexp.MustCompile(`\\.`).ReplaceAllString(line, ""), "|")
			if bars > 0 && columns > 0 && bars != columns {
				t.Errorf("%d: a row has %d bars, the head %d: %.200q", first, bars, columns, line)
			}
			columns = bars
		}
		if _, err := Figures(r, svg.Light); err != nil {
			t.Errorf("%d: figures: %v", first, err)
		}
	}
}
