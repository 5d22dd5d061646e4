package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the report's verdict and tables, without charts.
func WriteMarkdown(w io.Writer, r *Report) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n\n**%s.**\n", escape(r.Title), escape(r.Verdict.Headline))
	for _, text := range r.Verdict.Reasons {
		fmt.Fprintf(b, "\n- %s", escape(text))
	}
	for _, text := range r.Findings {
		fmt.Fprintf(b, "\n%s\n", escape(text))
	}
	if r.Published != nil {
		writeTable(b, "Against published figures", r.Published)
	}
	writeTable(b, "Expectations", &r.Verdict.Expectations)
	writeTable(b, "Flow completion times", &r.Completion)
	writeTable(b, "Programs", &r.Programs)
	writeTable(b, "What tags named the bottleneck", &r.Named)
	writeTable(b, "Key metrics", &r.Metrics)
	writeTable(b, "Runs", &r.Runs)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func writeTable(b *bufio.Writer, title string, t *Table) {
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n|", title)
	for _, c := range t.Columns {
		fmt.Fprintf(b, " %s |", escape(c.Name))
	}
	b.WriteString("\n|")
	for _, c := range t.Columns {
		if c.Number {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteString("\n")
	for _, row := range t.Rows {
		b.WriteString("|")
		for _, c := range row {
			fmt.Fprintf(b, " %s |", escape(c.Text))
		}
		b.WriteString("\n")
	}
	if t.Note != "" {
		fmt.Fprintf(b, "\n%s\n", escape(t.Note))
	}
}

// escape keeps text from being read as Markdown.
var escape = strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "\n", " ").Replace
