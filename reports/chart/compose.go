package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/csiglab/csiglab/reports/words"
)

// Layout says how a figure becomes a document. The zero value is the figure as a page has it,
// with its title and caption, in Light.
type Layout struct {
	Size     Size
	FontSize float64  // of common text in points; 0 for 8, on slides 9 to 12. Pages have 8.25. Given, all letters of a slide but its title's have it.
	Palette  *Palette // nil for Light on pages and slides, and Print in columns
	Titled   bool     // with title and caption in columns, too
}

// Size is the width of a document.
type Size uint8

// Sizes.
const (
	Page       Size = iota // as wide as on a page
	OneColumn              // 88 mm, one column of a paper of two
	TwoColumns             // 181 mm, both
	Slide                  // 254 mm, 16:9
)

// millimetre is its length in points.
const millimetre = 72 / 25.4

// sheet is a figure as one drawing, and the points of a user unit.
type sheet struct {
	*Drawing
	points  float64
	palette *Palette
	bare    bool    // the ground is the paper's own
	dots    float64 // pixels of a point in PNG: 300 to the inch, of slides 1920 in all, of pages two for a user unit
}

// Measures of sheets, in user units.
const (
	sheetMargin = 16.0
	sheetGap    = 18.0
	sheetTitle  = 17.0 // heights of letters
	sheetText   = 12.0
	leading     = 1.35
	sheetLeast  = 420.0
)

// compose places title, legend, panels and caption below each other.
func (f *Figure) compose(o Layout) *sheet {
	s := &sheet{palette: o.Palette}
	if s.palette == nil {
		s.palette = Light
		if o.Size == OneColumn || o.Size == TwoColumns {
			s.palette = Print
		}
	}
	font := o.FontSize
	if font <= 0 {
		font = map[Size]float64{Page: 8.25, OneColumn: 8, TwoColumns: 8, Slide: 12}[o.Size]
	}
	s.points, s.dots = font/textSize, 300.0/72
	switch o.Size {
	case OneColumn, TwoColumns:
		s.bare = s.palette == Print
		width := map[Size]float64{OneColumn: 88, TwoColumns: 181}[o.Size] * millimetre / s.points
		columns := max(1, min(f.columns(), int(width/300)))
		c := &composer{margin: 1, text: textSize, title: 12, titled: o.Titled, columns: columns}
		c.cell = (width - 2*c.margin - sheetGap*float64(columns-1)) / float64(columns)
		s.Drawing = c.compose(f)
	case Slide:
		width, height := 254*millimetre, 254*millimetre*9/16
		s.dots = 1920 / width
		for columns := 1; columns <= min(len(f.Panels), mostOnSlide); columns++ { // in which letters are the largest
			if n := len(f.Panels); f.heat() && columns < n && (n+columns)/(columns+1) < (n+columns-1)/columns && width/s.points/float64(columns+1) > leastOfHeat {
				continue // fewer rows of panels have more rows each
			}
			d := f.flat(width/s.points, columns, font/width, o.FontSize > 0)
			if s.Drawing == nil || min(width/d.Width, height/d.Height) > min(width/s.Width, height/s.Height) {
				s.Drawing = d
			}
		}
		k := min(width/s.Width, height/s.Height)
		content := &Group{X: (width/k - s.Width) / 2, Marks: s.Marks}
		s.points, s.Width, s.Height, s.Marks = k, width/k, height/k, []Mark{content}
	default:
		s.dots = 2 / s.points
		c := &composer{margin: sheetMargin, text: sheetText, title: sheetTitle, titled: true, columns: f.columns()}
		for i := range f.Panels {
			c.cell = max(c.cell, f.width(i))
		}
		s.Drawing = c.compose(f)
	}
	return s
}

// mostOnSlide bounds the panels beside each other on a slide, and leastOfHeat is how wide one is for
// the names of its rows.
const (
	mostOnSlide = 4
	leastOfHeat = 200.0
)

// heat reports whether a panel is rows of cells.
func (f *Figure) heat() bool {
	return slices.ContainsFunc(f.Panels, func(p Panel) bool { _, heat := p.Chart.(*Heat); return heat })
}

// leastOnSlide is the size of the smallest letters of slides in their widths: 24 of 1920 pixels.
const leastOnSlide = 24.0 / 1920

// flat composes the figure as wide as it has to be to fit on a slide. Letters are at least as large
// as leastOnSlide or, if they are to be exact, font in widths of the slide. If the figure is too high
// for that, it has no caption, and then no subtitles.
func (f *Figure) flat(wide float64, columns int, font float64, exact bool) (d *Drawing) {
	share, most := leastOnSlide, font/leastOnSlide*wide
	if exact {
		share, most = font, 2*wide
	}
	first := 0
	if f.heat() {
		wide, first = most/1.0001, 2 // it has more rows the more room there is
		if exact {
			wide = most / 2
		}
	}
	for brief := first; brief < 3; brief++ {
		end := most
		if brief == 2 {
			end = max(most, 2000)
		}
		for at := wide; at <= end*1.001; at *= 1.05 {
			text := max(textSize, share*at)
			c := &composer{margin: sheetMargin, text: text, title: 1.6 * text, titled: true, columns: columns, brief: brief, slide: at * 9 / 16, exact: exact}
			c.cell = (at - 2*c.margin - sheetGap*float64(columns-1)) / float64(columns)
			if exact {
				c.text, c.title = share*at, 1.6*share*at
			}
			c.least = share * at
			if d = c.compose(f); d.Height <= at*9/16 {
				return d
			}
		}
	}
	return d
}

// composer places the pieces of a figure.
type composer struct {
	margin, text, title float64
	titled              bool
	columns             int
	cell                float64 // width of a panel
	slide               float64 // height of a slide; 0 for none
	least               float64 // size of the smallest letters of a slide
	exact               bool    // which is that of all letters, too
	brief               int     // 1: without the caption; 2: without subtitles, too

	Drawing
	y, free float64
}

func (c *composer) compose(f *Figure) *Drawing {
	inner := float64(c.columns)*c.cell + float64(c.columns-1)*sheetGap
	if c.margin == sheetMargin {
		inner = max(inner, sheetLeast)
	}
	c.Width, c.y = inner+2*c.margin, c.margin
	c.Title, c.Desc = f.Title, f.Caption
	if c.titled {
		c.y = c.paragraph(f.Title, Text{X: c.margin, Size: c.title, Bold: true}, c.y, inner) + 6
	}
	c.legend(f.Legend, inner)
	if c.slide > 0 { // each row of panels has as much
		c.free = c.slide - c.y - c.margin
		if c.brief < 1 {
			c.free -= float64(len(wrapped(f.Caption, inner, c.text, false))) * c.text * leading
		}
		c.free /= float64((len(f.Panels) + c.columns - 1) / c.columns)
	}
	for i := 0; i < len(f.Panels); i += c.columns {
		c.row(f.Panels[i:min(i+c.columns, len(f.Panels))], len(f.Panels) > 1)
	}
	if c.titled && c.brief < 1 {
		c.y = c.paragraph(f.Caption, Text{X: c.margin, Size: c.text, Paint: Soft}, c.y, inner)
	}
	c.Height = math.Ceil(c.y + c.margin)
	return &c.Drawing
}

// paragraph adds lines of text that are no wider than width below y, and returns where they
// end.
func (c *composer) paragraph(text string, like Text, y, width float64) float64 {
	for _, line := range wrapped(text, width, like.Size, like.Bold) {
		t := like
		t.Text, t.Y = line, y+like.Size*leading/2
		c.add(&t)
		y += like.Size * leading
	}
	return y
}

// legend adds the entries beside each other, in as many rows as they need.
func (c *composer) legend(keys []Key, width float64) {
	if len(keys) == 0 {
		return
	}
	x, row := 0.0, c.text*1.5
	for i := range keys {
		name := Shorten(keys[i].Name, width-swatchWidth-8, c.text, false)
		wide := swatchWidth + 6 + TextWidth(name, c.text, false)
		if x > 0 && x+wide > width {
			x = 0
			c.y += row
		}
		c.add(&Group{X: c.margin + x, Y: c.y + row/2 - swatchHeight/2, Marks: keys[i].sample()},
			&Text{X: c.margin + x + swatchWidth + 6, Y: c.y + row/2, Text: name, Size: c.text})
		x += wide + 16
	}
	c.y += row + 6
}

// row adds panels beside each other.
func (c *composer) row(panels []Panel, named bool) {
	top := c.y
	for i, p := range panels {
		x, y := c.margin+float64(i)*(c.cell+sheetGap), c.y
		if c.titled || named {
			y = c.paragraph(p.Title, Text{X: x, Size: c.text, Bold: true}, y, c.cell)
		}
		if c.titled && c.brief < 2 {
			y = c.paragraph(p.Subtitle, Text{X: x, Size: max(c.text-1, c.least), Paint: Soft}, y, c.cell)
		}
		top = max(top, y)
	}
	end := top
	free := c.free - (top - c.y + 12)
	for i, p := range panels {
		d := c.draw(p.Chart, free)
		c.add(&Group{X: c.margin + float64(i)*(c.cell+sheetGap), Y: top + 4, Marks: d.Marks})
		end = max(end, top+4+d.Height)
	}
	c.y = end + 8
}

// draw draws a chart. On a slide its letters are no smaller than the least, and a text that would be
// on another one is left out; free is the height that a chart may have.
func (c *composer) draw(of Chart, free float64) *Drawing {
	if c.slide == 0 {
		return of.Draw(c.cell)
	}
	var d *Drawing
	switch of := of.(type) {
	case *Heat:
		d = of.fit(c.cell, free, c.text)
	case *Gantt:
		g := *of
		g.letters = max(c.least, textSize)
		d = g.Draw(c.cell)
	default:
		d = of.Draw(c.cell)
	}
	var boxes []Area
	d.Marks = c.enlarged(d.Marks, 0, 0, 1, &boxes)
	return d
}

// enlarged returns marks with the letters of a slide. boxes are those of texts so far.
func (c *composer) enlarged(marks []Mark, x, y, k float64, boxes *[]Area) (all []Mark) {
	for _, m := range marks {
		switch m := m.(type) {
		case *Group:
			m.Marks = c.enlarged(m.Marks, x+k*m.X, y+k*m.Y, k*cmp.Or(m.Scale, 1), boxes)
		case *Text:
			if size := m.size() * k; size < c.least || c.exact {
				m.Size = c.least / k
			}
			text, _ := m.shown()
			wide, high := k*TextWidth(text, m.size(), m.Bold), 0.8*k*m.size()
			box := Area{x + k*m.X - wide*[...]float64{0, 0.5, 1}[m.Anchor], y + k*m.Y - high/2, wide, high}
			if m.Rotate != 0 {
				box = Area{x + k*m.X - high/2, y + k*m.Y - wide*[...]float64{0, 0.5, 1}[m.Anchor], high, wide}
			}
			if m.Rotate == 0 && box.X < 0 { // it would begin before the panel
				m.X, box.X = m.X-box.X/k, 0
			}
			if slices.ContainsFunc(*boxes, func(o Area) bool {
				return o.X < box.X+box.Width && box.X < o.X+o.Width && o.Y < box.Y+box.Height && box.Y < o.Y+o.Height
			}) {
				continue
			}
			*boxes = append(*boxes, box)
		}
		all = append(all, m)
	}
	return all
}

// wrapped cuts a text into lines of a width. It cuts words that are longer.
func wrapped(text string, width, size float64, bold bool) (lines []string) {
	const most = 40 // lines
	line := ""
	for _, word := range strings.Fields(strings.Map(visible, text)) {
		if line != "" && utf8.RuneCountInString(line+word) < words.MostOfName && TextWidth(line+" "+word, size, bold) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; len(lines) < most && TextWidth(line, size, bold) > width; {
			letters := []rune(line)
			n := max(1, min(len(letters)-1, int(float64(len(letters))*width/TextWidth(line, size, bold))))
			lines, line = append(lines, string(letters[:n])), string(letters[n:])
			if len(letters) == 1 {
				break
			}
		}
		if len(lines) >= most {
			return append(lines[:most-1], lines[most-1]+" …")
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
