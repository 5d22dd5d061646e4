// Package device renders what came out of conformance vectors: as text, as a page and as JUnit
// XML.
package device

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/reports/junit"
	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// outcomes are the columns of counts.
var outcomes = []conformance.Outcome{conformance.Passed, conformance.Failed, conformance.Skipped, conformance.Broken}

// rules returns the rules that the report has vectors of, with their results.
func rules(r *conformance.Report) (list []*conformance.Rule, results map[string][]*conformance.Result) {
	results = map[string][]*conformance.Result{}
	for i := range r.Results {
		x := &r.Results[i]
		results[x.RuleID] = append(results[x.RuleID], x)
	}
	for i := range conformance.Rules {
		if rule := &conformance.Rules[i]; results[rule.ID] != nil {
			list = append(list, rule)
		}
	}
	return list, results
}

// Summary returns the counts in a line.
func Summary(r *conformance.Report) string {
	list, _ := rules(r)
	text := fmt.Sprintf("%s, %s: %d pass, %d fail", spelling.Plural(len(list), "rule"), spelling.Plural(len(r.Results), "vector"), r.Count(conformance.Passed), r.Count(conformance.Failed))
	if n := r.Count(conformance.Skipped); n > 0 {
		text += fmt.Sprintf(", %d skipped", n)
	}
	if n := r.Count(conformance.Broken); n > 0 {
		text += ", " + spelling.Plural(n, "error")
	}
	return text
}

// Text returns a report as text: the first vector of each rule that failed, then the counts.
func Text(r *conformance.Report) string {
	var b strings.Builder
	first, others := r.Details()
	for _, x := range first {
		b.WriteString(details(x))
		if list := others[x.RuleID]; len(list) > 0 {
			fmt.Fprintf(&b, "  also: %s\n", strings.Join(list, " "))
		}
		b.WriteByte('\n')
	}
	for _, line := range unjudged(r) {
		b.WriteString(line + "\n\n")
	}
	fmt.Fprintf(&b, "%s\n%s\n", r.Device, Summary(r))
	if failed := r.Failed(); len(failed) > 0 {
		fmt.Fprintf(&b, "failed: %s\n", strings.Join(failed, " "))
	}
	return b.String()
}

// groups counts the rules that failed by the middle of their names, such as UPD.
func groups(r *conformance.Report) string {
	group := func(rule string) string { return strings.Split(rule, "-")[1] }
	var names, counts []string
	failed, all := map[string]int{}, map[string]int{}
	list, _ := rules(r)
	for _, rule := range list {
		all[group(rule.ID)]++
	}
	for _, id := range r.Failed() {
		if failed[group(id)]++; failed[group(id)] == 1 {
			names = append(names, group(id))
		}
	}
	for _, name := range names {
		counts = append(counts, fmt.Sprintf("%s %d of %d", name, failed[name], all[name]))
	}
	return strings.Join(counts, ", ")
}

// mostNames is how many vectors of one reason are named.
const mostNames = 8

// unjudged returns a line for each reason for which vectors were skipped or are errors.
func unjudged(r *conformance.Report) (lines []string) {
	names := map[string][]string{}
	var reasons []string
	for i := range r.Results {
		if x := &r.Results[i]; x.Reason != "" && x.Outcome != conformance.Failed {
			reason := fmt.Sprintf("%s: %s", x.Outcome, words.PlainText(x.Reason))
			if names[reason] == nil {
				reasons = append(reasons, reason)
			}
			names[reason] = append(names[reason], x.ID)
		}
	}
	for _, reason := range reasons {
		list, more := names[reason], ""
		if n := len(list) - mostNames; n > 0 {
			list, more = list[:mostNames], fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s", reason, strings.Join(list, " "), more))
	}
	return lines
}

// from is where a rule comes from.
func from(standing string, s conformance.Source) string {
	if standing == conformance.Ours {
		return "csiglab's choice: " + s.Paragraph
	}
	return "standard: " + s.String()
}

// details is a result that is not good in lines.
func details(x *conformance.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n  %s\n  %s\n  device: %s\n", x.ID, x.Outcome, x.Sentence, from(x.Standing, x.Source), x.Device)
	if x.Reason != "" {
		fmt.Fprintf(&b, "  %s\n", words.PlainText(x.Reason))
	}
	for i := range x.Wrong {
		d := &x.Wrong[i]
		fmt.Fprintf(&b, "  %s\n%s", d.Says(), d.Dump())
		shown(&b, "want", d.WantShown)
		shown(&b, "got", d.GotShown)
	}
	return b.String()
}

// shown writes how Wireshark shows a frame.
func shown(b *strings.Builder, what, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(b, "  Wireshark, %s:\n", what)
	for line := range strings.Lines(text) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
}

// HTML writes a report as one page.
func HTML(w io.Writer, r *conformance.Report) error {
	list, results := rules(r)
	d := &page.Document{
		Title: "Conformance to CSIG", About: []string{words.PlainText(r.Device)},
		Banner: section.Banner{State: section.Good, Headline: Summary(r)},
	}
	switch {
	case r.Count(conformance.Failed) > 0:
		d.Banner.State = section.Bad
		d.Story = []string{"Rules that failed: " + groups(r) + "."}
	case r.Count(conformance.Broken) > 0:
		d.Banner.State = section.Bad
	case r.Count(conformance.Skipped) > 0:
		d.Banner.State = section.Warn
	}
	d.Notes = unjudged(r)
	for _, standing := range []struct{ id, title, says, name string }{
		{"standard", "Rules of the standard", "A public text says so.", conformance.Standard},
		{"csiglab", "Choices of csiglab", "The public texts are silent or disagree.", conformance.Ours},
	} {
		table := &section.Table{Label: standing.title, Columns: []section.Column{{Name: "Rule"}, {Name: "Sentence"}, {Name: "Source"}}}
		for _, o := range outcomes {
			table.Columns = append(table.Columns, section.Column{Name: string(o), Number: true})
		}
		for _, rule := range list {
			if rule.Standing == standing.name {
				table.Rows = append(table.Rows, row(rule, results[rule.ID]))
			}
		}
		d.Parts = append(d.Parts, section.Part{ID: standing.id, Title: standing.title, Says: standing.says, Level: section.Plain, Blocks: []section.Block{table}})
	}
	first, others := r.Details()
	part := section.Part{ID: "failures", Title: "Failures", Says: "The first vector of each rule that failed.", Level: section.Telling}
	for _, x := range first {
		part.Blocks = append(part.Blocks, section.Code(details(x)))
		if rest := others[x.RuleID]; len(rest) > 0 {
			part.Blocks = append(part.Blocks, section.Paragraph("Also: "+strings.Join(rest, ", ")+"."))
		}
	}
	if len(part.Blocks) > 0 {
		d.Parts = append(d.Parts, part)
	}
	return d.WriteHTML(w)
}

func row(rule *conformance.Rule, results []*conformance.Result) section.Row {
	cells := []section.Cell{{Text: rule.ID}, {Text: rule.Sentence}, {Text: rule.Source.String()}}
	for _, o := range outcomes {
		n, cell := 0, section.Cell{}
		for _, x := range results {
			if x.Outcome == o {
				n++
			}
		}
		switch cell.Text = fmt.Sprint(n); {
		case n > 0 && (o == conformance.Failed || o == conformance.Broken):
			cell.State = section.Bad
		case n > 0 && o == conformance.Skipped:
			cell.State = section.Warn
		case n > 0:
			cell.State = section.Good
		}
		cells = append(cells, cell)
	}
	return section.Row{Cells: cells}
}

// JUnit writes a report as JUnit XML: a suite per rule, a case per vector.
func JUnit(w io.Writer, r *conformance.Report, now time.Time) error {
	var d junit.Document
	list, results := rules(r)
	for i, rule := range list {
		s := junit.Suite{
			Name: rule.ID, Package: "conformance", ID: i, Time: junit.Seconds(0), Timestamp: now.UTC().Format(junit.TimeFormat), Hostname: "localhost",
			Properties: []junit.Property{
				{Name: "rule", Value: rule.Sentence}, {Name: "standing", Value: rule.Standing}, {Name: "source", Value: rule.Source.String()},
				{Name: "device", Value: junit.Token(r.Device)},
			},
		}
		for _, x := range results[rule.ID] {
			c := junit.Case{Class: rule.ID, Name: strings.TrimPrefix(x.ID, rule.ID+"/"), Time: junit.Seconds(0)}
			switch x.Outcome {
			case conformance.Skipped:
				c.Skipped = words.PlainText(x.Reason)
			case conformance.Failed:
				c.Failure = &junit.Problem{Type: rule.ID, Message: rule.Sentence, Text: details(x)}
			case conformance.Broken:
				c.Error = &junit.Problem{Type: "device", Message: words.PlainText(x.Reason), Text: details(x)}
			}
			s.Add(c)
		}
		d.Suites = append(d.Suites, s)
	}
	return d.Write(w)
}
