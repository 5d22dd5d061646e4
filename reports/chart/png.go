package chart

import (
	"image/color"
	"image/png"
	"io"
	"math"

	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
)

// maxPixels bounds the size of a picture.
const maxPixels = 64 << 20

// png writes the sheet.
func (s *sheet) png(w io.Writer) error {
	dots := s.dots
	width, height := math.Ceil(s.Width*s.points*dots), math.Ceil(s.Height*s.points*dots)
	if !(width*height <= maxPixels) {
		return errLarge
	}
	c := &pngCanvas{Context: gg.NewContext(int(width), int(height)), dots: dots, faces: map[faceOf]font.Face{}}
	if s.bare {
		c.SetColor(s.palette.Colour(Paper))
		c.Clear()
	}
	s.paint(c)
	if c.err != nil {
		return c.err
	}
	return png.Encode(w, c.Image())
}

type faceOf struct {
	size float64
	bold bool
}

type pngCanvas struct {
	*gg.Context
	dots  float64 // pixels of a point
	faces map[faceOf]font.Face
	err   error
}

func (c *pngCanvas) outline(o *Outline) {
	k := c.dots
	o.each(func(kind op, p []float64) {
		switch kind {
		case opMove:
			c.MoveTo(k*p[0], k*p[1])
		case opLine:
			c.LineTo(k*p[0], k*p[1])
		case opCurve:
			c.CubicTo(k*p[0], k*p[1], k*p[2], k*p[3], k*p[4], k*p[5])
		case opClose:
			c.ClosePath()
		}
	})
}

func (c *pngCanvas) fill(o *Outline, colour color.NRGBA) {
	c.outline(o)
	c.SetColor(colour)
	c.Fill()
}

func (c *pngCanvas) stroke(o *Outline, colour color.NRGBA, s *Style) {
	c.outline(o)
	c.SetColor(colour)
	c.SetLineWidth(s.Weight * c.dots)
	dashes := make([]float64, len(s.Dashes))
	for i, d := range s.Dashes {
		dashes[i] = d * c.dots
	}
	c.SetDash(dashes...)
	c.SetLineCapButt()
	c.SetLineJoinRound()
	if s.Round {
		c.SetLineCapRound()
	}
	c.Stroke()
}

func (c *pngCanvas) text(t *Text, text string, colour color.NRGBA) {
	key := faceOf{t.Size * c.dots, t.Bold}
	face := c.faces[key]
	if face == nil {
		var err error
		if face, err = opentype.NewFace(faceFor(t.Bold).font, &opentype.FaceOptions{Size: key.size, DPI: 72, Hinting: font.HintingNone}); err != nil {
			c.err = err
			return
		}
		c.faces[key] = face
	}
	c.SetFontFace(face)
	c.SetColor(colour)
	c.Push()
	x, y := t.X*c.dots, t.Y*c.dots
	if t.Rotate != 0 {
		c.RotateAbout(t.Rotate*math.Pi/180, x, y)
	}
	c.DrawStringAnchored(glyphs(text, t.Bold), x, y, [...]float64{0, 0.5, 1}[t.Anchor], 0)
	c.Pop()
}
