// Package page renders reports: a Document, which consists of a first screen and of parts
// (package reports/section), as one offline HTML file or as Markdown. It computes and words
// nothing of a run. Texts are escaped here; package reports/words makes the characters
// visible that a reader would not see.
package page

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/section"
)

// Document is a report.
type Document struct {
	Title string
	About []string // lines below the title
	// Banner is the verdict in short. Without a headline there is none.
	Banner Banner
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

// Banner is the verdict in short: a state, a headline without its full stop, and reasons.
type Banner struct {
	State    section.State // Good, Warn or Bad
	Headline string
	Reasons  []string // sentences
}

// Mark returns a sign for the state that does not depend on colour.
func (b *Banner) Mark() string {
	switch b.State {
	case section.Good:
		return "✓"
	case section.Warn:
		return "!"
	}
	return "✗"
}

// Picture is a figure of the first screen. Variants that a reader chooses hide none of its
// panels, only series.
type Picture struct {
	*chart.Figure
	// Marks are what the numbers in the drawing stand for, from 1.
	Marks []Mark
	// Map colours the links of a drawing of the fabric over time. It is nil without.
	Map *Map
}

// Mark is what a number in a drawing stands for.
type Mark struct{ Name, Value string }

// Map has the load of links over time. Without script the page shows the drawing alone.
type Map struct {
	Lines      []string      `json:"lines"` // names, in the order of the drawing's data-line
	Variants   []MapVariant  `json:"variants"`
	Quantities []MapQuantity `json:"quantities"` // what links can be coloured by
	// Keys are the swatches of its legend; the script writes the texts of the quantity.
	Keys []chart.Key `json:"-"`
}

// MapVariant has the values of a variant.
type MapVariant struct {
	Name  string  `json:"name"`
	BinUS float64 `json:"binUs"` // width of a bin in µs
	Bins  int     `json:"bins"`
	// Values has for each quantity a byte for each line and bin, line after line, in base64:
	// per cent, or 255 for no value. It is "" for a quantity that the variant lacks.
	Values []string `json:"values"`
}

// MapQuantity is what links can be coloured by.
type MapQuantity struct {
	Name   string   `json:"name"`
	Verb   string   `json:"verb"`          // after a value in per cent
	Low    bool     `json:"low,omitempty"` // small values are the dark ones
	Legend []string `json:"legend"`        // of no or nearly no colour, then of each pair of levels
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
