package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/reports/analysis"
)

// WriteMarkdown writes the report's verdict and tables, without charts.
func WriteMarkdown(w io.Writer, r *analysis.Result) error {
	r = plain(r)
	p := newPage(r)
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n\n**%s.**\n", escape(p.Title), escape(p.Verdict.Headline))
	for _, text := range p.Verdict.Reasons {
		fmt.Fprintf(b, "\n- %s", escape(text))
	}
	if len(p.Verdict.Reasons) > 0 {
		b.WriteString("\n")
	}
	if len(p.Story) > 0 {
		fmt.Fprintf(b, "\n%s\n", escape(strings.Join(p.Story, " ")))
	}
	if len(p.Notes) > 0 {
		b.WriteString("\n## Notes\n")
		for _, text := range p.Notes {
			fmt.Fprintf(b, "\n- %s", escape(text))
		}
		b.WriteString("\n")
	}
	if len(p.Findings) > 0 {
		b.WriteString("\n## Findings\n")
	}
	for _, text := range p.Findings {
		fmt.Fprintf(b, "\n%s\n", escape(text))
	}
	writeTable(b, "Jobs", &p.Jobs)
	writeTable(b, "Jobs that share links", &p.JobGroups)
	writeTable(b, "Collectives", &p.Collectives)
	writeTable(b, "Critical paths", &p.Paths)
	writeTable(b, blameTitle, &p.Blame)
	writeTable(b, "Variants compared", &p.Compared)
	writeTable(b, "Against published figures", &p.Published)
	writeTable(b, "Expectations", &p.Expectations)
	scales, shifts := scaleTable(r), shiftTable(r)
	writeTable(b, scales.Label, &scales)
	writeTable(b, shifts.Label, &shifts)
	writeTable(b, "Distributions", &p.Distribution)
	writeTable(b, "Worst flows", &p.Worst)
	writeTable(b, "Worst collectives", &p.WorstCCTs)
	writeTable(b, "Fairness", &p.Fairness)
	writeTable(b, "Ports", &p.PortClasses)
	writeTable(b, "Deepest queues", &p.WorstPorts)
	writeTable(b, "Flow completion times", &p.Completion)
	writeTable(b, "Faults", &p.Faults)
	writeTable(b, "Programs", &p.Programs)
	writeTable(b, "What CSIG named as the bottleneck", &p.Named)
	writeTable(b, truthTitle, &p.Truth)
	writeTable(b, "Shared locators", &p.Locators)
	writeTable(b, "Key metrics", &p.Metrics)
	writeTable(b, "Parameters by class of ports", &p.Ports)
	writeTable(b, "Parameters by class of flows", &p.Flows)
	writeTable(b, "Runs", &p.Runs)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func writeTable(b *bufio.Writer, title string, t *table) { writeTableAt(b, "##", title, t) }

// writeTableAt writes a table below a heading of a level.
func writeTableAt(b *bufio.Writer, level, title string, t *table) {
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s %s\n\n|", level, title)
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
	if t.Query != "" {
		fmt.Fprintf(b, "\nIn the run folder:\n\n    %s\n", t.Query)
	}
}

// escape protects characters that Markdown would interpret, also those of GitHub's and
// GitLab's dialects: a name with a URL, an @ or a # in it becomes no link, and mentions nobody.
func escape(text string) string {
	text = interpreted.Replace(text)
	return referring().ReplaceAllStringFunc(text, func(found string) string {
		at := strings.IndexAny(found, ".:@#!")
		return found[:at] + "<span>" + found[at:at+1] + "</span>" + found[at+1:]
	})
}

var (
	interpreted = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "&", "&amp;", ">", "&gt;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "~", `\~`, "$", `\$`, "\n", " ")
	referring   = lazy.Regexp(`(?i)www\.|[a-z]:/|@|[#!]\d`)
)
