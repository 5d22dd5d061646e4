package regression

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/words"
)

// Text writes the verdict for a terminal, the outcome first. Errors of the writer are
// ignored.
func Text(w io.Writer, d *verdict.Document) {
	v := newView(d)
	fmt.Fprintf(w, "%s: %s.\n", strings.ToUpper(word(v.outcome)), v.headline())
	for _, reason := range v.ended() {
		fmt.Fprintf(w, "  %s\n", reason)
	}
	for _, e := range v.invalid {
		for _, reason := range e.why() {
			fmt.Fprintf(w, "  %s: %s\n", e.name, reason)
		}
	}
	v.textTable(w, "Worse", v.failed, func(m *metric) string {
		switch {
		case m.Reason == "":
			return "p " + m.probability()
		case math.IsNaN(m.worse):
			return m.Reason
		}
		return "p " + m.probability() + "; " + m.Reason
	})
	v.textTable(w, "Undecided, and what would decide it", v.open, (*metric).deciding)
	if len(v.changed) > 0 {
		fmt.Fprint(w, "\nChanged, but not worse:\n")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, e := range v.changed {
			name, change, allowed := e.movement()
			if allowed != "" {
				allowed = "allowed " + allowed
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", e.name, e.differing(), name, change, allowed)
		}
		t.Flush() // its errors are the writer's
	}
	if n := len(v.better); n > 0 {
		fmt.Fprintf(w, "\n%s got better; the most: %s of %s, %s.\n", spelling.Plural(n, "metric"), v.better[0].Name, v.better[0].experiment.name, v.better[0].direction())
	}
	if list := v.commands(); len(list) > 0 {
		fmt.Fprintln(w, "\nReproduce:")
		for _, e := range list {
			fmt.Fprintf(w, "  %s\n", e.Reproduce)
		}
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range v.experiments {
		e := &v.experiments[i]
		state := spelling.Plural(len(e.metrics), "metric")
		for _, more := range []string{e.about(), e.differing()} {
			if more != "" {
				state += ", " + more
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", strings.ToUpper(word(e.outcome)), e.name, spelling.Plural(len(e.Seeds), "seed"), duration(e.Seconds), state)
	}
	t.Flush() // its errors are the writer's
	fmt.Fprintln(w)
	for _, f := range v.setup() {
		fmt.Fprintf(w, "%s: %s%s\n", f.Name, f.Code, f.More)
	}
	if v.ended() == nil {
		for _, text := range v.Notes {
			fmt.Fprintf(w, "note: %s\n", text)
		}
	}
}

// textTable writes metrics below each other.
func (v *view) textTable(w io.Writer, title string, list []*metric, sure func(*metric) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, m := range list {
		between := ""
		if m.between() != words.None {
			between = m.between() + " (" + share(v.Design.Confidence) + ")"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\tallowed %s\t%s\t%s\n", m.experiment.name, m.Name, m.change(m.worse), between, m.allowed(), m.values(), sure(m))
	}
	t.Flush() // its errors are the writer's
}
