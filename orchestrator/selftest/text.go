package selftest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// headings of kinds of checks, in tables.
var headings = map[string]string{
	Sensitivity:  "one thing is changed, and the metrics move as arithmetic says",
	Independence: "what does not matter is changed, and nothing moves",
	Conservation: "no packet appears or vanishes, and a loss is noticed",
	Parity:       "real frames leave the trace of virtual time",
	Repetition:   "equal runs are equal, and the statistics see no difference where there is none",
}

// Text returns the report as a table: the checks of each kind, each with a row for every
// prediction. With sources it says for each where it comes from.
func (r *Report) Text(sources bool) string {
	var text strings.Builder
	widths := r.widths()
	kind := ""
	for _, c := range r.Checks {
		if c.Kind != kind {
			kind = c.Kind
			fmt.Fprintf(&text, "%s: %s\n", kind, headings[kind])
		}
		fmt.Fprintf(&text, "  %s  %s: %s\n", pad(string(c.Outcome), len(NotRun)), c.Name, c.Changed)
		for _, claim := range c.Claims {
			mark := ""
			if !claim.OK {
				mark = "  <- not as predicted"
			}
			fmt.Fprintf(&text, "             %s  predicted %s  measured %s%s\n", pad(claim.What, widths[0]), pad(claim.Predicted, widths[1]), claim.Measured, mark)
			if sources {
				fmt.Fprintf(&text, "               %s; %s\n", claim.Formula, claim.Source)
			}
		}
		if c.Reason != "" && (c.Outcome != Failed || len(c.Claims) == 0) {
			fmt.Fprintf(&text, "             %s\n", c.Reason)
		}
	}
	fmt.Fprintf(&text, "%s\n", r.verdict())
	return text.String()
}

// Column widths are bounded: what is longer moves its own row alone.
const mostWidth = 40

// widths returns the widths of the columns what and predicted.
func (r *Report) widths() (w [2]int) {
	for _, c := range r.Checks {
		for _, claim := range c.Claims {
			for i, text := range []string{claim.What, claim.Predicted} {
				if n := utf8.RuneCountInString(text); n <= mostWidth {
					w[i] = max(w[i], n)
				}
			}
		}
	}
	return w
}

// verdict is the last line.
func (r *Report) verdict() string {
	parts := []string{fmt.Sprintf("%d of %d checks ok", r.Count(OK), len(r.Checks))}
	for _, o := range []Outcome{Failed, Broken, NotRun} {
		var names []string
		for _, c := range r.Checks {
			if c.Outcome == o {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", len(names), o, strings.Join(names, ", ")))
		}
	}
	return fmt.Sprintf("%s, in %.1f s", strings.Join(parts, ", "), r.Seconds)
}

// pad fills a text with blanks to a width in characters.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
