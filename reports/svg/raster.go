package svg

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// maxPixels bounds the size of a picture.
const maxPixels = 64 << 20

// WritePNG writes the drawing as PNG with so many pixels for a user unit. Letters are
// those of Liberation Sans; a letter that it lacks is drawn as a box. The error names an
// element or a value that this package does not support.
func (d *Drawing) WritePNG(w io.Writer, scale float64) error {
	width, height := math.Ceil(d.Width*scale), math.Ceil(d.Height*scale)
	if !(scale > 0) || !(width*height <= maxPixels) {
		return fmt.Errorf("svg: a picture of %g by %g pixels is larger than this draws", width, height)
	}
	p := &painter{image: image.NewNRGBA(image.Rect(0, 0, int(width), int(height))), ids: map[string]*element{}}
	collectIDs(d.root, p.ids)
	if err := p.draw(d.root, nil, matrix{a: scale, d: scale}, 0); err != nil {
		return fmt.Errorf("svg: %w", err)
	}
	return png.Encode(w, p.image)
}

func collectIDs(e *element, ids map[string]*element) {
	if id := e.attr("id"); id != "" {
		ids[id] = e
	}
	for _, c := range e.children {
		collectIDs(c, ids)
	}
}

// painter draws on a picture.
type painter struct {
	image *image.NRGBA
	ids   map[string]*element
	r     vector.Rasterizer
}

// inherited are the properties that an element does not pass on.
var notInherited = []string{"opacity", "display"}

func (p *painter) draw(e *element, above style, m matrix, uses int) error {
	s := maps.Clone(above)
	if s == nil {
		s = style{}
	}
	for _, name := range notInherited {
		delete(s, name)
	}
	for _, name := range []string{"fill", "stroke", "stroke-width"} {
		if v := e.attr(name); v != "" {
			s[name] = v
		}
	}
	maps.Copy(s, e.style)
	if s["display"] == "none" {
		return nil
	}
	t, err := parseTransform(e.attr("transform"))
	if err != nil {
		return fmt.Errorf("<%s>: %w", e.name, err)
	}
	m = m.then(t)
	o := outline{fine: 2 / math.Max(m.zoom(), 1e-9)}
	v := values{e: e}
	switch e.name {
	case "title", "desc", "defs":
		return nil
	case "svg", "g":
		for _, c := range e.children {
			if err := p.draw(c, s, m, uses); err != nil {
				return err
			}
		}
		return nil
	case "use":
		of := p.ids[strings.TrimPrefix(e.attr("href"), "#")]
		if of == nil || uses == 4 {
			return fmt.Errorf("<use href=%q>: no such element, or a circle of them", e.attr("href"))
		}
		m = m.then(matrix{1, 0, 0, 1, v.number("x"), v.number("y")})
		return cmp.Or(v.err, p.draw(of, s, m, uses+1))
	case "text":
		x, y := v.number("x"), v.number("y")
		return cmp.Or(v.err, p.text(e.text, x, y, s, m))
	case "rect":
		o.rect(v.number("x"), v.number("y"), v.number("width"), v.number("height"), v.number("rx"))
	case "circle":
		o.circle(v.number("cx"), v.number("cy"), v.number("r"))
	case "line":
		o.move(point{v.number("x1"), v.number("y1")})
		o.to(point{v.number("x2"), v.number("y2")})
	case "path":
		if err := o.path(e.attr("d")); err != nil {
			return err
		}
	default:
		return fmt.Errorf("element <%s> is not supported", e.name)
	}
	return cmp.Or(v.err, p.paint(o.lines, s, m))
}

// values reads numbers of attributes.
type values struct {
	e   *element
	err error
}

func (v *values) number(name string) float64 {
	text := v.e.attr(name)
	if text == "" {
		return 0
	}
	n, err := length(text)
	if err != nil && v.err == nil {
		v.err = fmt.Errorf("<%s %s=%q>: want a number", v.e.name, name, text)
	}
	return n
}

// length reads a number of user units, which may end with px.
func length(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "px"), 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = strconv.ErrRange
	}
	return v, err
}

// zoom returns how much longer the matrix makes things, in the mean.
func (m matrix) zoom() float64 { return math.Sqrt(math.Abs(m.a*m.d - m.b*m.c)) }

// paint fills lines and draws along them.
func (p *painter) paint(lines []line, s style, m matrix) error {
	fill, err := paintOf(s, "fill", "black")
	if err != nil {
		return err
	}
	if fill.A > 0 {
		shapes := make([][]point, len(lines))
		for i, l := range lines {
			shapes[i] = l.points
		}
		p.fill(shapes, fill, m)
	}
	stroke, err := paintOf(s, "stroke", "none")
	if err != nil || stroke.A == 0 {
		return err
	}
	width, err := length(cmp.Or(s["stroke-width"], "1"))
	if err != nil {
		return fmt.Errorf("stroke-width %q", s["stroke-width"])
	}
	if width <= 0 {
		return nil
	}
	var dashes []float64
	if text := s["stroke-dasharray"]; text != "" && text != "none" {
		for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
			d, err := length(field)
			if err != nil || d <= 0 {
				return fmt.Errorf("stroke-dasharray %q", text)
			}
			dashes = append(dashes, d)
		}
	}
	k := stroker{width: width, cap: s["stroke-linecap"], fine: 2 / math.Max(m.zoom(), 1e-9)}
	for _, l := range lines {
		for _, piece := range dashed(l, dashes) {
			k.stroke(piece)
		}
	}
	p.fill(k.shapes, stroke, m)
	return nil
}

// fill fills shapes. Every shape counts in itself: one never makes a hole in another,
// unless the caller gives them in one outline (text).
func (p *painter) fill(shapes [][]point, c color.NRGBA, m matrix) { p.fillAll(shapes, c, m, true) }

func (p *painter) fillAll(shapes [][]point, c color.NRGBA, m matrix, turn bool) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	bounds := p.image.Bounds()
	placed := make([][]point, 0, len(shapes))
	for _, shape := range shapes {
		if len(shape) < 2 {
			continue
		}
		on := make([]point, len(shape))
		area := 0.0
		for i, q := range shape {
			q = m.apply(q)
			// A pixel beyond the edges is as good as any further out.
			q.x, q.y = min(max(q.x, -2), float64(bounds.Max.X)+2), min(max(q.y, -2), float64(bounds.Max.Y)+2)
			on[i] = q
			low.x, low.y, high.x, high.y = min(low.x, q.x), min(low.y, q.y), max(high.x, q.x), max(high.y, q.y)
		}
		for i := range on {
			next := on[(i+1)%len(on)]
			area += on[i].x*next.y - next.x*on[i].y
		}
		if turn && area < 0 {
			for i, j := 0, len(on)-1; i < j; i, j = i+1, j-1 {
				on[i], on[j] = on[j], on[i]
			}
		}
		placed = append(placed, on)
	}
	if len(placed) == 0 {
		return
	}
	x, y := math.Floor(low.x), math.Floor(low.y)
	w, h := int(math.Ceil(high.x)-x)+1, int(math.Ceil(high.y)-y)+1
	p.r.Reset(w, h)
	p.r.DrawOp = draw.Over
	for _, on := range placed {
		p.r.MoveTo(float32(on[0].x-x), float32(on[0].y-y))
		for _, q := range on[1:] {
			p.r.LineTo(float32(q.x-x), float32(q.y-y))
		}
		p.r.ClosePath()
	}
	p.r.Draw(p.image, image.Rect(int(x), int(y), int(x)+w, int(y)+h), image.NewUniform(c), image.Point{})
}

// paintOf returns the colour of a property, with its opacity.
func paintOf(s style, property, otherwise string) (color.NRGBA, error) {
	text := strings.TrimSpace(cmp.Or(s[property], otherwise))
	c := color.NRGBA{A: 255}
	switch {
	case text == "none" || text == "transparent":
		return color.NRGBA{}, nil
	case text == "black":
	case len(text) == 7 && text[0] == '#':
		n, err := strconv.ParseUint(text[1:], 16, 32)
		if err != nil {
			return c, fmt.Errorf("%s %q: want a colour", property, text)
		}
		c.R, c.G, c.B = uint8(n>>16), uint8(n>>8), uint8(n)
	default:
		return c, fmt.Errorf("%s %q: want a colour such as #1c2330, or none", property, text)
	}
	opacity := 1.0
	for _, name := range []string{property + "-opacity", "opacity"} {
		if v, ok := s[name]; ok {
			n, err := length(v)
			if err != nil {
				return c, fmt.Errorf("%s %q", name, v)
			}
			opacity *= min(max(n, 0), 1)
		}
	}
	c.A = uint8(math.Round(255 * opacity))
	return c, nil
}

var fonts = sync.OnceValues(func() (both [2]*sfnt.Font, err error) {
	for i, data := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		if both[i], err = sfnt.Parse(data); err != nil {
			return both, err
		}
	}
	return both, nil
})

// text draws a line of text.
func (p *painter) text(text string, x, y float64, s style, m matrix) error {
	both, err := fonts()
	if err != nil {
		return err
	}
	f := both[0]
	if weight := s["font-weight"]; weight == "bold" || weight == "700" || weight == "600" {
		f = both[1]
	}
	size, err := length(cmp.Or(s["font-size"], "16"))
	if err != nil {
		return fmt.Errorf("font-size %q", s["font-size"])
	}
	fill, err := paintOf(s, "fill", "black")
	if err != nil {
		return err
	}
	const em = 2048 // units of the outlines that are loaded
	var buffer sfnt.Buffer
	text = strings.TrimSpace(text)
	var glyphs []sfnt.GlyphIndex
	var places []float64
	width := 0.0
	for _, letter := range text {
		index, err := f.GlyphIndex(&buffer, letter)
		if err != nil {
			return err
		}
		advance, err := f.GlyphAdvance(&buffer, index, fixed.I(em), font.HintingNone)
		if err != nil {
			return err
		}
		glyphs, places = append(glyphs, index), append(places, width)
		width += float64(advance) / 64 / em * size
	}
	switch s["text-anchor"] {
	case "middle":
		x -= width / 2
	case "end":
		x -= width
	}
	switch s["dominant-baseline"] {
	case "central", "middle":
		y += 0.35 * size
	}
	unit := size / em / 64
	for i, glyph := range glyphs {
		segments, err := f.LoadGlyph(&buffer, glyph, fixed.I(em), nil)
		if err != nil {
			return err
		}
		at := func(q fixed.Point26_6) point {
			return point{x + places[i] + float64(q.X)*unit, y + float64(q.Y)*unit}
		}
		o := outline{fine: 1.5 / math.Max(m.zoom(), 1e-9)}
		for _, seg := range segments {
			switch seg.Op {
			case sfnt.SegmentOpMoveTo:
				o.move(at(seg.Args[0]))
			case sfnt.SegmentOpLineTo:
				o.to(at(seg.Args[0]))
			case sfnt.SegmentOpQuadTo:
				o.quad(at(seg.Args[0]), at(seg.Args[1]))
			case sfnt.SegmentOpCubeTo:
				o.cubic(at(seg.Args[0]), at(seg.Args[1]), at(seg.Args[2]))
			}
		}
		var shapes [][]point
		for _, l := range o.lines {
			shapes = append(shapes, l.points)
		}
		p.fillAll(shapes, fill, m, false) // the holes of letters turn the other way
	}
	return nil
}

// TextWidth returns the width of a line of text of a size, in user units, as WritePNG
// draws it.
func TextWidth(text string, size float64, bold bool) float64 {
	both, err := fonts()
	if err != nil {
		return 0
	}
	f := both[0]
	if bold {
		f = both[1]
	}
	const em = 2048
	var buffer sfnt.Buffer
	width := 0.0
	for _, letter := range text {
		index, err := f.GlyphIndex(&buffer, letter)
		if err != nil {
			continue
		}
		if advance, err := f.GlyphAdvance(&buffer, index, fixed.I(em), font.HintingNone); err == nil {
			width += float64(advance) / 64 / em * size
		}
	}
	return width
}
