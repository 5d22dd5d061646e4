package reports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// made has the folders of ran, which tests share, until the last test has ended.
var made string

func TestMain(m *testing.M) {
	var err error
	if made, err = os.MkdirTemp("", "reports"); err != nil {
		panic(err)
	}
	code := browsertest.Main(m)
	os.RemoveAll(made)
	os.Exit(code)
}

// read reads a folder for all sections, and for more.
func read(t testing.TB, f *runfolder.Folder, more ...section.New) *reports.Report {
	t.Helper()
	r, err := reports.Read(f, measure.Meaning, more...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// forms are a report in all forms of text.
type forms struct{ html, markdown, json string }

func formsOf(t testing.TB, r *reports.Report) forms {
	t.Helper()
	var page, markdown, numbers strings.Builder
	if err := errors.Join(r.WriteHTML(&page), r.WriteMarkdown(&markdown), r.WriteJSON(&numbers)); err != nil {
		t.Fatal(err)
	}
	return forms{page.String(), markdown.String(), numbers.String()}
}

// inOrder checks that texts stand in a form, one behind the other.
func inOrder(t *testing.T, form string, texts ...string) {
	t.Helper()
	rest := form
	for _, text := range texts {
		at := strings.Index(rest, text)
		if at < 0 {
			t.Errorf("%q is missing, or comes too early:\n%.3000s", text, form)
			return
		}
		rest = rest[at+len(text):]
	}
}

// ran runs an experiment in virtual time, unless another test has, and returns its folder.
func ran(t *testing.T, name string, o experiment.Options) *runfolder.Folder {
	t.Helper()
	set, err := experiment.Load(name, o)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(made, fmt.Sprintf("%s-%d-%s", name, o.Seeds, strings.Join(o.Variants, "-")))
	if _, err := os.Stat(folder); err != nil {
		if _, err := campaign.Run(t.Context(), set, campaign.Options{Out: folder}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pageOf writes the page of a folder into a file and returns its address.
func pageOf(t *testing.T, f *runfolder.Folder) string {
	t.Helper()
	var page strings.Builder
	if err := read(t, f).WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	return browsertest.Written(t, page.String())
}

// evaluate returns the value of an expression in a page.
func evaluate[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	return browsertest.Do(ctx, t, chromedp.Evaluate[T](expression))
}

// sampled is the made-up experiment with CSIG samples, which shows most sections.
func sampled() *readingtest.Experiment {
	e := readingtest.ThreeFlow()
	e.Samples = map[string]map[uint16]int64{"csig": {1: 5}}
	return e
}

// Readers who do not see the page find their way in it: headings in order, names of
// tables and drawings, each id once, links that lead somewhere, and one that skips the head.
func TestStructure(t *testing.T) {
	for name, f := range map[string]*runfolder.Folder{
		"three-flow": sampled().Folder(t, nil),
		"many":       (&readingtest.Many{Leaves: 8, Spines: 16, Hosts: 5, Samples: true}).Folder(t),
		"jobs":       ran(t, "training-step", experiment.Options{Tables: experiment.StandardTables(), Seeds: 1, Variants: []string{"spread"}}),
	} {
		page := formsOf(t, read(t, f)).html
		level := 0
		for _, h := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(page, -1) {
			next := int(h[1][0] - '0')
			if next > level+1 || next == 1 && level > 0 {
				t.Errorf("%s: a heading of level %d follows one of level %d", name, next, level)
			}
			level = next
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if ids[id[1]] {
				t.Errorf("%s: id %q twice", name, id[1])
			}
			ids[id[1]] = true
		}
		if !ids["content"] || !strings.Contains(page, `<a class="skip" href="#content">`) {
			t.Errorf("%s: no link to the content", name)
		}
		for _, l := range regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !ids[l[1]] {
				t.Errorf("%s: a link to %q, which is nowhere", name, l[1])
			}
		}
		labels := map[string]bool{}
		for _, table := range regexp.MustCompile(`<table[^>]*>`).FindAllString(page, -1) {
			label := regexp.MustCompile(`aria-label="([^"]+)"`).FindStringSubmatch(table)
			if label == nil || labels[label[1]] {
				t.Errorf("%s: the name of a table is missing, or another's: %s", name, table)
				continue
			}
			labels[label[1]] = true
		}
		drawings := 0
		for _, svg := range regexp.MustCompile(`(?s)<svg [^>]*>.{0,40}`).FindAllString(page, -1) {
			switch {
			case strings.Contains(svg, `aria-hidden="true"`):
			case strings.Contains(svg, `role="img"`) && regexp.MustCompile(`><title>[^<]`).MatchString(svg):
				drawings++
			default:
				t.Errorf("%s: a drawing has no name: %s", name, svg)
			}
		}
		if described := strings.Count(page, "<desc>"); drawings < 4 || described != drawings {
			t.Errorf("%s: %d drawings and %d descriptions", name, drawings, described)
		}
	}
}

// A page refers to nothing outside of itself, its drawings have the colours of the style
// sheet, and names in it are text.
func TestPageIsWhole(t *testing.T) {
	page := formsOf(t, read(t, sampled().Folder(t, nil))).html
	drawings := strings.Join(regexp.MustCompile(`(?s)<svg [^>]*class="[^"]*chart.*?</svg>`).FindAllString(page, -1), "")
	if left := regexp.MustCompile(`#[0-9A-Fa-f]{6}|NaN|Inf`).FindString(drawings); left != "" || len(drawings) < 10_000 {
		t.Errorf("%d bytes of drawings have %s", len(drawings), left)
	}
	for _, want := range []string{"&lt;of&gt;", "✗ outside: start-up trims", "csiglab run three-flow"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	left := regexp.MustCompile(`(?i)(src|href)="[^"]*|url\([^#]|@import|<script|https?://[^ "<]*`).FindAllString(page, -1)
	left = slices.DeleteFunc(left, func(found string) bool {
		return strings.HasPrefix(found, `href="#`) || strings.HasPrefix(found, "http://www.w3.org/2000/svg")
	})
	if !cmp.Equal(left, []string{`href="data:,`, "<script", "<script"}) {
		t.Errorf("references of the page: %v", left)
	}
}

// Rows of tables in Markdown have as many cells as the head.
func TestMarkdownTables(t *testing.T) {
	f := sampled().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Published[1].Note = "a | b" })
	text := formsOf(t, read(t, f)).markdown
	checkTables(t, "three-flow", text)
	for _, want := range []string{"**Valid; 2 of 2 expectations hold", `✗ outside: a \| b |`, "| baseline | fairness\\_ratio | 4.668 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("markdown lacks %q:\n%s", want, text)
		}
	}
}

// checkTables checks that rows of tables in Markdown have as many bars as the row before them.
func checkTables(t *testing.T, name, text string) {
	t.Helper()
	columns, rows := 0, 0
	for line := range strings.Lines(text) {
		bars := strings.Count(regexp.MustCompile(`\\.`).ReplaceAllString(line, ""), "|")
		if bars > 0 && columns > 0 && bars != columns {
			t.Errorf("%s: a row has %d bars, the head %d: %.200q", name, bars, columns, line)
		}
		if columns = bars; bars > 0 {
			rows++
		}
	}
	if rows < 10 {
		t.Errorf("%s: %d rows of tables", name, rows)
	}
}

// Page, Markdown and JSON have the same sentences, of which the first is the answer, and the
// tables of blame and fairness.
func TestStoryForms(t *testing.T) {
	r := read(t, readingtest.ThreeFlow().Folder(t, nil))
	all, want := formsOf(t, r), r.Story()
	if len(want) < 3 || len(want) > 5 || !strings.HasPrefix(want[0], "In csig, flow 0-3") || !strings.Contains(want[0], "2.31 times as much, not 4.63 times") {
		t.Errorf("story %q", want)
	}
	for _, s := range want {
		if !strings.HasSuffix(s, ".") || strings.ToUpper(s[:1]) != s[:1] || len(s) > 400 {
			t.Errorf("%q is no short sentence", s)
		}
	}
	var data struct {
		Story []string
		Blame []struct{ Variant string }
	}
	if err := json.Unmarshal([]byte(all.json), &data); err != nil || !slices.Equal(data.Story, want) || len(data.Blame) == 0 {
		t.Errorf("JSON: error %v, story %q, want %q, %d blamed", err, data.Story, want, len(data.Blame))
	}
	inOrder(t, all.markdown, words.Markdown(strings.Join(want, " ")))
	for _, title := range []string{"Blame", "Fairness"} {
		found := false
		for _, p := range r.Document().Parts {
			if strings.EqualFold(p.ID, title) {
				found = strings.Contains(all.markdown, "## "+p.Title) && strings.Contains(all.html, `id="`+p.ID+`"`)
			}
		}
		if !found {
			t.Errorf("Markdown or the page lacks the part of %s", title)
		}
	}
	inOrder(t, all.html, `id="verdict"`, `id="story"`, html.EscapeString(want[0]), html.EscapeString(want[1]), `id="fabric"`, `id="main"`)
}

// A run that ends with flows unfinished says so first, on the page and in Markdown.
func TestUnfinishedComesFirst(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Open = true
	all := formsOf(t, read(t, e.Folder(t, nil)))
	inOrder(t, all.html, "Flows are unfinished", "1 of 3 flows did not complete", `id="story"`, `id="fabric"`, `id="main"`, `id="expectations"`)
	inOrder(t, all.markdown, "**Flows are unfinished", "1 of 3 flows did not complete", "\n## ")
	for _, want := range []string{"## Expectations", "fct\\_us.p99 (of 2 to 3 of 3 flows)"} {
		if !strings.Contains(all.markdown, want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
}

// Notes of the configuration and of runs stand in every form of the report, before its parts.
func TestNotes(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		for i := range m.Variants {
			m.Variants[i].Notes = append(m.Variants[i].Notes, "all have <this>")
		}
		m.Variants[1].Notes = append(m.Variants[1].Notes, "one has this")
	})
	f.Manifest.Runs[0].Notes = []string{"of one run"}
	r := read(t, f)
	all := formsOf(t, r)
	want := []string{"all have <this>.", "Variant csig: one has this.", "Variant baseline, seed 1: of one run."}
	for _, note := range want {
		inOrder(t, all.html, `id="story"`, html.EscapeString(note), `<section class="part`)
		inOrder(t, all.markdown, "## Notes", words.Markdown(note), "\n## ")
	}
	var numbers struct{ Notes json.RawMessage }
	if err := json.Unmarshal([]byte(all.json), &numbers); err != nil || !bytes.Contains(numbers.Notes, []byte("of one run")) {
		t.Errorf("%v; notes in JSON: %s", err, numbers.Notes)
	}
	if page := formsOf(t, read(t, readingtest.ThreeFlow().Folder(t, nil))).html; strings.Contains(page, `id="notes"`) {
		t.Error("a run without notes has a section of them")
	}
}

// The charts of the JSON form are figures of the report, and each part and figure has an ID
// of its own.
func TestEveryChartIsAFigure(t *testing.T) {
	r := read(t, sampled().Folder(t, nil))
	var numbers struct{ Charts []struct{ ID string } }
	if err := json.Unmarshal([]byte(formsOf(t, r).json), &numbers); err != nil || len(numbers.Charts) < 5 {
		t.Fatalf("%v, %d charts", err, len(numbers.Charts))
	}
	figures := map[string]*chart.Figure{}
	for _, f := range r.Figures() {
		figures[f.ID] = f
	}
	for _, c := range numbers.Charts {
		if figures[c.ID] == nil {
			t.Errorf("the chart %s is no figure", c.ID)
		}
	}
}
