package chart

import "math"

// Drawing is a list of marks of a size in user units, near to CSS pixels. The origin is the
// upper left corner; y grows downwards.
type Drawing struct {
	Width, Height float64
	Title, Desc   string // what it shows, for readers who do not see it
	Figure        string // ID of its Data, for the page's script; "" for none
	Plot          Area   // whose left and right edges are the ends of the x axis, and whose lower and upper ones those of the y axis; zero where the script needs no data
	Fabric        bool   // it is a drawing of a fabric, whose lines the script colours
	Crowded       bool   // a fabric of many lines
	Marks         []Mark
}

// Area is a rectangle in user units.
type Area struct{ X, Y, Width, Height float64 }

// Mark is something drawn: a *Path, *Rect, *Circle, *Text, *Cells or *Group.
type Mark interface{ tag() *Tag }

// Tag is what the page's script knows a mark by, and its tooltip. The zero value is none.
type Tag struct {
	Part   Part
	Series int    // its series in Data, from 1; 0 for none. The attribute counts from 0.
	Line   int    // its line in a fabric, from 1; 0 for none. The attribute counts from 0.
	Tip    string // the words of a tooltip; "" for none
}

func (t *Tag) tag() *Tag { return t }

// Part says what a mark is a part of.
type Part string

// Parts. Those from PartLink on are of fabrics; they are classes in SVG, others are the
// attribute data-part.
const (
	PartX      Part = "x"     // of the x axis
	PartShade  Part = "shade" // the span that is set off
	PartCells  Part = "cells" // cells over time
	PartSpans  Part = "spans" // spans above them
	PartLink   Part = "link"
	PartWay    Part = "way"
	PartMark   Part = "mark"
	PartBadge  Part = "badge"
	PartSwitch Part = "switch"
	PartHost   Part = "host"
)

// class reports whether the part is a class in SVG.
func (p Part) class() bool {
	switch p {
	case PartLink, PartWay, PartMark, PartBadge, PartSwitch, PartHost:
		return true
	}
	return false
}

// Style is how a shape is drawn.
type Style struct {
	Fill    Paint
	Stroke  Paint
	Weight  float64   // width of the stroke; 0 for 1
	Dashes  []float64 // of the stroke
	Opacity float64   // of the fill or, without one, of the stroke; 0 for 1
	Round   bool      // ends and corners of the stroke are round
	Fixed   bool      // the stroke keeps its width when the script stretches the mark
}

// Path is an outline.
type Path struct {
	Style
	Tag
	Outline
}

// Rect is a rectangle whose corners have a radius.
type Rect struct {
	Style
	Tag
	Area
	Radius float64
}

// Circle is a circle.
type Circle struct {
	Style
	Tag
	X, Y, Radius float64
}

// Anchor says where a text stands at its X.
type Anchor uint8

// Anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// Text is a line of text. Y is the middle of its letters.
type Text struct {
	Tag
	X, Y   float64
	Text   string
	Size   float64 // of letters; 0 for 11
	Paint  Paint   // None for Ink
	Bold   bool
	Anchor Anchor
	Rotate float64 // in degrees, clockwise about X, Y
	Halo   bool    // the ground shows around the letters
	Most   float64 // the width up to which it is shortened in its middle, with the whole as tooltip; 0 for no limit
}

// Cells is a matrix of levels. Neighbours in a row of the same level are drawn as one.
type Cells struct {
	Tag
	Area          // of all cells
	Rows, Columns int
	Level         func(row, column int) int // an index of Paints; less than 0 for an empty cell
	Paints        []Paint
}

// Group is marks that are moved and scaled together.
type Group struct {
	Tag
	X, Y  float64 // where its origin is
	Scale float64 // 0 for 1
	Marks []Mark
}

func (d *Drawing) add(marks ...Mark) { d.Marks = append(d.Marks, marks...) }

// line adds a stroke between two points.
func (d *Drawing) line(x1, y1, x2, y2 float64, style Style, tag Tag) {
	d.add(&Path{Style: style, Tag: tag, Outline: lineOf(x1, y1, x2, y2)})
}

func lineOf(x1, y1, x2, y2 float64) (o Outline) {
	o.Move(x1, y1)
	o.Line(x2, y2)
	return o
}

// Outline is the way of a pen: pieces of straight lines and curves. The zero value is empty.
type Outline struct {
	ops []op
	at  []float64 // two numbers for a move and a line, six for a curve
}

type op uint8

const (
	opMove op = iota
	opLine
	opCurve
	opClose
)

// Move begins a new piece at a place.
func (o *Outline) Move(x, y float64) { o.ops, o.at = append(o.ops, opMove), append(o.at, x, y) }

// Line goes straight to a place.
func (o *Outline) Line(x, y float64) { o.ops, o.at = append(o.ops, opLine), append(o.at, x, y) }

// Curve goes to x, y as a cubic Bézier curve of two control points.
func (o *Outline) Curve(x1, y1, x2, y2, x, y float64) {
	o.ops, o.at = append(o.ops, opCurve), append(o.at, x1, y1, x2, y2, x, y)
}

// Close goes straight to where the piece began.
func (o *Outline) Close() { o.ops = append(o.ops, opClose) }

// Empty reports whether the outline has no piece.
func (o *Outline) Empty() bool { return len(o.ops) == 0 }

// each calls f for each piece, with the end of the last of its points last.
func (o *Outline) each(f func(op op, p []float64)) {
	at := 0
	for _, op := range o.ops {
		n := [...]int{2, 2, 6, 0}[op]
		f(op, o.at[at:at+n])
		at += n
	}
}

// arc goes from an angle, clockwise from the top, over another one around a middle. It
// supposes that the pen is at its begin.
func (o *Outline) arc(x, y, radius, from, angle float64) {
	parts := max(1, int(math.Ceil(math.Abs(angle)/(math.Pi/2))))
	step := angle / float64(parts)
	k := 4.0 / 3 * math.Tan(step/4) * radius
	for i := range parts {
		s1, c1 := math.Sincos(from + step*float64(i))
		s2, c2 := math.Sincos(from + step*float64(i+1))
		x1, y1, x2, y2 := x+radius*s1, y-radius*c1, x+radius*s2, y-radius*c2
		o.Curve(x1+k*c1, y1+k*s1, x2-k*c2, y2-k*s2, x2, y2)
	}
}

// around returns a place at a radius around a middle, at an angle clockwise from the top.
func around(x, y, radius, angle float64) (float64, float64) {
	sin, cos := math.Sincos(angle)
	return x + radius*sin, y - radius*cos
}

// box adds a rectangle.
func (o *Outline) box(a Area) {
	r := polygon(a.X, a.Y, a.X+a.Width, a.Y, a.X+a.Width, a.Y+a.Height, a.X, a.Y+a.Height)
	o.ops, o.at = append(o.ops, r.ops...), append(o.at, r.at...)
}

// boxOf returns the outline of a rectangle.
func boxOf(a Area) (o Outline) {
	o.box(a)
	return o
}

// polygon returns a closed outline through points of x and y in turn.
func polygon(points ...float64) (o Outline) {
	for i := 0; i+1 < len(points); i += 2 {
		if i == 0 {
			o.Move(points[0], points[1])
			continue
		}
		o.Line(points[i], points[i+1])
	}
	o.Close()
	return o
}
