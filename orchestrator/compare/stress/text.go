package stress

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
)

// words returns a cell of the table: in words, with * for a promised one and the measured
// value of one that failed.
func (c *Cell) words() string {
	text := string(c.Verdict)
	switch c.Verdict {
	case DoesNotApply:
		return "-"
	case Failed:
		if c.Value != nil {
			text += " " + spelling.Number(*c.Value, true)
		}
	}
	if c.Promised {
		text += "*"
	}
	return text
}

// head says what the experiment was run with.
func (r *Result) head() string {
	text := r.Experiment
	if len(r.Rows) == 0 {
		return text + ": it has no expectations"
	}
	for _, s := range r.Settings {
		if s.Name == "seeds" {
			text += fmt.Sprintf(", %s from %d on", spelling.Plural(len(s.Seeds), "unseen seed"), s.Seeds[0])
		}
	}
	text += fmt.Sprintf(": %s of %v together", spelling.Plural(r.Runs, "run"), time.Duration(r.Seconds*float64(time.Second)).Round(time.Second))
	if r.Missing > 0 {
		text += fmt.Sprintf("; %d have not been run", r.Missing)
	}
	return text
}

// Text returns the tables for a terminal. Below each are the expectations by number, and
// what broke a promise.
func (results *Results) Text() string {
	var w strings.Builder
	promised := false
	for _, r := range results.Experiments {
		fmt.Fprintln(&w, r.head())
		if len(r.Rows) == 0 || len(r.Settings) == 0 {
			fmt.Fprintln(&w)
			continue
		}
		t := tabwriter.NewWriter(&w, 0, 0, 2, ' ', 0)
		head := "  "
		for _, s := range r.Settings {
			head += "\t" + s.Name
		}
		fmt.Fprintln(t, head)
		for i, row := range r.Rows {
			line := fmt.Sprintf("  %d", i+1)
			for k := range row.Cells {
				promised = promised || row.Cells[k].Promised
				line += "\t" + row.Cells[k].words()
			}
			fmt.Fprintln(t, line)
		}
		t.Flush() // cannot fail: text in memory
		for i, row := range r.Rows {
			fmt.Fprintf(&w, "  %d  %s\n", i+1, row.Expect)
		}
		for _, text := range r.reasons() {
			fmt.Fprintln(&w, "  "+text)
		}
		fmt.Fprintln(&w)
	}
	if promised {
		fmt.Fprintln(&w, "* promised by the key robust of the experiment")
	}
	return w.String()
}

// reasons says what broke a promise, what was refused or invalid, and what does not
// apply. A reason that several expectations have is there once.
func (r *Result) reasons() (texts []string) {
	for i, row := range r.Rows {
		for _, c := range row.Cells {
			text := ""
			switch {
			case c.Verdict == Failed && c.Promised:
				text = fmt.Sprintf("PROMISE BROKEN: %d, %s: %s", i+1, c.Setting, c.Text)
				if c.Reason != "" {
					text += ": " + c.Reason
				}
			case c.Verdict == Refused || c.Verdict == Invalid:
				text = fmt.Sprintf("%s, %s: %s", c.Setting, c.Verdict, c.Reason)
			case c.Verdict == DoesNotApply:
				text = fmt.Sprintf("%s does not apply: %s", c.Setting, c.Reason)
			}
			if text = strings.Join(strings.Fields(text), " "); text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// Markdown returns the tables as Markdown.
func (results *Results) Markdown() string {
	var w strings.Builder
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	for _, r := range results.Experiments {
		fmt.Fprintf(&w, "## %s\n\n%s.\n\n", r.Experiment, r.head())
		if len(r.Rows) == 0 || len(r.Settings) == 0 {
			continue
		}
		head, line := "| expectation |", "|---|"
		for _, s := range r.Settings {
			head, line = head+" "+s.Name+" |", line+"---|"
		}
		fmt.Fprintln(&w, head+"\n"+line)
		for _, row := range r.Rows {
			text := "| `" + cell(row.Expect) + "` |"
			for k := range row.Cells {
				text += " " + strings.ReplaceAll(row.Cells[k].words(), "*", `\*`) + " |"
			}
			fmt.Fprintln(&w, text)
		}
		fmt.Fprintln(&w)
		for _, text := range r.reasons() {
			fmt.Fprintln(&w, "- "+text)
		}
		fmt.Fprintln(&w)
	}
	fmt.Fprintln(&w, `\* promised by the key robust of the experiment.`)
	return w.String()
}
