package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
)

// SVG returns the drawing as an element of a page, whose colours are the page's variables. Its
// script finds marks by their tags.
func (d *Drawing) SVG() template.HTML {
	w := &svgWriter{colour: func(p Paint) string { return "var(" + p.Variable() + ")" }, page: true}
	class := "chart"
	if d.Fabric {
		class += " fabric"
	}
	if d.Crowded {
		class += " crowded"
	}
	fmt.Fprintf(&w.b, `<svg class="%s" viewBox="0 0 %s %s" xmlns="http://www.w3.org/2000/svg" role="img"`, class, tenth(d.Width), tenth(math.Ceil(d.Height)))
	if d.Figure != "" && d.Plot != (Area{}) {
		fmt.Fprintf(&w.b, ` data-figure="%s" data-plot="%.5g %.5g %.5g %.5g"`, escape(d.Figure), d.Plot.X, d.Plot.Y, d.Plot.Width, d.Plot.Height)
	}
	w.b.WriteByte('>')
	w.titles(d)
	group := [2]string{"<g>", "</g>"} // the script puts what it draws of a span beside the marks, in a group of its own
	if d.Fabric {
		group = [2]string{} // it sorts the links, which are children of the drawing
	}
	w.b.WriteString(group[0])
	w.marks(d.Marks)
	w.b.WriteString(group[1] + "</svg>")
	return template.HTML(w.b.String())
}

// document writes the drawing as a document of its own with the colours of a palette. Its size
// is in units of a name, of which there are k in a user unit.
func (d *Drawing) document(to io.Writer, palette *Palette, unit string, k float64) error {
	w := &svgWriter{colour: func(p Paint) string { return hex(palette.Colour(p)) }}
	fmt.Fprintf(&w.b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<svg xmlns="http://www.w3.org/2000/svg" width="%s%s" height="%s%[2]s" viewBox="0 0 %[4]s %[5]s" role="img" style="font-family:Arial,Helvetica,'Liberation Sans',sans-serif">`,
		tenth(d.Width*k), unit, tenth(math.Ceil(d.Height)*k), tenth(d.Width), tenth(math.Ceil(d.Height)))
	w.titles(d)
	fmt.Fprintf(&w.b, `<rect width="100%%" height="100%%" fill="%s"/>`, w.colour(Paper))
	w.marks(hatched(d.Marks, palette))
	w.b.WriteString("</svg>\n")
	_, err := to.Write(w.b.Bytes())
	return err
}

type svgWriter struct {
	b      bytes.Buffer
	colour func(Paint) string
	page   bool // with what its script needs, and tooltips
}

func (w *svgWriter) titles(d *Drawing) {
	fmt.Fprintf(&w.b, "<title>%s</title><desc>%s</desc>", escape(clip(d.Title)), escape(d.Desc))
}

func escape(text string) string { return html.EscapeString(strings.Map(visible, text)) }

// tenth prints a number rounded to a tenth.
func tenth(v float64) string { return string(appendTenths(nil, tenths(v))) }

// tenths returns the number of tenths of a value. What is no number is 0.
func tenths(v float64) int {
	if !finite(v) {
		return 0
	}
	return int(math.Round(min(max(v, -1e8), 1e8) * 10))
}

func appendTenths(b []byte, t int) []byte {
	if t < 0 {
		b, t = append(b, '-'), -t
	}
	if t >= 10 || t == 0 {
		b = strconv.AppendInt(b, int64(t/10), 10)
	}
	if t%10 != 0 {
		b = append(b, '.', byte('0'+t%10))
	}
	return b
}

// marks writes marks. Runs of equal style share a group.
func (w *svgWriter) marks(marks []Mark) {
	for from := 0; from < len(marks); {
		style := w.styleOf(marks[from])
		to := from + 1
		if shared(marks[from]) {
			for to < len(marks) && shared(marks[to]) && w.styleOf(marks[to]) == style {
				to++
			}
		}
		group := to-from > 1 && style != ""
		if group {
			fmt.Fprintf(&w.b, `<g style="%s">`, style)
			style = ""
		}
		for _, m := range marks[from:to] {
			w.mark(m, style)
		}
		if group {
			w.b.WriteString("</g>")
		}
		from = to
	}
}

// shared reports whether a mark may stand in a group: the script finds others on their own.
func shared(m Mark) bool {
	if t := m.tag(); t.Part != "" || t.Series != 0 || t.Line != 0 {
		return false
	}
	switch m.(type) {
	case *Group, *Cells:
		return false
	}
	return true
}

func (w *svgWriter) styleOf(m Mark) string {
	switch m := m.(type) {
	case *Path:
		return w.style(&m.Style)
	case *Rect:
		return w.style(&m.Style)
	case *Circle:
		return w.style(&m.Style)
	case *Text:
		return w.textStyle(m)
	}
	return ""
}

func (w *svgWriter) style(s *Style) string {
	var b strings.Builder
	put := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte(';')
		}
		b.WriteString(name + ":" + value)
	}
	if s.Fill == None {
		put("fill", "none")
	} else {
		put("fill", w.colour(s.Fill))
		if s.Opacity > 0 && s.Opacity < 1 {
			put("fill-opacity", short(s.Opacity))
		}
	}
	if s.Stroke != None {
		put("stroke", w.colour(s.Stroke))
		if s.Weight != 0 && s.Weight != 1 {
			put("stroke-width", short(s.Weight))
		}
		if len(s.Dashes) > 0 {
			put("stroke-dasharray", dashArray(s.Dashes))
		}
		if s.Fill == None && s.Opacity > 0 && s.Opacity < 1 {
			put("stroke-opacity", short(s.Opacity))
		}
		if s.Round {
			put("stroke-linejoin", "round;stroke-linecap:round")
		}
		if s.Fixed {
			put("vector-effect", "non-scaling-stroke")
		}
	}
	return b.String()
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// dashArray returns dashes as SVG has them, "" for none.
func dashArray(dashes []float64) string {
	var all []string
	for _, d := range dashes {
		all = append(all, short(d))
	}
	return strings.Join(all, " ")
}

func (w *svgWriter) textStyle(t *Text) string {
	s := "fill:" + w.colour(t.paint()) + ";font-size:" + tenth(t.size()) + "px"
	if t.Bold {
		s += ";font-weight:700"
	}
	if t.Anchor != Start {
		s += ";text-anchor:" + [...]string{"start", "middle", "end"}[t.Anchor]
	}
	if t.Halo {
		s += ";paint-order:stroke;stroke:" + w.colour(Paper) + ";stroke-width:3px"
	}
	return s
}

func (t *Text) paint() Paint  { return cmp.Or(t.Paint, Ink) }
func (t *Text) size() float64 { return cmp.Or(t.Size, textSize) }

// shown returns the text as it is drawn, and its tooltip.
func (t *Text) shown() (text, tip string) {
	text = clip(t.Text)
	if t.Most > 0 {
		text = Shorten(t.Text, t.Most, t.size(), t.Bold)
	}
	tip = t.Tip
	if tip == "" && text != t.Text {
		tip = t.Text
	}
	return text, tip
}

// baseline is how far below the middle of letters their baseline is, in heights of letters.
const baseline = 0.35

func (w *svgWriter) mark(m Mark, style string) {
	switch m := m.(type) {
	case *Path:
		w.open("path", &m.Tag, style)
		w.b.WriteString(` d="`)
		w.b.Write(m.appendSVG(nil, m.Part == PartShade)) // the script reads the places of its corners
		w.b.WriteByte('"')
		w.shut("path", m.Tip)
	case *Rect:
		w.open("rect", &m.Tag, style)
		fmt.Fprintf(&w.b, ` x="%s" y="%s" width="%s" height="%s"`, tenth(m.X), tenth(m.Y), tenth(max(m.Width, 0)), tenth(max(m.Height, 0)))
		if m.Radius > 0 {
			fmt.Fprintf(&w.b, ` rx="%s"`, tenth(m.Radius))
		}
		w.shut("rect", m.Tip)
	case *Circle:
		w.open("circle", &m.Tag, style)
		fmt.Fprintf(&w.b, ` cx="%s" cy="%s" r="%s"`, tenth(m.X), tenth(m.Y), tenth(m.Radius))
		w.shut("circle", m.Tip)
	case *Text:
		w.text(m, style)
	case *Cells:
		w.cells(m)
	case *Group:
		w.open("g", &m.Tag, "")
		if m.X != 0 || m.Y != 0 || m.Scale != 0 && m.Scale != 1 {
			fmt.Fprintf(&w.b, ` transform="translate(%s %s)`, tenth(m.X), tenth(m.Y))
			if m.Scale != 0 && m.Scale != 1 {
				fmt.Fprintf(&w.b, " scale(%.4g)", m.Scale)
			}
			w.b.WriteByte('"')
		}
		w.b.WriteByte('>')
		w.tip(m.Tip)
		w.marks(m.Marks)
		w.b.WriteString("</g>")
	}
}

// open begins an element with the attributes of its tag and its style.
func (w *svgWriter) open(name string, t *Tag, style string) {
	w.b.WriteString("<" + name)
	if w.page {
		switch {
		case t.Part.class():
			fmt.Fprintf(&w.b, ` class="%s"`, t.Part)
		case t.Part != "":
			fmt.Fprintf(&w.b, ` data-part="%s"`, t.Part)
		}
		if t.Series > 0 {
			fmt.Fprintf(&w.b, ` data-series="%d"`, t.Series-1)
		}
		if t.Line > 0 {
			fmt.Fprintf(&w.b, ` data-line="%d"`, t.Line-1)
		}
	}
	switch {
	case style == "":
	case t.Part == PartLink && w.page: // attributes: the script sets the style, and takes it back
		w.b.WriteString(" " + styleAttributes.Replace(style) + `"`)
	default:
		w.b.WriteString(` style="` + style + `"`)
	}
}

var styleAttributes = strings.NewReplacer(":", `="`, ";", `" `)

func (w *svgWriter) shut(name, tip string) {
	if !w.page || tip == "" {
		w.b.WriteString("/>")
		return
	}
	w.b.WriteByte('>')
	w.tip(tip)
	w.b.WriteString("</" + name + ">")
}

func (w *svgWriter) tip(tip string) {
	if w.page && tip != "" {
		w.b.WriteString("<title>" + escape(clip(tip)) + "</title>")
	}
}

func (w *svgWriter) text(t *Text, style string) {
	text, tip := t.shown()
	w.open("text", &t.Tag, style)
	if t.Rotate != 0 {
		fmt.Fprintf(&w.b, ` transform="translate(%s %s) rotate(%s)" y="%s"`, tenth(t.X), tenth(t.Y), short(t.Rotate), tenth(baseline*t.size()))
	} else {
		fmt.Fprintf(&w.b, ` x="%s" y="%s"`, tenth(t.X), tenth(t.Y+baseline*t.size()))
	}
	w.b.WriteByte('>')
	w.tip(tip)
	w.b.WriteString(escape(text) + "</text>")
}

// cells writes one path for each paint, as wide lines in a group that is stretched to a unit a
// cell.
func (w *svgWriter) cells(c *Cells) {
	paths := make([][]byte, len(c.Paints))
	at := make([][2]int, len(c.Paints)) // where the path of a paint stands
	c.runs(func(level, row, from, to int) {
		b := append(paths[level], 'm')
		b = strconv.AppendInt(b, int64(from-at[level][0]), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(row-at[level][1]), 10)
		b = append(b, 'h')
		paths[level] = strconv.AppendInt(b, int64(to-from), 10)
		at[level] = [2]int{to, row}
	})
	w.open("g", &c.Tag, "")
	height := c.Height / float64(max(c.Rows, 1))
	fmt.Fprintf(&w.b, `><rect style="fill:%s" x="%s" y="%s" width="%s" height="%s"/>`, w.colour(Idle), tenth(c.X), tenth(c.Y), tenth(c.Width), tenth(c.Height))
	class := ""
	if w.page {
		class = ` class="cells"`
	}
	fmt.Fprintf(&w.b, `<g%s style="fill:none;stroke-width:1;shape-rendering:crispEdges" transform="translate(%.2f %.2f) scale(%.4f %.4f)">`, class, c.X, c.Y+height/2, c.Width/float64(max(c.Columns, 1)), height)
	for level, path := range paths {
		if path != nil {
			fmt.Fprintf(&w.b, `<path style="stroke:%s" d="M0 0%s"/>`, w.colour(c.Paints[level]), path)
		}
	}
	w.b.WriteString("</g></g>")
}

// runs calls f for each run of cells of a level in a row. Those of the colour of the ground
// are left out.
func (c *Cells) runs(f func(level, row, from, to int)) {
	for row := range c.Rows {
		for from := 0; from < c.Columns; {
			level := c.Level(row, from)
			to := from + 1
			for to < c.Columns && c.Level(row, to) == level {
				to++
			}
			if level >= 0 && level < len(c.Paints) && c.Paints[level] != Idle {
				f(level, row, from, to)
			}
			from = to
		}
	}
}

// appendSVG appends the outline as the d of a path: relative steps between places rounded to a
// tenth, or absolute places.
func (o *Outline) appendSVG(b []byte, absolute bool) []byte {
	x, y, last := 0, 0, byte(0)
	var begin [2]int
	pair := func(dx, dy int, first bool) {
		if !first && dx >= 0 {
			b = append(b, ' ')
		}
		b = appendTenths(b, dx)
		if dy >= 0 {
			b = append(b, ' ')
		}
		b = appendTenths(b, dy)
	}
	command := func(c byte) (first bool) {
		if c == last && c != 'h' && c != 'v' {
			return false
		}
		b, last = append(b, c), c
		return true
	}
	o.each(func(kind op, p []float64) {
		if kind == opClose {
			b, last = append(b, 'z'), 0
			x, y = begin[0], begin[1]
			return
		}
		nx, ny := tenths(p[len(p)-2]), tenths(p[len(p)-1])
		switch {
		case absolute:
			last = 0
			command(map[op]byte{opMove: 'M', opLine: 'L'}[kind])
			pair(nx, ny, true)
		case kind == opMove:
			last = 0
			command('m')
			pair(nx-x, ny-y, true)
			begin = [2]int{nx, ny}
			last = 'l' // lines follow without a letter
		case kind == opCurve:
			first := command('c')
			for i := 0; i < 6; i += 2 {
				pair(tenths(p[i])-x, tenths(p[i+1])-y, first && i == 0)
			}
		case ny == y:
			command('h')
			b = appendTenths(b, nx-x)
		case nx == x:
			command('v')
			b = appendTenths(b, ny-y)
		default:
			pair(nx-x, ny-y, command('l'))
		}
		x, y = nx, ny
	})
	return b
}
