// Package page renders reports: a Document, which consists of a first screen and of parts
// (package reports/section), as one offline HTML file or as Markdown. It computes and words
// nothing of a run. Texts are escaped here; package reports/words makes the characters
// visible that a reader would not see.
package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/section"
)

// Document is a report.
type Document struct {
	Title string
	About []string // lines below the title
	// Banner is the verdict in short. Without a headline there is none.
	Banner section.Banner
	// Story is what came out, in sentences: the answer, then why, then the price.
	Story []string
	// First are the pictures of the first screen, side by side: at most the fabric, which is
	// the figure of ID "fabric", and the main figure. Their anchors are "fabric" and "main".
	First []Picture
	// Notes are what a reader of the results should know.
	Notes []string
	// Parts are rendered in the order of their levels.
	Parts []section.Part
	// Variants are the names that readers choose by. Fewer than two are no choice.
	Variants []string
}

// Picture is a figure of the first screen. Variants that a reader chooses hide none of its
// panels, only series.
type Picture struct {
	*chart.Figure
	// Marks are what the numbers in the drawing stand for, from 1.
	Marks []section.Mark
	// Map colours the links of a drawing of the fabric over time. It is nil without.
	Map *chart.Map
}

// ordered returns the parts that have something to show: those that are open by their
// levels, and the quiet ones.
func (d *Document) ordered() (open, quiet []section.Part) {
	for _, p := range d.Parts {
		switch {
		case p.Says == "" && !slices.ContainsFunc(p.Blocks, shows):
		case p.Level > section.Quiet:
			open = append(open, p)
		default:
			quiet = append(quiet, p)
		}
	}
	slices.SortStableFunc(open, func(a, b section.Part) int { return cmp.Compare(b.Level, a.Level) })
	return open, quiet
}

// shows reports whether there is something to see of a block.
func shows(b section.Block) bool {
	switch b := b.(type) {
	case section.Paragraph:
		return b != ""
	case section.List:
		return len(b) > 0
	case *section.Table:
		return b != nil && len(b.Rows) > 0
	case *chart.Figure:
		return b != nil && len(b.Panels) > 0
	case section.Fold:
		return slices.ContainsFunc(b.Blocks, shows)
	}
	return true
}

// Figures returns the figures in the order of the page. Their IDs are fit for names of files,
// each once.
func (d *Document) Figures() (figures []*chart.Figure) {
	seen := map[string]int{}
	add := func(f *chart.Figure) {
		own := *f
		if seen[f.ID]++; seen[f.ID] > 1 {
			own.ID = fmt.Sprintf("%s-%d", f.ID, seen[f.ID])
			seen[own.ID]++
		}
		figures = append(figures, &own)
	}
	for i := range d.First {
		f := d.First[i].Figure
		if marks := d.First[i].Marks; len(marks) > 0 {
			own := *f
			var texts []string
			for k, m := range marks {
				texts = append(texts, fmt.Sprintf("%d: %s, %s.", k+1, m.Name, m.Value))
			}
			own.Caption = strings.TrimSpace(own.Caption + " " + strings.Join(texts, " "))
			f = &own
		}
		add(f)
	}
	var blocks func([]section.Block)
	blocks = func(list []section.Block) {
		for _, b := range list {
			switch b := b.(type) {
			case *chart.Figure:
				if b != nil {
					add(b)
				}
			case section.Fold:
				blocks(b.Blocks)
			}
		}
	}
	for i := range d.Parts {
		blocks(d.Parts[i].Blocks)
	}
	return figures
}
