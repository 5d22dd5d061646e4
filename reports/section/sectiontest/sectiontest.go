// Package sectiontest reads run folders for one section, in tests.
package sectiontest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
)

// Read makes a section of a folder and all passes for it, and settles it. S is the type that
// the constructor returns, such as *rates.Section. A failure ends the test.
func Read[S section.Section](t testing.TB, f *runfolder.Folder, make section.New) (S, *reading.Reading) {
	t.Helper()
	r, err := reading.Open(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	s := make(r)
	if err := r.Survey(s); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	return s.(S), r
}

// JSON returns a section's numbers as text.
func JSON(t testing.TB, s section.Section) string {
	t.Helper()
	text, err := json.Marshal(s.Numbers())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Part returns the part of an ID, nil without.
func Part(parts []section.Part, id string) *section.Part {
	for i := range parts {
		if parts[i].ID == id {
			return &parts[i]
		}
	}
	return nil
}

// Text returns the tables of a part as text, those within folds too: a line for each heading,
// row and note, and a bar between cells.
func Text(p *section.Part) string {
	var b strings.Builder
	if p != nil {
		write(&b, p.Blocks)
	}
	return b.String()
}

func write(b *strings.Builder, blocks []section.Block) {
	for _, block := range blocks {
		switch block := block.(type) {
		case section.Paragraph:
			b.WriteString(string(block) + "\n")
		case section.List:
			b.WriteString(strings.Join(block, "\n") + "\n")
		case section.Code:
			b.WriteString(string(block) + "\n")
		case section.Fold:
			b.WriteString(block.Title + "\n")
			write(b, block.Blocks)
		case *section.Table:
			var names []string
			for _, c := range block.Columns {
				names = append(names, c.Name)
			}
			b.WriteString(strings.Join(names, " | ") + "\n")
			for _, r := range block.Rows {
				var cells []string
				for _, c := range r.Cells {
					cells = append(cells, c.Text)
				}
				b.WriteString(strings.Join(cells, " | ") + "\n")
			}
			for _, text := range []string{block.Note, block.Query} {
				if text != "" {
					b.WriteString(text + "\n")
				}
			}
		}
	}
}

// OverSeeds returns the lines that a chart of variants with three seeds each must have: at each
// point the value of the seed in the middle, and a band from the least to the greatest. values
// returns those of the records of one seed, a point each.
func OverSeeds(e *readingtest.Experiment, values func(*metrics.Batch) []float64, variants []string) (lines []chart.Line) {
	for i, variant := range variants {
		l := chart.Line{Name: variant, Look: chart.Nth(i)}
		var seeds [][]float64
		for _, n := range e.Records[variant] {
			seeds = append(seeds, values(n))
		}
		for k := range seeds[0] {
			at := []float64{seeds[0][k], seeds[1][k], seeds[2][k]}
			slices.Sort(at)
			l.X, l.Low, l.Y, l.High = append(l.X, (float64(k)+0.5)/10), append(l.Low, at[0]), append(l.Y, at[1]), append(l.High, at[2])
		}
		lines = append(lines, l)
	}
	return lines
}
