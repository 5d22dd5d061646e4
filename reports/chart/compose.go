package chart

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/csiglab/csiglab/reports/words"
)

// Layout says how a figure becomes a document. The zero value is the figure as a page has it,
// with its title and caption, in Light.
type Layout struct {
	Size     Size
	FontSize float64  // of common text in points; 0 for 8, on slides 12. Pages have 8.25.
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
			d := f.flat(width/s.points, columns)
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

// mostOnSlide bounds the panels beside each other on a slide.
const mostOnSlide = 4

// flat composes the figure as wide as it has to be to fit on a slide.
func (f *Figure) flat(wide float64, columns int) *Drawing {
	for ; ; wide *= 1.1 {
		c := &composer{margin: sheetMargin, text: textSize, title: 18, titled: true, columns: columns}
		c.cell = (wide - 2*c.margin - sheetGap*float64(columns-1)) / float64(columns)
		if d := c.compose(f); d.Height*16/9 <= wide || wide > 2000 {
			return d
		}
	}
}

// composer places the pieces of a figure.
type composer struct {
	margin, text, title float64
	titled              bool
	columns             int
	cell                float64 // width of a panel

	Drawing
	y float64
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
	for i := 0; i < len(f.Panels); i += c.columns {
		c.row(f.Panels[i:min(i+c.columns, len(f.Panels))], len(f.Panels) > 1)
	}
	if c.titled {
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
		if c.titled {
			y = c.paragraph(p.Subtitle, Text{X: x, Size: c.text - 1, Paint: Soft}, y, c.cell)
		}
		top = max(top, y)
	}
	end := top
	for i, p := range panels {
		d := p.Chart.Draw(c.cell)
		c.add(&Group{X: c.margin + float64(i)*(c.cell+sheetGap), Y: top + 4, Marks: d.Marks})
		end = max(end, top+4+d.Height)
	}
	c.y = end + 8
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
