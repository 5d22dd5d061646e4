package reports_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/words"
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
	{strings.Repeat("<long & wide>", 800), strings.Repeat("<long & wide>", 800)[:words.MostCharacters] + "… (10400 characters)"},
	{strings.Repeat("long-and-wide", 100), ""},
}

func shownName(i int) string {
	if h := hostileNames[i%len(hostileNames)]; h.shown != "" {
		return h.shown
	}
	return hostileNames[i%len(hostileNames)].name
}

// variantName returns a hostile name that a variant can have, as it is part of names of files
// and of JSON.
func variantName(i int) string {
	name := []rune(strings.NewReplacer("/", "\u2215", "\x00", "\x01", "\xff", "\ufffd").Replace(hostileNames[i%len(hostileNames)].name))
	return string(name[:min(len(name), 100)])
}

// hostileFolder writes a run in which every kind of name is a hostile one, the i-th and those
// that follow. Those of the variants are the second to the fourth.
func hostileFolder(t *testing.T, i int) *runfolder.Folder {
	t.Helper()
	e, next := sampled(), i
	e.Names = map[string]string{}
	name := func() string {
		next++
		return strings.ToValidUTF8(hostileNames[(next-1)%len(hostileNames)].name, "\ufffd") // as JSON has it
	}
	title, about := name(), ""
	for k, of := range []string{"baseline", "csig", "csig-wide"} {
		e.Names[of] = variantName(i + 1 + k)
	}
	for _, of := range []string{"0-3", "0-1", "2-3", "h0", "h1", "h2", "h3", "s0", "s1", "s2"} {
		e.Names[of] = name()
		if of == "h2" {
			about = name()
		}
	}
	// Hosts and switches with one name twice are no hosts that a manifest has.
	for k, of := range []string{"h0", "h1", "h2", "h3", "s0", "s1", "s2"} {
		e.Names[of] += fmt.Sprint(k)
	}
	return e.Folder(t, func(m *runfolder.Manifest, s *runfolder.Summary) {
		s.Name = title
		m.Name, m.Description, m.Command = title, about, []string{"csiglab", name()}
		m.Version, m.Machine.CPU, m.Machine.Kernel = name(), name(), name()
		m.Variants[0].Notes, m.Published[1].Note = []string{name()}, name()
		m.Variants[1].CC, m.Variants[1].LB, m.Variants[1].AQM = name(), name(), name()
		s.Expectations[0].Expr, s.Expectations[0].Text, s.Expectations[0].OK = name(), name(), false
		s.Reasons = []string{name()}
	})
}

// "Hostile names … in experiment, job and node names are shown as text everywhere" (issue
// 14): nothing runs, the page keeps its elements and its width, and the names are what a
// reader sees.
func TestHostileNames(t *testing.T) {
	ctx := browsertest.Tab(t)
	type seen struct {
		Title, Heading, Elements, Hacked string
		Wide                             bool
		Legend, Chips                    []string
	}
	const inspect = `(() => {
		const n = {}, texts = s => [...document.querySelectorAll(s)].map(e => e.textContent);
		for (const e of document.querySelectorAll('body *')) n[e.localName] = (n[e.localName] ?? 0) + 1;
		return {Title: document.title, Heading: document.querySelector('h1').textContent, Elements: ['script', 'h1', 'img', 'iframe', 'object', 'form', 'style'].map(k => n[k] ?? 0).join(' '), Hacked: typeof hacked,
			Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth, Legend: texts('#main .legend li'), Chips: texts('.chip')};
	})()`
	for first := range hostileNames {
		r := read(t, hostileFolder(t, first))
		all := formsOf(t, r)
		page := browsertest.Written(t, all.html)
		w := browsertest.Listen(ctx, t, page)
		for _, width := range []int64{1400, 420} {
			if first > 1 && width == 1400 {
				continue
			}
			browsertest.Look(ctx, t, page, "screen", "light", width)
			browsertest.KeepShot(ctx, t, fmt.Sprintf("hostile-%d-%d.png", first, width), chromedp.FullScreenshot(100))
			got := evaluate[seen](ctx, t, inspect)
			// A browser joins the spaces of a title.
			if want := strings.Join(strings.Fields(shownName(first)), " ") + " – csiglab"; strings.Join(strings.Fields(got.Title), " ") != want || got.Heading != shownName(first) {
				t.Errorf("%d: title %q and heading %q, want %q", first, got.Title, got.Heading, want)
			}
			if got.Elements != "2 1 0 0 0 0 0" || got.Hacked != "undefined" || got.Wide {
				t.Errorf("%d, %d px: elements %s; hacked %s; wide %v", first, width, got.Elements, got.Hacked, got.Wide)
			}
			for i := range 3 {
				if want := words.PlainText(variantName(first + 1 + i)); len(got.Legend) != 3 || got.Legend[i] != want || len(got.Chips) != 4 || got.Chips[i+1] != want {
					t.Errorf("%d: legend %.300q and chips %.300q, want %q at %d", first, got.Legend, got.Chips, want, i)
				}
			}
			place := evaluate[struct{ X, Y float64 }](ctx, t, `(svg => { svg.scrollIntoView({block: 'center'}); const b = svg.getBoundingClientRect(); return {X: b.left + b.width / 2, Y: b.top + b.height / 2}; })([...document.querySelectorAll('#main svg.chart')].find(s => s.getBoundingClientRect().width > 0))`)
			browsertest.Call(ctx, t, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: place.X, Y: place.Y})
			if tip := evaluate[string](ctx, t, `document.querySelector('.tip').textContent`); !strings.Contains(tip, words.PlainText(variantName(first+1))) {
				t.Errorf("%d: tooltip %.200q", first, tip)
			}
		}
		if _, problems := w.Seen(); len(problems) > 0 {
			t.Errorf("%d: %q", first, problems)
		}
	}
}

// In Markdown hostile names are neither elements nor links, and tables keep their columns; in
// figures and their names they are text.
func TestHostileForms(t *testing.T) {
	for first := range hostileNames {
		r := read(t, hostileFolder(t, first))
		all := formsOf(t, r)
		prose := regexp.MustCompile("(?s)\n(```+)\n.*?\n```+\n").ReplaceAllString(all.markdown, "\n") // without commands
		if at := regexp.MustCompile(`<[a-rt-z/!]|<s[^p]|[^\\]\]\(|[\x00-\x09\x0b-\x1f]`).FindString(strings.ReplaceAll(prose, "</span>", "")); at != "" {
			t.Errorf("%d: Markdown has %q", first, at)
		}
		checkTables(t, fmt.Sprint(first), all.markdown)
		hostileFigures(t, r)
	}
}

func hostileFigures(t *testing.T, r *reports.Report) {
	t.Helper()
	figures := r.Figures()
	if len(figures) < 8 {
		t.Errorf("%d figures", len(figures))
	}
	for _, f := range figures {
		if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(f.ID) || len(f.ID) > 80 {
			t.Errorf("name %q", f.ID)
		}
		if document := written(t, f, chart.SVG, chart.Layout{}); len(textsOf(t, document)) < 4 || len(document) > 2<<20 {
			t.Errorf("%s has %d bytes", f.ID, len(document))
		}
		rowsOf(t, f)
		written(t, f, chart.PDF, chart.Layout{Size: chart.OneColumn})
	}
}
