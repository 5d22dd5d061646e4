package chart

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"
)

// Format is a format of documents.
type Format string

// Formats.
const (
	SVG Format = "svg"
	PNG Format = "png"
	PDF Format = "pdf" // with its fonts; text is text
	PGF Format = "pgf" // for \input in a LaTeX document with \usepackage{pgf}; letters are those of the document
	CSV Format = "csv" // the numbers
)

// Formats are all formats.
var Formats = []Format{SVG, PNG, PDF, PGF, CSV}

// Write writes the figure as a document. Equal figures give equal bytes.
func (f *Figure) Write(to io.Writer, format Format, o Layout) error {
	var err error
	switch format {
	case SVG:
		s := f.compose(o)
		unit, k := "", 1.0
		if o.Size != Page {
			unit, k = "pt", s.points
		}
		err = s.document(to, s.palette, unit, k)
	case PNG:
		err = f.compose(o).png(to)
	case PDF:
		err = f.compose(o).pdf(to)
	case PGF:
		err = f.compose(o).pgf(to)
	case CSV:
		err = f.csv(to)
	default:
		err = fmt.Errorf("format %q: want one of %v", format, Formats)
	}
	if err != nil {
		return fmt.Errorf("figure %s: %w", f.ID, err)
	}
	return nil
}

// canvas draws in points from the upper left corner.
type canvas interface {
	// fill fills an outline (nonzero).
	fill(o *Outline, c color.NRGBA)
	stroke(o *Outline, c color.NRGBA, s *Style)
	// text writes a line whose baseline begins, ends or has its middle at x, y, as anchor says.
	text(t *Text, text string, c color.NRGBA)
}

var errLarge = errors.New("the drawing is too large")

// paint draws the sheet.
func (s *sheet) paint(c canvas) {
	if !s.bare {
		o := boxOf(Area{0, 0, s.Width * s.points, s.Height * s.points})
		c.fill(&o, s.palette.Colour(Paper))
	}
	p := &painter{canvas: c, palette: s.palette}
	p.marks(hatched(s.Marks, s.palette), 0, 0, s.points)
}

type painter struct {
	canvas
	palette *Palette
}

// marks draws marks that are moved, and then scaled.
func (p *painter) marks(marks []Mark, x, y, k float64) {
	for _, m := range marks {
		switch m := m.(type) {
		case *Group:
			p.marks(m.Marks, x+k*m.X, y+k*m.Y, k*cmp.Or(m.Scale, 1))
		case *Path:
			p.shape(m.Outline.placed(x, y, k), m.Style, k)
		case *Rect:
			o := m.outline()
			p.shape(o.placed(x, y, k), m.Style, k)
		case *Circle:
			var o Outline
			o.Move(m.X, m.Y-m.Radius)
			o.arc(m.X, m.Y, m.Radius, 0, 2*math.Pi)
			o.Close()
			p.shape(o.placed(x, y, k), m.Style, k)
		case *Cells:
			p.cells(m, x, y, k)
		case *Text:
			p.words(m, x, y, k)
		}
	}
}

func (p *painter) shape(o *Outline, s Style, k float64) {
	alpha := func(paint Paint, faint bool) color.NRGBA {
		c := p.palette.Colour(paint)
		if faint && s.Opacity > 0 && s.Opacity < 1 {
			c.A = uint8(math.Round(255 * s.Opacity))
		}
		return c
	}
	if s.Fill != None {
		p.fill(o, alpha(s.Fill, true))
	}
	if s.Stroke == None {
		return
	}
	s.Weight = cmp.Or(s.Weight, 1) * k
	dashes := make([]float64, len(s.Dashes))
	for i, d := range s.Dashes {
		dashes[i] = d * k
	}
	s.Dashes = dashes
	p.stroke(o, alpha(s.Stroke, s.Fill == None), &s)
}

// cells fills the runs of each paint at once.
func (p *painter) cells(c *Cells, x, y, k float64) {
	o := boxOf(c.Area)
	p.fill(o.placed(x, y, k), p.palette.Colour(Idle))
	outlines := make([]Outline, len(c.Paints))
	w, h := c.Width/float64(max(c.Columns, 1)), c.Height/float64(max(c.Rows, 1))
	const over = 0.1 // over the next one, so that no ground shows between
	c.runs(func(level, row, from, to int) {
		outlines[level].box(Area{c.X + w*float64(from), c.Y + h*float64(row), w*float64(to-from) + over, h + over})
	})
	for level := range outlines {
		if o := &outlines[level]; !o.Empty() {
			p.fill(o.placed(x, y, k), p.palette.Colour(c.Paints[level]))
		}
	}
}

func (p *painter) words(m *Text, x, y, k float64) {
	t := *m
	text, _ := m.shown()
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	t.Size = m.size() * k
	if m.Halo {
		wide := TextWidth(text, m.size(), m.Bold)
		box := Area{m.X - wide*[...]float64{0, 0.5, 1}[m.Anchor] - 2, m.Y - m.size()*0.55, wide + 4, m.size() * 1.1}
		o := boxOf(box)
		ground := p.palette.Colour(Paper)
		ground.A = 0xC8
		p.fill(o.placed(x, y, k), ground)
	}
	t.X, t.Y = x+k*m.X, y+k*m.Y
	// The baseline is below the middle, in the direction of the letters.
	sin, cos := math.Sincos(m.Rotate * math.Pi / 180)
	t.X, t.Y = t.X-sin*baseline*t.Size, t.Y+cos*baseline*t.Size
	p.text(&t, text, p.palette.Colour(m.paint()))
}

// outline returns the rectangle's edge.
func (r *Rect) outline() (o Outline) {
	a := r.Area
	round := min(r.Radius, a.Width/2, a.Height/2)
	if !(round > 0) {
		return boxOf(a)
	}
	right, bottom := a.X+a.Width, a.Y+a.Height
	o.Move(a.X+round, a.Y)
	o.Line(right-round, a.Y)
	o.arc(right-round, a.Y+round, round, 0, math.Pi/2)
	o.Line(right, bottom-round)
	o.arc(right-round, bottom-round, round, math.Pi/2, math.Pi/2)
	o.Line(a.X+round, bottom)
	o.arc(a.X+round, bottom-round, round, math.Pi, math.Pi/2)
	o.Line(a.X, a.Y+round)
	o.arc(a.X+round, a.Y+round, round, 3*math.Pi/2, math.Pi/2)
	o.Close()
	return o
}

// placed returns the outline scaled and moved. What is no number is 0.
func (o *Outline) placed(x, y, k float64) *Outline {
	at := make([]float64, len(o.at))
	for i, v := range o.at {
		if !finite(v) {
			v = 0
		}
		at[i] = x + k*v
		if i%2 == 1 {
			at[i] = y + k*v
		}
	}
	return &Outline{o.ops, at}
}

// glyphs returns a text with the letters that the font lacks replaced.
func glyphs(text string, bold bool) string {
	f := faceFor(bold)
	return strings.Map(func(r rune) rune {
		switch {
		case r < 128 || f.has(r):
			return r
		case r == '\u202f' || r == '\u2009':
			return '\u00a0'
		}
		return '□'
	}, text)
}
