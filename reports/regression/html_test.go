package regression

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/chart"
)

func htmlOf(t *testing.T, d *verdict.Document) string {
	t.Helper()
	var b strings.Builder
	if err := HTML(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Readers who do not see the page find their way in it: headings in order, names of tables
// and drawings, each id once. Nothing is loaded, and nothing but the page's own script runs.
func TestHTMLStructure(t *testing.T) {
	for name, d := range examples() {
		page := htmlOf(t, d)
		if !strings.Contains(html.UnescapeString(page), `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-`) {
			t.Errorf("%s: the policy is missing, or another", name)
		}
		level := 0
		for _, h := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(page, -1) {
			next := int(h[1][0] - '0')
			if next > level+1 || next == 1 && level > 0 {
				t.Errorf("%s: a heading of level %d follows one of level %d", name, next, level)
			}
			level = next
		}
		for what, find := range map[string]string{"id": ` id="([^"]*)"`, "name of a table": `<table aria-label="([^"]*)"`} {
			seen := map[string]bool{}
			for _, found := range regexp.MustCompile(find).FindAllStringSubmatch(page, -1) {
				if seen[found[1]] {
					t.Errorf("%s: %s %q twice", name, what, found[1])
				}
				seen[found[1]] = true
			}
		}
		if strings.Contains(page, "<table>") {
			t.Errorf("%s: a table without a name", name)
		}
		for _, svg := range regexp.MustCompile(`<svg [^>]*>.{0,40}`).FindAllString(page, -1) {
			if !strings.Contains(svg, `aria-hidden="true"`) && !regexp.MustCompile(`role="img"><title>[^<]`).MatchString(svg) {
				t.Errorf("%s: a drawing has no name: %s", name, svg)
			}
		}
		page, _, _ = strings.Cut(page, "<script") // its code has such words
		if strings.Contains(page, "ZgotmplZ") || strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%s: a value was refused, or is none", name)
		}
	}
}

// A dot stands for every pair at its change, and the drawing's interval is the metric's, with
// the limit where it is.
func TestDots(t *testing.T) {
	d := examples()["one"]
	m := &d.Experiments[0].Metrics[0]
	v := newView(d)
	c := v.experiments[0].metrics[0].dots("95 % interval")
	if len(c.Samples) != len(m.Pairs) || len(c.Rows) != 1 || len(c.Lines) != 1 {
		t.Fatalf("%d dots of %d pairs, %d intervals, %d limits", len(c.Samples), len(m.Pairs), len(c.Rows), len(c.Lines))
	}
	near := func(what string, got, want float64) {
		if diff := got - want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s: drawn at %g, want %g", what, got, want)
		}
	}
	near("limit", c.Lines[0].X, 100*m.Delta)
	near("low", c.Rows[0].Low, 100**m.Low)
	near("high", c.Rows[0].High, 100**m.High)
	if c.Worse != [2]float64{c.Lines[0].X, c.X.Max} {
		t.Errorf("worse than allowed is %v, want from the limit to the end of the axis", c.Worse)
	}
	for i, dot := range c.Samples {
		near(dot.Name, dot.Value, 100*(m.Pairs[i].Candidate/m.Pairs[i].Baseline-1))
		if dot.Value < c.X.Min || dot.Value > c.X.Max || !strings.HasPrefix(dot.Tip, dot.Name+": ") {
			t.Errorf("%s at %g, %q, is not on the axis from %g to %g", dot.Name, dot.Value, dot.Tip, c.X.Min, c.X.Max)
		}
	}
	// The other direction: less is worse.
	m.Better = verdict.Higher
	if c := newView(d).experiments[0].metrics[0].dots("95 % interval"); c.Worse != [2]float64{c.X.Min, -100 * m.Delta} {
		t.Errorf("of what is better when higher, worse than allowed is %v", c.Worse)
	}
}

// Metrics that need attention stand on top of the picture of all, each by its severity, and
// never more than it has room for.
func TestEffects(t *testing.T) {
	order := func(name string) (names []string) {
		for _, r := range newView(examples()[name]).effects().Panels[0].Chart.(*chart.Intervals).Rows {
			outcome, _, _ := strings.Cut(r.Tip, ":")
			names = append(names, outcome)
		}
		return names
	}
	if got := order("fail"); len(got) != 37 || strings.Join(got[:4], " ") != "Fail Fail Fail Pass" {
		t.Errorf("%d rows: %v", len(got), got)
	}
	if got := order("many"); len(got) != mostEffects || got[11] != "Fail" || got[12] != "Pass" {
		t.Errorf("%d rows: %v", len(got), got[:13])
	}
	many := newView(examples()["many"]).effects()
	if want := fmt.Sprintf("%d more that are no worse", 60*20+12-mostEffects); !strings.Contains(many.Caption, want) {
		t.Errorf("caption %q, want %q", many.Caption, want)
	}
	if e := newView(examples()["identical"]).effects(); e != nil {
		t.Errorf("a picture of nothing: %q", e.Caption)
	}
}

// inspected is what a browser finds on a page.
type inspected struct {
	Wide       bool
	Background string
	Hacked     string
	Elements   string
	Beyond     []string // texts that stand outside of their drawing
	Dark       []string // classes of shapes in a colour that is not set
	Small      float64  // the least height of a text of a drawing, in pixels
}

const inspect = `(() => {
	for (const d of document.querySelectorAll('details')) d.open = true;
	const r = {Wide: document.documentElement.scrollWidth > document.documentElement.clientWidth, Background: getComputedStyle(document.body).backgroundColor, Hacked: typeof hacked,
		Elements: [...new Set([...document.querySelectorAll('body *')].map(e => e.localName))].sort().join(' '), Beyond: [], Dark: [], Small: 99};
	for (const svg of document.querySelectorAll('svg.chart')) {
		const box = svg.getBoundingClientRect();
		if (box.width === 0) continue;
		for (const t of svg.querySelectorAll('text')) {
			const b = t.getBoundingClientRect();
			r.Small = Math.min(r.Small, b.height);
			if (b.left < box.left - 2 || b.right > box.right + 2 || b.top < box.top - 2 || b.bottom > box.bottom + 2) r.Beyond.push(t.textContent);
		}
		for (const e of svg.querySelectorAll('path, circle, rect')) {
			const s = getComputedStyle(e);
			for (const c of [s.fill, s.stroke]) if (c === 'rgb(0, 0, 0)') r.Dark.push(e.getAttribute('class'));
		}
	}
	return r;
})()`

// "HTML: one offline file, light and dark, readable at 420 px": the page asks for nothing,
// is no wider than its window, and keeps its texts inside its drawings; hostile names are
// text.
func TestHTMLInABrowser(t *testing.T) {
	ctx := browsertest.Tab(t)
	const allowed = "a body button caption circle code desc details div figcaption figure g h1 h2 h3 header input label li main nav option p path rect script section select small span strong summary svg table tbody td text th thead title tr ul"
	for _, c := range []struct {
		name, media, scheme string
		width               int64
		background          string
	}{
		{"fail", "screen", "light", 1280, "rgb(255, 255, 255)"},
		{"fail", "screen", "dark", 420, "rgb(18, 22, 29)"},
		{"fail", "print", "dark", 1000, "rgb(255, 255, 255)"},
		{"mixed", "screen", "dark", 1280, "rgb(18, 22, 29)"},
		{"inconclusive", "screen", "light", 420, "rgb(255, 255, 255)"},
		{"lacking", "screen", "light", 800, "rgb(255, 255, 255)"},
		{"hostile", "screen", "light", 1280, "rgb(255, 255, 255)"},
		{"hostile", "screen", "dark", 420, "rgb(18, 22, 29)"},
	} {
		page := browsertest.Written(t, htmlOf(t, examples()[c.name]))
		w := browsertest.Listen(ctx, t, page)
		browsertest.Look(ctx, t, page, c.media, c.scheme, c.width)
		what := fmt.Sprintf("%s, %s %s, %d px", c.name, c.media, c.scheme, c.width)
		shot := chromedp.CaptureScreenshot()
		if c.name == "fail" {
			shot = chromedp.FullScreenshot(100)
		}
		browsertest.KeepShot(ctx, t, fmt.Sprintf("verdict-%s-%s-%s-%d.png", c.name, c.media, c.scheme, c.width), shot)
		got := browsertest.Do(ctx, t, chromedp.Evaluate[inspected](inspect))
		if got.Wide {
			t.Errorf("%s: the page is wider than its window", what)
		}
		if got.Background != c.background || got.Hacked != "undefined" {
			t.Errorf("%s: background %s, hacked %s", what, got.Background, got.Hacked)
		}
		for _, e := range strings.Fields(got.Elements) {
			if !strings.Contains(" "+allowed+" ", " "+e+" ") {
				t.Errorf("%s: element %s", what, e)
			}
		}
		if len(got.Beyond) > 0 || len(got.Dark) > 0 {
			t.Errorf("%s: texts outside: %.300q; unset colours: %v", what, got.Beyond, got.Dark)
		}
		if got.Small < 8 {
			t.Errorf("%s: a text of %.1f px", what, got.Small)
		}
		if loads, problems := w.Seen(); loads != 1 || len(problems) > 0 {
			t.Errorf("%s: loaded %d times; problems: %v", what, loads, problems)
		}
	}
}

// The page says of each metric what worsening the suite finds, if that is known of one.
func TestPageSaysWhatIsFound(t *testing.T) {
	const column = "Found in 9 of 10"
	d := examples()["fail"]
	if page := htmlOf(t, d); strings.Contains(page, column) {
		t.Error("the column is there without values")
	}
	found := 0.0825
	d.Experiments[0].Metrics[0].Found = &found
	if page := html.UnescapeString(htmlOf(t, d)); !strings.Contains(page, column) || !regexp.MustCompile(`\+8\.25\W%`).MatchString(page) {
		t.Error("the value is not on the page")
	}
}
