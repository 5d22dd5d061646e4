package page

import (
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/section"
)

func markdown(t *testing.T, d *Document) string {
	t.Helper()
	var b strings.Builder
	if err := d.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdown(t *testing.T) {
	d := &Document{
		Title: "three_flow", Banner: section.Banner{State: section.Good, Headline: "Valid", Reasons: []string{"a reason"}},
		Story: []string{"The answer.", "Why."}, Notes: []string{"a note"},
		Parts: []section.Part{
			{ID: "q", Title: "Quiet", Says: "Nothing stands out.", Blocks: []section.Block{&chart.Figure{ID: "f", Title: "F"}}},
			{ID: "f", Title: "Figures alone", Level: section.Loud, Blocks: []section.Block{&chart.Figure{ID: "g", Panels: []chart.Panel{{Chart: &chart.Bars{}}}}, section.Fold{Title: "Fold", Blocks: []section.Block{section.Paragraph("folded")}}}},
			{ID: "p", Title: "Ports", Level: section.Plain, Blocks: []section.Block{
				&section.Table{Label: "Ports", Columns: columns("Port", "#Mean"), Rows: []section.Row{row("csig", "a|b", "1")}, Note: "A note.", Query: "csiglab query *"},
				&section.Table{Label: "Deepest", Columns: columns("Port"), Rows: []section.Row{row("", "c")}},
				&section.Table{Label: "Empty", Columns: columns("Port")},
				section.Paragraph("text"), section.List{"one", "two"}, section.Code("csiglab run\nx"),
			}},
		},
	}
	want := `# three\_flow

**Valid.**

- a reason

The answer. Why.

## Notes

- a note

## Ports

| Port | Mean |
| --- | ---: |
| a\|b | 1 |

A note.

In the run folder:

    csiglab query *

### Deepest

| Port |
| --- |
| c |

text

- one
- two

` + "```\ncsiglab run\nx\n```" + `

## Quiet

Nothing stands out.
`
	if got := markdown(t, d); got != want {
		t.Errorf("Markdown\n%s\nwant\n%s", got, want)
	}
	d.Parts[0].Blocks = []section.Block{7}
	if err := d.WriteMarkdown(new(strings.Builder)); err == nil || err.Error() != "write report: part q: a block is a int" {
		t.Errorf("%v", err)
	}
}

// Names with characters that Markdown interprets make no element, no link and no cell.
func TestHostileMarkdown(t *testing.T) {
	for first := range hostileNames {
		text := regexp.MustCompile("(?ms)^```.*?^```$|^    .*?$").ReplaceAllString(markdown(t, hostileSample(first).document()), "")
		if at := regexp.MustCompile(`<(?:[a-rt-z/!]|s[^p])|[^\\]\]\(`).FindString(strings.ReplaceAll(text, "</span>", "")); at != "" {
			t.Errorf("%d: Markdown has %q", first, at)
		}
		columns := 0
		for line := range strings.Lines(text) {
			bars := strings.Count(regexp.MustCompile(`\\.`).ReplaceAllString(line, ""), "|")
			if bars > 0 && columns > 0 && bars != columns {
				t.Errorf("%d: a row has %d bars, the head %d: %.200q", first, bars, columns, line)
			}
			columns = bars
		}
	}
}
