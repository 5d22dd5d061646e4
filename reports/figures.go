package reports

import (
	"fmt"
	"hash/crc32"
	"html"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/plot/vg"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/svg"
)

// Figure is one figure of a report as a document of its own: with its title, legend and
// caption, and with colours in place of the page's variables.
type Figure struct {
	Name    string // of its files, without extension: small letters, digits and hyphens; each once in a report
	Title   string
	Caption string
	Drawing *svg.Drawing
}

// sketch is a figure before its colours are resolved.
type sketch struct {
	name, title, caption string
	legend               []mark
	columns              int
	panels               []part
}

// mark is an entry of a sketch's legend.
type mark struct {
	swatch string // SVG, 26 by 12
	name   string
}

// part is one drawing of a sketch.
type part struct {
	title, subtitle string
	svg             string
}

// Figures returns the figures of a report in the order of the page. A drawing in more is
// used for the chart of its ID, before the package's own.
func Figures(r *analysis.Result, scheme svg.Scheme, more ...Drawing) ([]Figure, error) {
	sheet, err := pageSheet()
	if err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	sketches, err := sketchesOf(plain(r), more)
	if err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	var figures []Figure
	names := map[string]int{}
	for i := range sketches {
		s := &sketches[i]
		drawing, err := svg.Parse(s.compose(), sheet, scheme)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", s.name, err)
		}
		name := fileName(s.name)
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, names[name])
			names[name]++
		}
		figures = append(figures, Figure{name, s.title, s.caption, drawing})
	}
	return figures, nil
}

// pageSheet returns what drawings need of the page's style sheet.
var pageSheet = sync.OnceValues(func() (*svg.Sheet, error) { return svg.ParseSheet(pageStyle) })

var notInNames = lazy.Regexp(`[^a-z0-9]+`)

// fileName returns a name with small letters, digits and hyphens alone.
func fileName(text string) string {
	const most = 60
	name := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(text), "-"), "-")
	if len(name) > most {
		name = strings.TrimRight(name[:most], "-")
	}
	if name == "" {
		return "figure"
	}
	return name
}

// idPart returns a name's part of a figure's ID. Names that fileName would make equal keep
// different ones.
func idPart(name string) string {
	if part := fileName(name); part != name {
		return fmt.Sprintf("%s-%08x", part, crc32.ChecksumIEEE([]byte(name)))
	}
	return name
}

// sketchesOf returns the figures in the order of the page.
func sketchesOf(r *analysis.Result, more []Drawing) ([]sketch, error) {
	var all []sketch
	if f := newFabric(r); f != nil {
		s := sketch{name: "fabric", title: f.Title, caption: f.Caption, panels: []part{{svg: string(f.SVG)}}}
		for _, k := range f.Flows {
			s.legend = append(s.legend, mark{string(swatch(k)), k.Name})
		}
		for _, l := range f.Loads {
			s.legend = append(s.legend, mark{fmt.Sprintf(`<svg><line class="load-%d" x1="0" y1="6" x2="26" y2="6"/></svg>`, l.Class), l.Name})
		}
		for i, m := range f.Marks {
			s.caption += fmt.Sprintf(" %d: %s, %s.", i+1, m.Name, m.Value)
		}
		all = append(all, s)
	}
	charts, err := drawCharts(r, more)
	if err != nil {
		return nil, err
	}
	for _, p := range newStepPictures(r) {
		s := sketch{name: p.Name, title: p.Title, caption: p.Caption, panels: []part{{svg: string(p.SVG)}}}
		for _, k := range p.Legend {
			s.legend = append(s.legend, mark{string(k.Swatch), k.Name})
		}
		all = append(all, s)
	}
	first, rest := allPictures(r)
	for _, p := range slices.Concat(first, rest) {
		s := sketch{name: p.ID, title: p.Title, caption: p.Caption, columns: p.Columns}
		for _, k := range p.Legend {
			s.legend = append(s.legend, mark{string(k.Swatch), k.Name})
		}
		for _, panel := range p.Panels {
			s.panels = append(s.panels, part{panel.Title, panel.Subtitle, string(panel.SVG)})
		}
		all = append(all, s)
	}
	for _, c := range charts {
		s := sketch{name: c.ID, title: c.Title, caption: c.Caption, columns: columns(c)}
		for _, k := range c.Legend {
			s.legend = append(s.legend, mark{string(swatch(k)), k.Name})
		}
		for _, p := range c.Panels {
			width, height := width(s.columns), lineHeight
			if len(c.Panels) == 1 {
				width, height = vg.Length(firstWidth), vg.Length(mainHeight)
			}
			drawn, err := drawPanel(p, width, height)
			if err != nil {
				return nil, err
			}
			s.panels = append(s.panels, part{p.Title, p.Subtitle, string(drawn)})
		}
		all = append(all, s)
	}
	return all, nil
}

// Measures of a figure as a document of its own, in user units.
const (
	sheetMargin  = 16.0
	sheetGap     = 18.0
	sheetTitle   = 17.0 // heights of letters
	sheetText    = 12.0
	sheetLeading = 1.35
	sheetLeast   = 420.0
)

var (
	openSVG = lazy.Regexp(`(?s)^\s*<svg([^>]*)>`)
	viewBox = lazy.Regexp(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)
	classOf = lazy.Regexp(`class="([^"]*)"`)
	titleOf = lazy.Regexp(`(?s)^\s*<title>.*?</title>(<desc>.*?</desc>)?`)
)

// content cuts a drawing into what it holds, its classes and its size.
func content(drawing string) (inner, class string, width, height float64) {
	open := openSVG().FindStringSubmatch(drawing)
	if open == nil {
		return "", "", 0, 0
	}
	inner = strings.TrimSuffix(strings.TrimSpace(drawing[len(open[0]):]), "</svg>")
	if m := classOf().FindStringSubmatch(open[1]); m != nil {
		class = m[1]
	}
	if m := viewBox().FindStringSubmatch(open[1]); m != nil {
		fmt.Sscan(m[1], &width) // the expression matches numbers alone
		fmt.Sscan(m[2], &height)
	}
	return titleOf().ReplaceAllString(inner, ""), class, width, height
}

// sheetWriter places the pieces of a figure below each other.
type sheetWriter struct {
	ink
	width, y float64
}

// text writes lines of text at x that are no wider than width, and returns where they end.
func (w *sheetWriter) text(text string, x, y, width, size float64, style string) float64 {
	bold := strings.Contains(style, "bold")
	for _, line := range wrap(text, width, size, bold) {
		y += size * sheetLeading
		w.put(`<text x="%v" y="%v" style="font-size:%vpx;%s">%s</text>`, x, y-size*0.3, size, style, html.EscapeString(line))
	}
	return y
}

// wrap cuts a text into lines of a width. It cuts words that are longer.
func wrap(text string, width, size float64, bold bool) (lines []string) {
	const most = 40 // lines
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && svg.TextWidth(line+" "+word, size, bold) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; len(lines) < most && svg.TextWidth(line, size, bold) > width; {
			letters := []rune(line)
			n := max(1, min(len(letters)-1, int(float64(len(letters))*width/svg.TextWidth(line, size, bold))))
			lines, line = append(lines, string(letters[:n])), string(letters[n:])
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

// compose returns the figure as one SVG document with the page's classes and variables.
func (s *sketch) compose() string {
	columns := max(1, s.columns)
	cell := 0.0
	for _, p := range s.panels {
		_, _, width, _ := content(p.svg)
		cell = max(cell, width)
	}
	columns = min(columns, max(1, len(s.panels)))
	inner := max(float64(columns)*cell+float64(columns-1)*sheetGap, sheetLeast)
	w := &sheetWriter{width: inner + 2*sheetMargin, y: sheetMargin}
	w.y = w.text(s.title, sheetMargin, w.y, inner, sheetTitle, "font-weight:bold;fill:var(--ink)") + 6
	w.legend(s.legend, inner)
	for i := 0; i < len(s.panels); i += columns {
		w.row(s.panels[i:min(i+columns, len(s.panels))], cell)
	}
	w.y = w.text(s.caption, sheetMargin, w.y, inner, sheetText, "fill:var(--soft)") + sheetMargin
	return fmt.Sprintf(`<svg viewBox="0 0 %.1f %.1f" xmlns="http://www.w3.org/2000/svg" role="img" style="font-family:Arial,Helvetica,Liberation Sans,sans-serif"><title>%s</title><desc>%s</desc><rect width="%.1f" height="%.1f" style="fill:var(--paper)"/>`,
		w.width, w.y, html.EscapeString(s.title), html.EscapeString(s.caption), w.width, w.y) + w.b.String() + "</svg>"
}

// legend writes the entries beside each other, in as many rows as they need.
func (w *sheetWriter) legend(marks []mark, width float64) {
	if len(marks) == 0 {
		return
	}
	x := 0.0
	for _, m := range marks {
		name := wrap(m.name, width-40, sheetText, false)
		text := ""
		if len(name) > 0 {
			text = name[0]
		}
		wide := 32 + svg.TextWidth(text, sheetText, false) + 18
		if x > 0 && x+wide > width {
			x = 0
			w.y += 18
		}
		inner, class, _, _ := content(m.swatch)
		w.put(`<g class="%s" transform="translate(%v %v)">%s</g>`, class, sheetMargin+x, w.y+2, inner)
		w.put(`<text x="%v" y="%v" style="font-size:%vpx;fill:var(--ink)">%s</text>`, sheetMargin+x+32, w.y+12, sheetText, html.EscapeString(text))
		x += wide
	}
	w.y += 26
}

// row writes drawings beside each other.
func (w *sheetWriter) row(parts []part, cell float64) {
	top := w.y
	for i, p := range parts {
		x := sheetMargin + float64(i)*(cell+sheetGap)
		y := w.text(p.title, x, w.y, cell, sheetText, "font-weight:bold;fill:var(--ink)")
		top = max(top, w.text(p.subtitle, x, y, cell, sheetText-1, "fill:var(--soft)"))
	}
	end := top
	for i, p := range parts {
		inner, class, _, height := content(p.svg)
		w.put(`<g class="%s" transform="translate(%v %v)">%s</g>`, class, sheetMargin+float64(i)*(cell+sheetGap), top+4, inner)
		end = max(end, top+4+height)
	}
	w.y = end + 10
}
