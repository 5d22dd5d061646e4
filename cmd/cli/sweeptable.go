package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
)

// Bounds of the table of a sweep on the terminal; results.parquet has everything.
const (
	maxSweepRows    = 40
	maxSweepColumns = 6
	maxSweepCell    = 32
	maxSweepReasons = 5
)

// shownOfSweep returns the metrics that the table of a sweep shows: the key metrics, or the
// first of those that the user has chosen.
func shownOfSweep(metrics []string, chosen bool) []string {
	if chosen {
		return metrics[:min(len(metrics), maxSweepColumns)]
	}
	var shown []string
	for _, name := range keyMetrics {
		if slices.Contains(metrics, name) && len(shown) < maxSweepColumns {
			shown = append(shown, name)
		}
	}
	return shown
}

// writeSweep prints the medians of a sweep, a row for each variant at each point, and what is
// wrong with trials.
func writeSweep(w io.Writer, s *sweep.Summary) {
	variants := slices.ContainsFunc(s.Points, func(m sweep.Medians) bool { return m.Variant != s.Points[0].Variant })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"point"}
	head = append(head, s.Paths...)
	if variants {
		head = append(head, "variant")
	}
	head = append(append(head, "seeds"), s.Metrics...)
	fmt.Fprintln(t, cells(head))
	for i, m := range s.Points {
		if i == maxSweepRows {
			break
		}
		row := []string{fmt.Sprint(m.Point)}
		for _, value := range m.Values {
			if value == "" {
				value = "-"
			}
			row = append(row, value)
		}
		if variants {
			row = append(row, m.Variant)
		}
		seeds := fmt.Sprint(m.Seeds)
		if m.Invalid > 0 {
			seeds += fmt.Sprintf(" (%d invalid)", m.Invalid)
		}
		row = append(row, seeds)
		for _, name := range s.Metrics {
			value, ok := m.Metrics[name]
			row = append(row, spelling.Number(value, ok))
		}
		fmt.Fprintln(t, cells(row))
	}
	t.Flush() // cannot fail: text in memory
	if more := len(s.Points) - maxSweepRows; more > 0 {
		fmt.Fprintf(w, "… and %s; %s has them\n", spelling.Plural(more, "more row"), s.Results)
	}
	fmt.Fprintln(w, "\nMetrics are medians over the seeds.")
	if s.Failed > 0 {
		fmt.Fprintf(w, "In %s an expectation failed.\n", spelling.Plural(s.Failed, "trial"))
	}
	if s.Invalid > 0 {
		fmt.Fprintf(w, "INVALID: %s of %d; their rows have no numbers.\n", spelling.Plural(s.Invalid, "trial"), s.Done)
		for _, r := range s.Reasons[:min(len(s.Reasons), maxSweepReasons)] {
			fmt.Fprintf(w, "  point %d (%s), %s, seed %d: %s\n", r.Point, strings.Join(r.Set, ", "), r.Variant, r.Seed, strings.Join(r.Reasons, "; "))
		}
		if more := s.Invalid - maxSweepReasons; more > 0 {
			fmt.Fprintf(w, "  … and %d more; the column reason of %s has them\n", more, s.Results)
		}
	}
	fmt.Fprintln(w, "sweep  ", s.Folder)
	fmt.Fprintln(w, "results", s.Results)
}

// cells returns a row of a table. Long texts are cut in the middle, and what would break the
// table is left out.
func cells(row []string) string {
	for i, cell := range row {
		cell = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, cell)
		if runes := []rune(cell); len(runes) > maxSweepCell {
			const end = maxSweepCell/2 - 1
			cell = string(runes[:maxSweepCell-end-1]) + "…" + string(runes[len(runes)-end:])
		}
		row[i] = cell
	}
	return strings.Join(row, "\t")
}
