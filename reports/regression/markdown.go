package regression

import (
	"fmt"
	"math"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/words"
)

// Bounds of the Markdown form. A comment on GitHub has at most 65,536 characters.
const (
	mostBytes    = 60_000
	mostRows     = 20 // of the tables of what needs attention
	mostCommands = 8
	mostReasons  = 8
	mostName     = 80  // characters
	mostReason   = 300 // characters
	mostCommand  = 1500
)

// marks of outcomes, which do not depend on colour.
var marks = map[verdict.Outcome]string{verdict.Pass: "✅", verdict.Fail: "❌", verdict.Inconclusive: "❔", verdict.Invalid: "⛔"}

// Markdown returns the verdict as a comment for a pull request, for GitHub and GitLab.
// Details are folded; what they have no room for is in the HTML form.
func Markdown(d *verdict.Document) string {
	v := newView(d)
	var b strings.Builder
	fmt.Fprintf(&b, "## %s %s: %s\n", marks[v.outcome], word(v.outcome), v.headline())
	v.markdownReasons(&b)
	v.markdownFailed(&b)
	v.markdownOpen(&b)
	v.markdownCommands(&b)
	v.markdownChanged(&b)
	v.markdownSetup(&b)
	v.markdownAll(&b)
	return b.String()
}

// named shows a name as code.
func named(text string) string { return words.MarkdownCode(words.Shortened(text, mostName)) }

// said shows a text as text.
func said(text string) string { return words.Markdown(words.Shortened(text, mostReason)) }

// more says how many entries are left out.
func more(b *strings.Builder, total, shown int) {
	if total > shown {
		fmt.Fprintf(b, "\n%d more are in verdict.html.\n", total-shown)
	}
}

// markdownReasons says why there is no valid result.
func (v *view) markdownReasons(b *strings.Builder) {
	if v.outcome != verdict.Invalid {
		return
	}
	b.WriteByte('\n')
	for _, reason := range v.ended() {
		fmt.Fprintf(b, "- %s\n", said(reason))
	}
	for _, e := range v.invalid[:min(len(v.invalid), mostRows)] {
		reasons := e.why()
		for _, reason := range reasons[:min(len(reasons), mostReasons)] {
			fmt.Fprintf(b, "- %s: %s\n", named(e.name), said(reason))
		}
		if n := len(reasons) - mostReasons; n > 0 {
			fmt.Fprintf(b, "- %s: %s\n", named(e.name), spelling.Plural(n, "more reason"))
		}
	}
	more(b, len(v.invalid), mostRows)
	b.WriteString("\nRuns that do not count give no verdict: repeat them once the reason is gone.\n")
}

func (v *view) markdownFailed(b *strings.Builder) {
	if len(v.failed) == 0 {
		return
	}
	which := ""
	if len(v.failed) > 1 {
		which = "Worst: "
	}
	text, rest := v.lead(named)
	fmt.Fprintf(b, "\n%s**%s**%s\n", which, text, said(rest))
	fmt.Fprintf(b, "\n| Got worse | By | %s | Allowed | p | Baseline → candidate | Seeds |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n", v.interval())
	for _, m := range v.failed[:min(len(v.failed), mostRows)] {
		by := "**" + m.change(m.worse) + "**"
		if math.IsNaN(m.worse) && m.Reason != "" {
			by = said(m.Reason)
		}
		fmt.Fprintf(b, "| %s<br>%s | %s | %s | %s | %s | %s | %d |\n", named(m.Name), named(m.experiment.name), by, m.between(), m.allowed(), m.probability(), said(m.values()), len(m.Pairs))
	}
	more(b, len(v.failed), mostRows)
}

func (v *view) markdownOpen(b *strings.Builder) {
	if len(v.open) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| Undecided | By | %s | Allowed | What would decide it |\n| --- | ---: | ---: | ---: | --- |\n", v.interval())
	for _, m := range v.open[:min(len(v.open), mostRows)] {
		fmt.Fprintf(b, "| %s<br>%s | %s | %s | %s | %s |\n", named(m.Name), named(m.experiment.name), m.change(m.worse), m.between(), m.allowed(), said(m.deciding()))
	}
	more(b, len(v.open), mostRows)
}

func (v *view) markdownChanged(b *strings.Builder) {
	if len(v.changed) == 0 {
		return
	}
	b.WriteString("\n| Changed, but not worse | Differs | Moved the most | By | Allowed |\n| --- | --- | --- | ---: | ---: |\n")
	for _, e := range v.changed[:min(len(v.changed), mostRows)] {
		name, change, allowed := e.movement()
		if allowed != "" {
			name = named(name)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", named(e.name), said(e.differing()), name, change, allowed)
	}
	more(b, len(v.changed), mostRows)
}

// commands returns the experiments that need attention and have a command, worst first.
func (v *view) commands() []*experiment {
	var list []*experiment
	seen := map[*experiment]bool{}
	add := func(e *experiment) {
		if !seen[e] && e.Reproduce != "" {
			list = append(list, e)
		}
		seen[e] = true
	}
	for _, m := range v.failed {
		add(m.experiment)
	}
	for _, e := range v.invalid {
		add(e)
	}
	for _, m := range v.open {
		add(m.experiment)
	}
	if v.Strict {
		for _, e := range v.changed {
			add(e)
		}
	}
	return list
}

// about says what is the matter with an experiment.
func (e *experiment) about() string {
	var failed, open int
	for i := range e.metrics {
		switch e.metrics[i].outcome {
		case verdict.Fail:
			failed++
		case verdict.Inconclusive:
			open++
		}
	}
	var parts []string
	if e.outcome == verdict.Invalid {
		parts = append(parts, "invalid")
	}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%d worse", failed))
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("%d undecided", open))
	}
	if e.change == verdict.Changed {
		parts = append(parts, "changed but not worse")
	}
	return strings.Join(parts, ", ")
}

func (v *view) markdownCommands(b *strings.Builder) {
	list := v.commands()
	if len(list) == 0 {
		return
	}
	shown := list[:min(len(list), mostCommands)]
	var lines []string
	for _, e := range shown {
		command := e.Reproduce
		if len(command) > mostCommand {
			command = tooLong
		}
		if len(shown) > 1 {
			lines = append(lines, "# "+words.Shortened(e.name, mostName)+": "+e.about())
		}
		lines = append(lines, command)
	}
	text := strings.Join(lines, "\n")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "\nReproduce:\n\n%ssh\n%s\n%s\n", fence, text, fence)
	more(b, len(list), len(shown))
}

func (v *view) markdownSetup(b *strings.Builder) {
	b.WriteByte('\n')
	for _, f := range v.setup() {
		value := said(f.More)
		if f.Code != "" {
			value = named(f.Code) + value
		}
		fmt.Fprintf(b, "- %s: %s\n", f.Name, value)
	}
	if n := len(v.better); n > 0 {
		best := v.better[0]
		fmt.Fprintf(b, "- Better: %s; the most: %s of %s, %s\n", spelling.Plural(n, "metric"), named(best.Name), named(best.experiment.name), best.direction())
	}
	for i, text := range v.Notes {
		if v.ended() != nil {
			break
		}
		if i == mostReasons {
			fmt.Fprintf(b, "- %d more notes are in verdict.html\n", len(v.Notes)-i)
			break
		}
		fmt.Fprintf(b, "- Note: %s\n", said(text))
	}
}

// markdownAll lists all metrics, folded, as far as there is room.
func (v *view) markdownAll(b *strings.Builder) {
	if v.total == 0 {
		return
	}
	const end = "\n</details>\n"
	title := all(v.total, "metric")
	fmt.Fprintf(b, "\n<details><summary>%s, and what the words mean</summary>\n\n%s\n\n| | Experiment | Metric | Change | %s | Allowed | Baseline → candidate |\n| --- | --- | --- | ---: | ---: | ---: | ---: |\n",
		strings.ToUpper(title[:1])+title[1:], v.design(), v.interval())
	left := 0
	for i := range v.experiments {
		e := &v.experiments[i]
		var rows []string
		switch {
		case e.Identical && e.outcome == verdict.Pass:
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | identical traces |  |  |  |\n", marks[e.outcome], named(e.name), spelling.Plural(len(e.metrics), "metric")))
		case e.untold():
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | no valid result |  |  |  |\n", marks[e.outcome], named(e.name), spelling.Plural(len(e.metrics), "metric")))
		default:
			for k := range e.metrics {
				m := &e.metrics[k]
				text := named(m.Name)
				if over := m.over(); over != "" {
					text += ", " + said(over)
				}
				change := m.change(m.worse)
				if m.Reason != "" && m.outcome != verdict.Inconclusive { // told above
					change += "<br>" + said(m.Reason)
				}
				rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", marks[m.outcome], named(e.name), text, change, m.between(), m.allowed(), said(m.values())))
			}
		}
		for _, row := range rows {
			if b.Len()+len(row)+200 > mostBytes {
				left++
				continue
			}
			b.WriteString(row)
		}
	}
	if left > 0 {
		fmt.Fprintf(b, "\n%s more in verdict.html.\n", spelling.Plural(left, "row"))
	}
	b.WriteString(end)
}
