package sweep

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// Bounds of the table of a sweep on the terminal; results.parquet has everything.
const (
	maxRows    = 40
	maxColumns = 6
	maxCell    = 32
	maxReasons = 5
)

// Key returns the metrics that the table of a sweep shows of those that it has.
func Key(metrics []string) []string {
	var list []string
	for _, name := range measure.KeyMetrics() {
		if slices.Contains(metrics, name) && len(list) < maxColumns {
			list = append(list, name)
		}
	}
	return list
}

// First is as Key, where the user has chosen the metrics: key metrics come first, and those of single
// flows and ports last.
func First(metrics []string) []string {
	list := Key(metrics)
	for _, single := range []bool{false, true} {
		for _, name := range metrics {
			if len(list) < maxColumns && measure.Meaning(name).Single == single && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// Text returns the medians of a sweep as a table for a terminal, a row for each variant at each
// point, and what is wrong with trials.
func (s *Summary) Text() string {
	w := &strings.Builder{}
	variants := slices.ContainsFunc(s.Points, func(m Medians) bool { return m.Variant != s.Points[0].Variant })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"point"}
	head = append(head, s.Paths...)
	if variants {
		head = append(head, "variant")
	}
	head = append(append(head, "seeds"), s.Metrics...)
	fmt.Fprintln(t, cells(head))
	for i, m := range s.Points {
		if i == maxRows {
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
	if more := len(s.Points) - maxRows; more > 0 {
		fmt.Fprintf(w, "… and %s; %s has them\n", spelling.Plural(more, "more row"), s.Results)
	}
	fmt.Fprintln(w, "\nMetrics are medians over the seeds.")
	if s.Failed > 0 {
		fmt.Fprintf(w, "In %s an expectation failed.\n", spelling.Plural(s.Failed, "trial"))
	}
	if s.Invalid > 0 {
		fmt.Fprintf(w, "INVALID: %s of %d; their rows have no numbers.\n", spelling.Plural(s.Invalid, "trial"), s.Done)
		for _, r := range s.Reasons[:min(len(s.Reasons), maxReasons)] {
			fmt.Fprintf(w, "  point %d (%s), %s, seed %d: %s\n", r.Point, strings.Join(r.Set, ", "), r.Variant, r.Seed, strings.Join(r.Reasons, "; "))
		}
		if more := s.Invalid - maxReasons; more > 0 {
			fmt.Fprintf(w, "  … and %d more; the column reason of %s has them\n", more, s.Results)
		}
	}
	if s.long > 0 {
		fmt.Fprintf(w, "Parquet has too few columns for %d metrics: the table has a row for each metric of each trial.\n", s.long)
	}
	fmt.Fprintln(w, "sweep  ", s.Folder)
	fmt.Fprintln(w, "results", s.Results)
	return w.String()
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
		if runes := []rune(cell); len(runes) > maxCell {
			const end = maxCell/2 - 1
			cell = string(runes[:maxCell-end-1]) + "…" + string(runes[len(runes)-end:])
		}
		row[i] = cell
	}
	return strings.Join(row, "\t")
}
