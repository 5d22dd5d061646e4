package reports

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/reports/svg"
)

// This file exports what reports on other results than a run's are made of, such as those
// of package reports/regression: numbers, texts, the style of the page, and drawings.

// Missing is shown in place of a missing value.
const Missing = none

// Number prints a number with four significant digits, or all digits of its whole part
// when it has more; Missing if it is not finite.
func Number(v float64) string { return number(v) }

// ScaleOf returns the unit in which values of a unit are shown and what they are multiplied
// with: that of the greatest value. Units that have no others, such as packets, are kept.
func ScaleOf(unit string, values ...float64) (shown string, factor float64) {
	for _, scales := range [][]scale{scalesOfDelays, scalesOfRates, scalesOfSizes} {
		for _, given := range scales {
			if given.unit != unit {
				continue
			}
			greatest := 0.0
			for _, v := range values {
				if !math.IsInf(v, 0) && !math.IsNaN(v) {
					greatest = max(greatest, math.Abs(v)/given.factor)
				}
			}
			if greatest == 0 {
				return unit, 1
			}
			s := scaleFor(greatest, scales)
			return s.unit, s.factor / given.factor
		}
	}
	return unit, 1
}

// Plain returns a value whose texts are safe to show, as text of HTML, XML, Markdown and
// JSON that is escaped there: control characters, and those that change the direction of
// the text around them, are visible, and texts longer than 2,000 characters are cut. It
// returns v itself when all its texts are plain.
func Plain[T any](v *T) *T { return plain(v) }

// MostCharacters is how many characters a text has at most that Plain does not cut.
const MostCharacters = mostCharacters

// PlainText is Plain for one text.
func PlainText(text string) string { return plainText(text) }

// Shortened returns a text of at most so many runes, its beginning when it is longer.
func Shortened(text string, most int) string { return shortened(text, most) }

// MarkdownText returns a text with the characters escaped that Markdown would interpret. It
// is one line, and stands behind other characters of its line.
func MarkdownText(text string) string { return escape(text) }

// tame are names that need no protection in a code span.
var tame = lazy.Regexp(`^[\w./:+=,%()-]([\w ./:+=,%()-]*[\w./:+=,%()-])?$`)

// MarkdownCode returns a text as a code span, also in a table.
func MarkdownCode(text string) string {
	if tame().MatchString(text) {
		return "`" + text + "`"
	}
	return "<code>" + escape(text) + "</code>"
}

// Style returns the style sheet of the page.
func Style() template.CSS { return template.CSS(pageStyle) }

// ContentPolicy returns the content security policy of a page that loads nothing and runs
// no script.
func ContentPolicy() string { return contentPolicy("") }

// Pen draws a figure that follows the page's style sheet.
type Pen struct{ pen }

// NewPen returns a pen for a drawing of a size in user units, near to CSS pixels.
func NewPen(width, height float64) *Pen { return &Pen{pen{width: width, height: height}} }

// Put appends SVG. Numbers are rounded to a tenth.
func (p *Pen) Put(format string, args ...any) { p.put(format, args...) }

// Text writes a line of text with a class in at most so many user units. A longer one is
// cut in its middle and has the whole as its tooltip.
func (p *Pen) Text(class string, x, y, most float64, text string) { p.text(class, x, y, most, text) }

// SVG returns the drawing as an element of the page, with a name and a description for
// readers who do not see it.
func (p *Pen) SVG(title, description string) template.HTML {
	return p.svg(title, description, "", plotArea{})
}

// Table is a table of text. Every row has as many cells as there are columns.
type Table = table

// Column is a column of a Table.
type Column = column

// Cell is one cell of a Table. Its State is "", StateGood, StateWarn or StateBad.
type Cell = cell

// States of cells and of a page's verdict.
const (
	StateGood = stateGood
	StateWarn = stateWarn
	StateBad  = stateBad
)

// TableTemplate defines the template "table", which shows a Table.
func TableTemplate() string {
	text, err := pageParts.ReadFile("page/tables.tmpl")
	if err != nil {
		panic("reports: " + err.Error()) // it is embedded
	}
	first, _, _ := strings.Cut(string(text), `{{define "tables"}}`)
	return first
}

// FigureKey is an entry of a figure's legend: a colour of the page's style sheet, such as
// "--flow-0", and what it stands for.
type FigureKey struct{ Colour, Name string }

// FigurePanel is one drawing of a figure, such as Pen.SVG returns.
type FigurePanel struct {
	Title, Subtitle string
	SVG             template.HTML
}

// FigureOf is what a figure of its own is made of. Panels are in rows of so many columns, and
// all as wide as the widest.
type FigureOf struct {
	Title, Caption string
	Legend         []FigureKey
	Columns        int
	Panels         []FigurePanel
}

// Drawing returns the figure as a document of its own. Its texts must be plain; see
// PlainText.
func (f *FigureOf) Drawing(scheme svg.Scheme) (*svg.Drawing, error) {
	sheet, err := pageSheet()
	if err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	s := sketch{title: f.Title, caption: f.Caption, columns: f.Columns}
	for _, m := range f.Legend {
		s.legend = append(s.legend, mark{fmt.Sprintf(`<svg class="swatch" viewBox="0 0 26 12"><rect x="5" y="0" width="16" height="12" rx="2" style="fill:var(%s)"/></svg>`, m.Colour), m.Name})
	}
	for _, p := range f.Panels {
		s.panels = append(s.panels, part{p.Title, p.Subtitle, string(p.SVG)})
	}
	drawing, err := svg.Parse(s.compose(), sheet, scheme)
	if err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	return drawing, nil
}
