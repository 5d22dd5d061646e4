package page

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// WriteMarkdown writes the texts and tables of the document. Figures and folds are left
// out.
func (d *Document) WriteMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n\n**%s.**\n", words.Markdown(d.Title), words.Markdown(d.Banner.Headline))
	writeList(b, d.Banner.Reasons)
	if len(d.Story) > 0 {
		fmt.Fprintf(b, "\n%s\n", words.Markdown(strings.Join(d.Story, " ")))
	}
	if len(d.Notes) > 0 {
		b.WriteString("\n## Notes\n")
		writeList(b, d.Notes)
	}
	open, quiet := d.ordered()
	for _, parts := range [][]section.Part{open, quiet} {
		for i := range parts {
			if err := writePart(b, &parts[i]); err != nil {
				return fmt.Errorf("write report: %w", err)
			}
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// writePart writes a part that has text.
func writePart(b *bufio.Writer, p *section.Part) error {
	begun := false
	begin := func() {
		if !begun {
			fmt.Fprintf(b, "\n## %s\n", words.Markdown(p.Title))
		}
		begun = true
	}
	if p.Says != "" {
		begin()
		fmt.Fprintf(b, "\n%s\n", words.Markdown(p.Says))
	}
	for _, block := range p.Blocks {
		if !shows(block) {
			continue
		}
		switch block := block.(type) {
		case section.Paragraph:
			begin()
			fmt.Fprintf(b, "\n%s\n", words.Markdown(string(block)))
		case section.List:
			begin()
			writeList(b, block)
		case section.Code:
			begin()
			writeCode(b, string(block))
		case *section.Table:
			begin()
			if block.Label != "" && block.Label != p.Title {
				fmt.Fprintf(b, "\n### %s\n", words.Markdown(block.Label))
			}
			writeTable(b, block)
		case *chart.Figure, section.Fold:
		default:
			return unknown(p, block)
		}
	}
	return nil
}

// unknown returns the error on a block that is none of package section.
func unknown(p *section.Part, b section.Block) error {
	return fmt.Errorf("part %s: a block is a %T", p.ID, b)
}

func writeList(b *bufio.Writer, texts []string) {
	for _, text := range texts {
		fmt.Fprintf(b, "\n- %s", words.Markdown(text))
	}
	if len(texts) > 0 {
		b.WriteString("\n")
	}
}

// writeCode writes a text as it is, within a fence that it does not have. Indented text
// would belong to a list before it.
func writeCode(b *bufio.Writer, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "\n%[1]s\n%[2]s\n%[1]s\n", fence, text)
}

func writeTable(b *bufio.Writer, t *section.Table) {
	b.WriteString("\n|")
	for _, c := range t.Columns {
		fmt.Fprintf(b, " %s |", words.Markdown(c.Name))
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
		for _, c := range row.Cells {
			fmt.Fprintf(b, " %s |", words.Markdown(c.Text))
		}
		b.WriteString("\n")
	}
	if t.Note != "" {
		fmt.Fprintf(b, "\n%s\n", words.Markdown(t.Note))
	}
	if t.Query != "" {
		fmt.Fprintf(b, "\nIn the run folder:\n\n    %s\n", strings.ReplaceAll(t.Query, "\n", " "))
	}
}
