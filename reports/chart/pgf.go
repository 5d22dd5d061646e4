package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"
)

// pgf writes the sheet as a picture of the LaTeX package pgf.
func (s *sheet) pgf(w io.Writer) error {
	c := &pgfCanvas{height: s.Height * s.points}
	fmt.Fprintf(&c.b, "%% Needs \\usepackage{pgf} and, where text is cut, an engine that reads UTF-8.\n\\begingroup%%\n\\begin{pgfpicture}%%\n\\pgfpathrectangle{\\pgfpointorigin}{\\pgfqpoint{%.2fbp}{%.2fbp}}%%\n\\pgfusepath{use as bounding box}%%\n", s.Width*s.points, c.height)
	s.paint(c)
	c.b.WriteString("\\end{pgfpicture}%\n\\endgroup%\n")
	_, err := w.Write(c.b.Bytes())
	return err
}

type pgfCanvas struct {
	b      bytes.Buffer
	height float64
	last   string // the colour that is set
}

func (c *pgfCanvas) outline(o *Outline) {
	at := func(p []float64) string {
		return fmt.Sprintf(`{\pgfqpoint{%.2fbp}{%.2fbp}}`, p[0], c.height-p[1])
	}
	o.each(func(kind op, p []float64) {
		switch kind {
		case opMove:
			c.b.WriteString(`\pgfpathmoveto` + at(p))
		case opLine:
			c.b.WriteString(`\pgfpathlineto` + at(p))
		case opCurve:
			c.b.WriteString(`\pgfpathcurveto` + at(p) + at(p[2:]) + at(p[4:]))
		case opClose:
			c.b.WriteString(`\pgfpathclose`)
		}
		c.b.WriteString("%\n")
	})
}

// colour sets the colour of fills, strokes and text, and their opacity.
func (c *pgfCanvas) colour(n color.NRGBA) {
	text := fmt.Sprintf("\\definecolor{csiglab}{RGB}{%d,%d,%d}\\color{csiglab}\\pgfsetfillopacity{%.2f}\\pgfsetstrokeopacity{%.2f}%%\n", n.R, n.G, n.B, float64(n.A)/255, float64(n.A)/255)
	if text != c.last {
		c.b.WriteString(text)
		c.last = text
	}
}

func (c *pgfCanvas) fill(o *Outline, n color.NRGBA) {
	c.colour(n)
	c.outline(o)
	c.b.WriteString("\\pgfusepath{fill}%\n")
}

func (c *pgfCanvas) stroke(o *Outline, n color.NRGBA, s *Style) {
	c.colour(n)
	cap := "butt"
	if s.Round {
		cap = "round"
	}
	fmt.Fprintf(&c.b, "\\pgfsetlinewidth{%.2fbp}\\pgfset%scap\\pgfsetroundjoin\\pgfsetdash{", s.Weight, cap)
	dashes := s.Dashes
	if len(dashes)%2 == 1 {
		dashes = append(dashes, dashes...)
	}
	for _, d := range dashes {
		fmt.Fprintf(&c.b, "{%.2fbp}", d)
	}
	c.b.WriteString("}{0bp}%\n")
	c.outline(o)
	c.b.WriteString("\\pgfusepath{stroke}%\n")
}

func (c *pgfCanvas) text(t *Text, text string, n color.NRGBA) {
	c.colour(n)
	bold := ""
	if t.Bold {
		bold = `\bfseries`
	}
	anchor := [...]string{"left,", "", "right,"}[t.Anchor]
	fmt.Fprintf(&c.b, "\\pgftext[%sbase,x=%.2fbp,y=%.2fbp,rotate=%s]{\\sffamily%s\\fontsize{%.2f}{%.2f}\\selectfont %s}%%\n", anchor, t.X, c.height-t.Y, short(-t.Rotate), bold, t.Size, t.Size*1.2, latex(text))
}

// latexLetters are letters that LaTeX's fonts have under names, and those that it reads as
// commands.
var latexLetters = strings.NewReplacer(`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`, `_`, `\_`, `^`, `\textasciicircum{}`, `~`, `\textasciitilde{}`,
	`<`, `\textless{}`, `>`, `\textgreater{}`, `|`, `\textbar{}`, `"`, `\textquotedbl{}`,
	"→", `\ensuremath{\rightarrow}`, "←", `\ensuremath{\leftarrow}`, "↑", `\ensuremath{\uparrow}`, "↓", `\ensuremath{\downarrow}`, "≤", `\ensuremath{\leq}`, "≥", `\ensuremath{\geq}`,
	"−", `\ensuremath{-}`, "±", `\ensuremath{\pm}`, "×", `\ensuremath{\times}`, "·", `\ensuremath{\cdot}`, "µ", `\ensuremath{\mu}`, "Δ", `\ensuremath{\Delta}`,
	"…", `\ldots{}`, "–", `--`, "—", `---`, "\u00a0", `~`, "\u202f", `\,`, "\u2009", `\,`, "\uFFFD", `?`)

func latex(text string) string { return latexLetters.Replace(strings.Map(visible, text)) }
