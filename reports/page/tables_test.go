package page

import (
	"fmt"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Columns of numbers are sorted by value, in whatever units and with whatever separators, and
// names with numbers in their order; cells without a number come last.
func TestSortedByValue(t *testing.T) {
	checkout.SkipSlowRace(t)
	values := []string{"9.5", words.Number(12345.6), words.Number(0.0123), "–", "99.9", words.Number(-3.5), "100"}
	times := []string{"1.2\u00a0ms", "900\u00a0µs", "2\u00a0s (3)", "30\u00a0ns", "–", "1\u00a0µs", "5\u00a0ms"}
	table := &section.Table{Label: "Values", Columns: []section.Column{{Name: "Name"}, {Name: "Value", Number: true}, {Name: "Time", Number: true}}}
	for i := range values {
		table.Rows = append(table.Rows, section.Row{Cells: []section.Cell{{Text: fmt.Sprintf("b%d", 12-i)}, {Text: values[i]}, {Text: times[i]}}})
	}
	ctx := browsertest.Tab(t)
	h := hand{ctx, t}
	page := written(t, &Document{Parts: []section.Part{{ID: "p", Title: "P", Level: section.Plain, Blocks: []section.Block{table}}}})
	browsertest.Look(ctx, t, page, "screen", "light", 1400)
	for column, want := range [][]string{
		{"b6", "b7", "b8", "b9", "b10", "b11", "b12"},
		{values[5], values[2], "9.5", "99.9", "100", values[1], "–"},
		{times[3], times[5], times[1], times[0], times[6], times[2], "–"},
	} {
		h.click(fmt.Sprintf(`document.querySelector('#p thead').rows[0].cells[%d].firstChild`, column))
		if got := read[[]string](h, fmt.Sprintf(`[...document.querySelectorAll('#p tbody tr')].map(r => r.cells[%d].textContent)`, column)); !slices.Equal(got, want) {
			t.Errorf("column %d: %q, want %q", column, got, want)
		}
	}
}
