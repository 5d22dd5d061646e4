package phrases

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Arrow prints the name of a port, such as tor0-agg0, as "tor0 → agg0". One with several hyphens
// stays, as it does not say which of them is between the nodes.
func Arrow(port string) string {
	if strings.Count(port, "-") != 1 {
		return port
	}
	return strings.Replace(port, "-", " → ", 1)
}

// ToldFirst puts the rows of the variant that sentences are of first.
func ToldFirst(f *reading.Facts, t *section.Table) {
	slices.SortStableFunc(t.Rows, func(a, b section.Row) int {
		switch told := f.Told; {
		case a.Variant == b.Variant:
		case a.Variant == told:
			return -1
		case b.Variant == told:
			return 1
		}
		return 0
	})
}

// Same leaves out the columns of these names that have the same text in all rows, of which there
// are several, and says in the note what there is.
func Same(t *section.Table, names ...string) {
	for _, name := range names {
		at := slices.IndexFunc(t.Columns, func(c section.Column) bool { return c.Name == name })
		if len(t.Rows) < 2 || slices.ContainsFunc(t.Rows, func(r section.Row) bool { return r.Cells[at].Text != t.Rows[0].Cells[at].Text }) {
			continue
		}
		if text := t.Rows[0].Cells[at].Text; text != words.None {
			t.Note = strings.TrimSpace(t.Note + " " + name + " in all rows: " + text + ".")
		}
		t.Columns = slices.Delete(t.Columns, at, at+1)
		for i := range t.Rows {
			t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, at, at+1)
		}
	}
}
