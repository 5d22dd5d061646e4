package reports

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// picture is a figure that is drawn here and not as a chart: a matrix or bars with a
// scale of colours. Every picture has a title, a caption and a legend.
type picture struct {
	ID      string // of its section, and the name of its files
	Title   string
	Caption string
	Legend  []pictureKey
	Columns int
	Panels  []picturePanel

	data []figureData // of its panels, for the script
}

// pictureKey is an entry of a picture's legend.
type pictureKey struct {
	Swatch template.HTML
	Name   string
}

// picturePanel is one drawing of a picture.
type picturePanel struct {
	Title, Subtitle string
	SVG, Narrow     template.HTML
}

// maxOfAKind is how many pictures of a kind a report has. A caption says how many it lacks.
const maxOfAKind = 4

// Sizes of pictures.
const (
	pictureWidth, halfWidth = 1200.0, 590.0
	smallText               = 10.0
)

// levels is the number of steps of the sequential scale of colours, from 1. Level 0 is
// next to nothing. The style sheet has a colour for each, from light to dark on white
// and the other way round on black, and each is darker than the one before.
const levels = 10

// levelOf returns the level of a share of the scale, from 0 to 1.
func levelOf(share float64) int {
	if !(share >= 0.005) {
		return 0
	}
	return min(max(int(math.Ceil(share*levels-1e-9)), 1), levels)
}

// ink is the text of a drawing.
type ink struct{ b strings.Builder }

// put formats text; numbers are rounded to a tenth of a user unit.
func (i *ink) put(format string, args ...any) {
	for k, a := range args {
		if v, ok := a.(float64); ok {
			args[k] = math.Round(v*10) / 10
		}
	}
	fmt.Fprintf(&i.b, format, args...)
}

// pen writes the SVG of a picture.
type pen struct {
	ink
	width, height float64
	class         string // of the drawing, beside those that all have; "" for none
}

// text writes a line of text with a class, in at most so many user units.
func (p *pen) text(class string, x, y, most float64, text string) {
	short := shorten(text, most)
	if short != text {
		p.put(`<text class="%s" x="%v" y="%v"><title>%s</title>%s</text>`, class, x, y, html.EscapeString(clipped(text)), html.EscapeString(short))
		return
	}
	p.put(`<text class="%s" x="%v" y="%v">%s</text>`, class, x, y, html.EscapeString(short))
}

// shorten cuts a name in its middle so that it needs at most so many user units.
func shorten(text string, most float64) string {
	letters := []rune(clipped(text))
	n := max(3, int(most/(smallText*letterWidth)))
	if len(letters) <= n {
		return string(letters)
	}
	head := (n - 1) / 2
	return string(letters[:head]) + "…" + string(letters[len(letters)-(n-1-head):])
}

// clipped returns the first letters of a name that may be very long.
func clipped(text string) string {
	const most = 200
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}

// svg returns the drawing, with the figure's data and the place of its plot area.
func (p *pen) svg(title, desc, figure string, area plotArea) template.HTML {
	attributes := ""
	if figure != "" {
		attributes = figureAttributes(figure, area)
	}
	class := strings.TrimSpace("chart picture " + p.class)
	return template.HTML(fmt.Sprintf(`<svg class="%s" viewBox="0 0 %.0f %.0f" xmlns="http://www.w3.org/2000/svg" role="img"%s><title>%s</title><desc>%s</desc>`,
		class, p.width, math.Ceil(p.height), attributes, html.EscapeString(clipped(title)), html.EscapeString(clipped(desc))) + p.b.String() + "</svg>")
}

// cells draws a matrix of levels in an area: neighbours of the same level in a row as
// one line. A level below 0 is an empty cell.
func (p *pen) cells(area plotArea, rows, columns int, level func(row, column int) int) {
	var paths [levels + 1]strings.Builder
	var at [levels + 1][2]int // where the path of a level stands
	for row := range rows {
		for from := 0; from < columns; {
			l := level(row, from)
			to := from + 1
			for to < columns && level(row, to) == l {
				to++
			}
			if l > 0 {
				// The first move is from 0 0.
				fmt.Fprintf(&paths[l], "m%d %dh%d", from-at[l][0], row-at[l][1], to-from)
				at[l] = [2]int{to, row}
			}
			from = to
		}
	}
	p.put(`<g data-part="cells"><rect class="idle" x="%v" y="%v" width="%v" height="%v"/>`, area.X, area.Y, area.Width, area.Height)
	height := area.Height / float64(rows)
	fmt.Fprintf(&p.b, `<g class="cells" transform="translate(%.2f %.2f) scale(%.4f %.4f)">`, area.X, area.Y+height/2, area.Width/float64(columns), height)
	for l := range paths {
		if paths[l].Len() > 0 {
			fmt.Fprintf(&p.b, `<path class="s%d" d="M0 0%s"/>`, l, paths[l].String())
		}
	}
	p.put("</g></g>")
}

// timeAxis draws an axis of time below an area, from a time on.
func (p *pen) timeAxis(area plotArea, us float64, label string) {
	unit := scaleFor(us, scalesOfDelays)
	ticks, _ := niceTicks(us * unit.factor / 1.06)
	y := area.Y + area.Height
	p.put(`<path class="edge" d="M%v %vH%v"/>`, area.X, y, area.X+area.Width)
	for _, t := range ticks {
		x := area.X + t.Value/unit.factor/us*area.Width
		p.put(`<path class="edge" data-part="x" d="M%v %vv4"/><text class="tick" data-part="x" x="%v" y="%v">%s</text>`, x, y, x, y+12, t.Label)
	}
	p.put(`<text class="tick" x="%v" y="%v">%s (%s)</text>`, area.X+area.Width/2, y+27, html.EscapeString(label), unit.unit)
}

// scaleKeys returns the legend of the sequential scale: what the least, a middle and the
// greatest level stand for.
func scaleKeys(idle string, name func(from, to float64) string) []pictureKey {
	swatch := func(parts string) template.HTML {
		return template.HTML(`<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true">` + parts + `</svg>`)
	}
	keys := []pictureKey{{swatch(`<rect class="idle" x="2" y="0" width="22" height="12"/>`), idle}}
	for l := 2; l <= levels; l += 2 {
		keys = append(keys, pictureKey{swatch(fmt.Sprintf(`<rect x="2" y="0" width="11" height="12" style="fill:var(--s%d)"/><rect x="13" y="0" width="11" height="12" style="fill:var(--s%d)"/>`, l-1, l)),
			name(float64(l-2)/levels, float64(l)/levels)})
	}
	return keys
}

// inVariant says in which variant something is, if there are several.
func inVariant(r *analysis.Result, variant string) string {
	if len(r.Variants) < 2 {
		return ""
	}
	return " in " + variant
}

// leftOut says how many pictures of a kind a report lacks.
func leftOut(total, shown int) string {
	if total <= shown {
		return ""
	}
	return fmt.Sprintf(" %d more are in the JSON form of this report.", total-shown)
}

// allPictures are the pictures of a report: those that stand above its tables, and those
// that stand with its charts.
func allPictures(r *analysis.Result) (first, more []picture) {
	return append(jobLanes(r), signatures(r)...), append(heatmaps(r), shifts(r)...)
}
