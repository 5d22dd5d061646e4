package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
)

// Chart is data that draws itself. Draw makes a drawing of a width in user units: about 480 to
// 1200 for wide screens and papers, 390 for phones. Both methods leave the chart unchanged.
type Chart interface {
	Draw(width float64) *Drawing
	Data() *Data
}

// Widths of drawings on pages, in user units.
const (
	Whole  = 1200.0 // a panel over the whole page
	Half   = 590.0  // one of two panels beside each other
	Third  = 390.0  // one of three
	Narrow = 390.0  // on a phone
)

// Figure is panels with one title, legend and caption.
type Figure struct {
	ID      string // small letters, digits and hyphens; each once in a report
	Title   string
	Caption string
	Legend  []Key
	Columns int // panels beside each other on a wide screen; 0 for 1
	Panels  []Panel
}

// Panel is a chart of a figure.
type Panel struct {
	Title, Subtitle string
	Variant         string // the variant it shows; "" for none, or all
	Chart           Chart
	Width           float64 // of its drawing on wide screens; 0 for that of Columns
}

// columns returns how many panels stand beside each other.
func (f *Figure) columns() int { return max(1, min(f.Columns, len(f.Panels))) }

func (f *Figure) width(i int) float64 {
	if w := f.Panels[i].Width; w > 0 {
		return w
	}
	switch f.columns() {
	case 1:
		return Whole
	case 2:
		return Half
	}
	return Third
}

func (f *Figure) panelID(i int) string { return fmt.Sprintf("%s-%d", f.ID, i) }

// Data returns the numbers of the panels that the page's script knows the kind of, with IDs.
func (f *Figure) Data() (all []*Data) {
	for i := range f.Panels {
		if d := f.Panels[i].Chart.Data(); d != nil && d.Kind.scripted() {
			d.ID = f.panelID(i)
			all = append(all, d)
		}
	}
	return all
}

// SVG returns the drawing of the i-th panel at a width, for a page, with the ID of its data.
func (f *Figure) SVG(i int, width float64) template.HTML {
	d := f.Panels[i].Chart.Draw(width)
	d.Figure = f.panelID(i)
	return d.SVG()
}

// Key is an entry of a legend: a sample of a line, of a fill, or of a mark, and what it stands
// for. A key whose Name is that of a series becomes a button that hides and shows it.
type Key struct {
	Name   string
	Line   *Look   // a line; nil for none
	Fills  []Paint // boxes beside each other, of all of which it is the name
	Shade  float64 // opacity of the boxes; 0 for 1
	Height float64 // of the boxes; 0 for 12
	Text   string  // in the first box
	Sign   Sign    // a mark
}

// Sizes of swatches.
const swatchWidth, swatchHeight = 26.0, 12.0

// Swatch returns the sample, 26 by 12 user units, as an element of a page.
func (k *Key) Swatch() template.HTML {
	w := &svgWriter{colour: func(p Paint) string { return "var(" + p.Variable() + ")" }, page: true}
	w.b.WriteString(`<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true">`)
	w.marks(k.sample())
	w.b.WriteString("</svg>")
	return template.HTML(w.b.String())
}

// sample returns the marks of the swatch.
func (k *Key) sample() (marks []Mark) {
	height := cmp.Or(k.Height, swatchHeight)
	left, wide := 2.0, 22.0/float64(max(len(k.Fills), 1))
	for i, fill := range k.Fills {
		marks = append(marks, &Rect{Style: Style{Fill: fill, Opacity: k.Shade}, Area: Area{left + wide*float64(i), (swatchHeight - height) / 2, wide, height}, Radius: 1})
	}
	if k.Text != "" {
		paint := Ink
		if len(k.Fills) > 0 {
			paint = onPaint(k.Fills[0])
		}
		marks = append(marks, &Text{X: 13, Y: 6, Text: k.Text, Size: 10, Anchor: Middle, Paint: paint})
	}
	if k.Line != nil {
		marks = append(marks, &Path{Style: Style{Stroke: k.Line.Paint, Weight: max(k.Line.width(), 2.2), Dashes: k.Line.Dashes}, Outline: lineOf(0, 6, swatchWidth, 6)})
	}
	if k.Sign.Paint != None {
		marks = append(marks, k.Sign.at(13, 6))
	}
	return marks
}

// Shape is the shape of a sign, which tells signs apart without colour.
type Shape uint8

// Shapes.
const (
	Dot Shape = iota
	Hollow
	Square
	Diamond
	Bar // a thin upright line
)

// Sign is a small mark. That of the zero value is not drawn.
type Sign struct {
	Shape Shape
	Paint Paint
}

func (s Sign) at(x, y float64) Mark {
	style := Style{Fill: s.Paint, Stroke: Paper}
	switch s.Shape {
	case Square:
		return &Rect{Style: style, Area: Area{x - 4.5, y - 4.5, 9, 9}}
	case Diamond:
		return &Path{Style: style, Outline: polygon(x, y-5.5, x+5.5, y, x, y+5.5, x-5.5, y)}
	case Hollow:
		return &Circle{Style: Style{Fill: Paper, Stroke: s.Paint, Weight: 1.8}, X: x, Y: y, Radius: 4}
	case Bar:
		return &Path{Style: Style{Stroke: s.Paint, Weight: 2}, Outline: lineOf(x, y-6, x, y+6)}
	}
	return &Circle{Style: style, X: x, Y: y, Radius: 4.6}
}

// LineKey returns the key of a line.
func LineKey(name string, look Look) Key { return Key{Name: name, Line: &look} }

// FillKey returns the key of a fill.
func FillKey(name string, paint Paint) Key { return Key{Name: name, Fills: []Paint{paint}} }

// ScaleKeys returns the legend of the sequential scale: idle is the name of next to nothing,
// and name that of a part of the scale, between two shares from 0 to 1.
func ScaleKeys(idle string, name func(from, to float64) string) []Key {
	keys := []Key{FillKey(idle, Idle)}
	for l := 2; l <= Levels; l += 2 {
		keys = append(keys, Key{Name: name(float64(l-2)/Levels, float64(l)/Levels), Fills: []Paint{Scale(l - 1), Scale(l)}})
	}
	return keys
}

// ChangeKeys returns the legend of the diverging scale that ends at most: all its levels, two to
// an entry. The words follow a range and its unit, as in "10 to 20 % less in B".
func ChangeKeys(most float64, unit, less, more string) (keys []Key) {
	// key returns the entry of a level of one side, and of the next one towards the middle.
	key := func(level, side int, words string) Key {
		k := Key{Fills: []Paint{Change(side * level)}}
		if level > 1 {
			k.Fills = []Paint{Change(side * level), Change(side * (level - 1))}
		}
		if side > 0 {
			slices.Reverse(k.Fills) // weak ones are nearer to the middle
		}
		k.Name = fmt.Sprintf("%s to %s %s", number(most*float64(max(level-2, 0))/Changes), quantity(most*float64(level)/Changes, unit), words)
		return k
	}
	for l := Changes; l > 0; l -= 2 {
		keys = append(keys, key(l, -1, less))
	}
	keys = append(keys, FillKey("no difference", Idle))
	for l := 1; l <= Changes; l += 2 {
		keys = append(keys, key(l, 1, more))
	}
	return keys
}
