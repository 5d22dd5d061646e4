package chart

import (
	"image/color"
	"io"
	"strings"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
)

// pdf writes the sheet as one page. gonum's vgpdf writes text in Windows' code page 1252,
// which has no arrow, and a date; fpdf, which it is made of, can do without both.
func (s *sheet) pdf(w io.Writer) error {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: s.Width * s.points, Ht: s.Height * s.points}})
	// Equal figures give equal bytes.
	doc.SetCreationDate(time.Unix(0, 0).UTC())
	doc.SetModificationDate(time.Unix(0, 0).UTC())
	doc.SetCatalogSort(true)
	doc.SetProducer("csiglab", true)
	doc.SetTitle(clip(s.Title), true)
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	doc.AddUTF8FontFromBytes("Liberation Sans", "", liberationsansregular.TTF)
	doc.AddUTF8FontFromBytes("Liberation Sans", "B", liberationsansbold.TTF)
	doc.AddPage()
	s.paint(&pdfCanvas{doc})
	return doc.Output(w)
}

type pdfCanvas struct{ *fpdf.Fpdf }

func (c *pdfCanvas) outline(o *Outline) {
	o.each(func(kind op, p []float64) {
		switch kind {
		case opMove:
			c.MoveTo(p[0], p[1])
		case opLine:
			c.LineTo(p[0], p[1])
		case opCurve:
			c.CurveBezierCubicTo(p[0], p[1], p[2], p[3], p[4], p[5])
		case opClose:
			c.ClosePath()
		}
	})
}

func (c *pdfCanvas) fill(o *Outline, colour color.NRGBA) {
	c.SetFillColor(int(colour.R), int(colour.G), int(colour.B))
	c.SetAlpha(float64(colour.A)/255, "Normal")
	c.outline(o)
	c.DrawPath("F")
}

func (c *pdfCanvas) stroke(o *Outline, colour color.NRGBA, s *Style) {
	c.SetDrawColor(int(colour.R), int(colour.G), int(colour.B))
	c.SetAlpha(float64(colour.A)/255, "Normal")
	c.SetLineWidth(s.Weight)
	c.SetDashPattern(s.Dashes, 0)
	c.SetLineJoinStyle("round")
	cap := "butt"
	if s.Round {
		cap = "round"
	}
	c.SetLineCapStyle(cap)
	c.outline(o)
	c.DrawPath("D")
}

func (c *pdfCanvas) text(t *Text, text string, colour color.NRGBA) {
	text = glyphs(strings.Map(visible, text), t.Bold)
	style := ""
	if t.Bold {
		style = "B"
	}
	c.SetAlpha(1, "Normal")
	c.SetTextColor(int(colour.R), int(colour.G), int(colour.B))
	c.SetFont("Liberation Sans", style, t.Size)
	wide := TextWidth(text, t.Size, t.Bold)
	if t.Rotate != 0 {
		c.TransformBegin()
		c.TransformRotate(-t.Rotate, t.X, t.Y)
		defer c.TransformEnd()
	}
	c.Text(t.X-wide*[...]float64{0, 0.5, 1}[t.Anchor], t.Y, text)
}
