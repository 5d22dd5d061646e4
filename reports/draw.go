package reports

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/reports/analysis"
)

// paint is a colour of the page's style sheet: a CSS variable. gonum draws it as
// an RGB value, and markup replaces that value by the variable.
type paint int

// Paints of charts. Those of flows follow paintFlow, those of the parts of bars
// paintPart.
const (
	paintText paint = iota
	paintAxis
	paintGrid
	paintShade
	paintTarget
	paintRest
	paintBarText
	paintPaper
	paintFlow
	paintPart = paintFlow + analysis.MaxGroups
)

// paintBand follows the paints of parts: those of the bands around lines, in the
// order of flows. They are the flows' colours, translucent.
const paintBand = paintPart + partPaints

// partPaints is the number of paints of parts. A bar with more parts uses them
// again.
const partPaints = 6

// partPaint returns the paint of a part.
func partPaint(style int) paint { return paintPart + paint(style%partPaints) }

// tagged is a paint of an element that the page's script has to find. gonum draws the
// tag as the green value 4*tag+2, which it may reduce by one, and markup replaces it by
// an attribute.
type tagged struct {
	paint
	tag int
}

// Tags of elements. That of series i is tagSeries+i.
const (
	tagShade = iota + 1
	tagX     // ticks of the x axis and their labels
	tagSeries
	maxTag = 63
)

// RGBA implements color.Color.
func (t tagged) RGBA() (r, g, b, a uint32) {
	if t.tag > maxTag {
		return t.paint.RGBA()
	}
	return color.NRGBA{0xFE, uint8(4*t.tag + 2), uint8(8*t.paint + 4), 0xFF}.RGBA()
}

// tagAttribute returns the attribute of an element that is drawn with a tag.
func tagAttribute(tag int) string {
	switch tag {
	case 0:
		return ""
	case tagShade:
		return ` data-part="shade"`
	case tagX:
		return ` data-part="x"`
	}
	return fmt.Sprintf(` data-series="%d"`, tag-tagSeries)
}

// RGBA implements color.Color: red 254, green 0, blue 8p+4. gonum's conversion to
// text may reduce red and blue by one.
func (p paint) RGBA() (r, g, b, a uint32) {
	return color.NRGBA{0xFE, 0, uint8(8*p + 4), 0xFF}.RGBA()
}

// variable returns the CSS variable that holds the paint.
func (p paint) variable() string {
	switch {
	case p >= paintBand:
		return (paintFlow + p - paintBand).variable()
	case p >= paintPart:
		return fmt.Sprintf("--action-%d", p-paintPart)
	case p >= paintFlow:
		return fmt.Sprintf("--flow-%d", p-paintFlow)
	}
	return [...]string{"--ink", "--axis", "--grid", "--shade", "--target", "--rest", "--bar-ink", "--paper"}[p]
}

// dashes distinguish lines without colour. They are in the order of flows' styles.
var dashes = [][]vg.Length{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}, {4, 2}, {12, 3}, {1, 2}, {6, 2, 1, 2, 1, 2}}

// lineStyle returns how a line of a style is drawn.
func lineStyle(style int) draw.LineStyle {
	switch {
	case style == styleRest:
		return draw.LineStyle{Color: paintRest, Width: 1.5, Dashes: []vg.Length{1, 2}}
	case style >= styleModel:
		s := lineStyle(style - styleModel)
		s.Width, s.Dashes = 1.1, []vg.Length{3, 3}
		return s
	case style > styleRest:
		k := (style - styleRest - 1) % (moreStyles - analysis.MaxGroups)
		colour := k % analysis.MaxGroups
		return draw.LineStyle{Color: paintFlow + paint(colour), Width: 1.6, Dashes: dashes[(colour+1+k/analysis.MaxGroups)%len(dashes)]}
	}
	return draw.LineStyle{Color: paintFlow + paint(style), Width: 1.6, Dashes: dashes[style]}
}

// Sizes of drawings in the units of their view box, near to CSS pixels.
const (
	textSize   font.Length = 11.5
	lineHeight vg.Length   = 250
	rowHeight  vg.Length   = 30
)

// width returns the width of each of n panels beside each other.
func width(n int) vg.Length {
	if n <= 2 {
		return 480
	}
	return 390
}

// drawPanel returns a panel of a width as inline SVG whose colours are CSS variables.
// Lines get the height; bars get what they need.
func drawPanel(p Panel, width, height vg.Length) (template.HTML, error) {
	pl := plot.New()
	pl.BackgroundColor = nil
	text := font.Font{Typeface: "Liberation", Variant: "Sans", Size: textSize}
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = text, text
		a.Label.TextStyle.Color, a.Tick.Label.Color = paintText, paintText
		a.LineStyle = draw.LineStyle{Color: paintAxis, Width: 1}
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 4
		a.Label.Padding = 4
		a.Padding = 0
	}
	pl.X.Label.Text, pl.Y.Label.Text = p.XLabel, p.YLabel
	pl.X.Min, pl.X.Max = 0, p.XMax
	var err error
	if p.Bars != nil {
		height = rowHeight*vg.Length(len(p.Bars)) + 50
		err = addBars(pl, p, width)
	} else {
		err = addLines(pl, p, width)
	}
	if err != nil {
		return "", fmt.Errorf("chart %s: %w", p.Title, err)
	}
	if p.clock != "" {
		pl.X.Tick.Color, pl.X.Tick.Label.Color = tagged{paintAxis, tagX}, tagged{paintText, tagX}
	}
	var area vg.Rectangle
	pl.Add(areaFinder{&area})
	canvas := vgsvg.New(width, height)
	// Space for a wider font, and for half of the last tick's label.
	pl.Draw(draw.Crop(draw.New(canvas), 4, -12, 2, -6))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("chart %s: %w", p.Title, err)
	}
	attributes := ""
	if p.figure != "" {
		attributes = figureAttributes(p.figure, areaOf(area, height))
	}
	return markup(b.String(), titled(p.name(), p.description()), attributes, width, height), nil
}

// areaFinder is a plotter that draws nothing. It finds the plot area.
type areaFinder struct{ area *vg.Rectangle }

// Plot implements plot.Plotter.
func (f areaFinder) Plot(c draw.Canvas, _ *plot.Plot) { *f.area = c.Rectangle }

func addLines(pl *plot.Plot, p Panel, width vg.Length) error {
	ticks, low, top := ticksFrom(p.YMin, p.YMax)
	pl.Y.Min, pl.Y.Max = low, top
	pl.Y.Tick.Marker = plot.ConstantTicks(ticks)
	pl.Y.LineStyle.Width, pl.Y.Tick.Length = 0, 0
	pl.Y.Padding = 6
	times, _ := niceTicks(p.XMax / 1.06)
	if p.counts {
		times = slices.DeleteFunc(times, func(t plot.Tick) bool { return t.Value != math.Trunc(t.Value) })
	}
	pl.X.Tick.Marker = plot.ConstantTicks(times)

	if p.Shade[1] > p.Shade[0] {
		area, err := plotter.NewPolygon(plotter.XYs{{X: p.Shade[0], Y: low}, {X: p.Shade[1], Y: low}, {X: p.Shade[1], Y: top}, {X: p.Shade[0], Y: top}})
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = tagged{paintShade, tagShade}, 0
		pl.Add(area)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: paintGrid, Width: 1}
	pl.Add(grid)
	for i, l := range p.Lines {
		if err := addBand(pl, &l, tagSeries+i); err != nil {
			return err
		}
	}
	for i, l := range p.Lines {
		style := lineStyle(l.Style)
		style.Color = tagged{style.Color.(paint), tagSeries + i}
		for _, piece := range pieces(l) {
			if len(piece) == 1 {
				dot, err := plotter.NewScatter(piece)
				if err != nil {
					return err
				}
				dot.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: 2.5, Shape: draw.CircleGlyph{}}
				pl.Add(dot)
				continue
			}
			line, err := plotter.NewLine(thinned(piece, p.XMax/float64(width)))
			if err != nil {
				return err
			}
			line.LineStyle = style
			pl.Add(line)
		}
	}
	for _, m := range p.Marks {
		line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: m.Y}, {X: p.XMax, Y: m.Y}})
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: paintTarget, Width: 1.4}
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: p.XMax, Y: m.Y}}, Labels: []string{shortened(m.Name, mostInDrawing)}})
		if err != nil {
			return err
		}
		style := &label.TextStyle[0]
		style.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Weight: xfont.WeightBold, Size: textSize}
		style.Color, style.XAlign, style.YAlign = paintTarget, draw.XRight, draw.YBottom
		// A font that is wider than Liberation needs the space on the right.
		label.Offset = vg.Point{X: -14, Y: 3}
		pl.Add(line, label)
	}
	return nil
}

// addBand draws the band around a line, in pieces between its gaps, with a tag.
func addBand(pl *plot.Plot, l *Line, tag int) error {
	if l.High == nil {
		return nil
	}
	low, high := Line{X: l.X, Y: l.Low}, Line{X: l.X, Y: l.High}
	if l.Beside {
		low, high = Line{X: l.Low, Y: l.Y}, Line{X: l.High, Y: l.Y}
	}
	above := pieces(high)
	for i, piece := range pieces(low) {
		if len(piece) < 2 {
			continue
		}
		slices.Reverse(above[i])
		area, err := plotter.NewPolygon(append(piece, above[i]...))
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = tagged{paintBand + paint(l.Style%analysis.MaxGroups), tag}, 0
		pl.Add(area)
	}
	return nil
}

// pieces cuts a line at its gaps.
func pieces(l Line) []plotter.XYs {
	var all []plotter.XYs
	var piece plotter.XYs
	for i := range l.X {
		if math.IsNaN(l.Y[i]) {
			if piece != nil {
				all = append(all, piece)
			}
			piece = nil
			continue
		}
		piece = append(piece, plotter.XY{X: l.X[i], Y: l.Y[i]})
	}
	if piece != nil {
		all = append(all, piece)
	}
	return all
}

// thinned returns the points of a line of which at most four are left in each column of a
// width: the first, the least, the greatest and the last one. The line looks the same, and
// no burst is lost. The points are in the order of X.
func thinned(points plotter.XYs, column float64) plotter.XYs {
	if len(points) < 3 || !(column > 0) {
		return points
	}
	var kept plotter.XYs
	for from := 0; from < len(points); {
		low, high, to := from, from, from+1
		for ; to < len(points) && math.Floor(points[to].X/column) == math.Floor(points[from].X/column); to++ {
			if points[to].Y < points[low].Y {
				low = to
			}
			if points[to].Y > points[high].Y {
				high = to
			}
		}
		last := -1
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			if i != last {
				kept = append(kept, points[i])
			}
			last = i
		}
		from = to
	}
	return kept
}

func addBars(pl *plot.Plot, p Panel, width vg.Length) error {
	names := make([]string, len(p.Bars))
	row := func(i int) float64 { return float64(len(p.Bars) - 1 - i) } // the first on top
	for i, b := range p.Bars {
		names[len(names)-1-i] = shortened(b.Name, mostInDrawing)
	}
	var below *plotter.BarChart
	starts := make([]float64, len(p.Bars))
	var labels plotter.XYLabels
	var parts []int // of labels
	for a := range p.Bars[0].Parts {
		values := make(plotter.Values, len(p.Bars))
		for i, b := range p.Bars {
			share := b.Parts[a] * 100
			values[int(row(i))] = share
			// Numbers need about 22 units, with the part's name about 52.
			text := strconv.FormatFloat(share, 'f', 0, 64)
			space := share / 100 * float64(width) * 0.75
			if space > 52 {
				text = shortened(p.Parts[a], mostInDrawing) + " " + text
			}
			if space > 22 {
				labels.XYs = append(labels.XYs, plotter.XY{X: starts[i] + share/2, Y: row(i)})
				labels.Labels = append(labels.Labels, text)
				parts = append(parts, a)
			}
			starts[i] += share
		}
		bars, err := plotter.NewBarChart(values, rowHeight*0.66)
		if err != nil {
			return err
		}
		bars.Horizontal = true
		bars.Color, bars.LineStyle = tagged{partPaint(a), tagSeries + a}, draw.LineStyle{Color: paintPaper, Width: 1.2}
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		pl.Add(bars)
	}
	if len(labels.Labels) > 0 {
		text, err := plotter.NewLabels(labels)
		if err != nil {
			return err
		}
		for i := range text.TextStyle {
			text.TextStyle[i].Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: textSize}
			text.TextStyle[i].Color, text.TextStyle[i].XAlign, text.TextStyle[i].YAlign = tagged{paintBarText, tagSeries + parts[i]}, draw.XCenter, draw.YCenter
		}
		pl.Add(text)
	}
	pl.NominalY(names...)
	pl.Y.Min, pl.Y.Max = -0.5, float64(len(names))-0.5
	pl.Y.LineStyle.Width, pl.Y.Tick.Length = 0, 0
	pl.Y.Padding = 4
	pl.X.Min, pl.X.Max = 0, 100
	pl.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 25, Label: "25"}, {Value: 50, Label: "50"}, {Value: 75, Label: "75"}, {Value: 100, Label: "100"}}
	return nil
}

// niceTicks returns three to six ticks from 0 that are whole multiples of 1, 2,
// 2.5 or 5 times a power of ten, and the end of an axis that goes a little beyond
// top.
func niceTicks(top float64) ([]plot.Tick, float64) {
	if !(top > 0) {
		top = 1
	}
	power := math.Pow(10, math.Floor(math.Log10(top/4)))
	step := power
	for _, f := range []float64{1, 2, 2.5, 5, 10} {
		if step = f * power; top/step <= 5 {
			break
		}
	}
	top *= 1.06
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= top; i++ {
		ticks = append(ticks, plot.Tick{Value: float64(i) * step, Label: number(float64(i) * step)})
	}
	return ticks, top
}

// ticksFrom is niceTicks for an axis that begins at a value of 0 or less: ticks go on below 0
// with the same step.
func ticksFrom(low, top float64) ([]plot.Tick, float64, float64) {
	ticks, end := niceTicks(max(top, -low))
	step := ticks[1].Value
	if !(low < 0) {
		return ticks, 0, end
	}
	end, low = max(top, step)*1.06, low*1.06
	ticks = slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value > end })
	for i := 1; -float64(i)*step >= low; i++ {
		ticks = append(ticks, plot.Tick{Value: -float64(i) * step, Label: number(-float64(i) * step)})
	}
	return ticks, low, end
}

var (
	paintValue = lazy.Regexp("#F[DE]([0-9A-F]{2})([0-9A-F]{2})")
	element    = lazy.Regexp(`<[a-z]+ [^>]*>`)
	fontFamily = lazy.Regexp(`font-family:[^;"]*;?(font-variant:[^;"]*;?)?`)
)

// titled returns the elements that say what a drawing shows to readers who do not see it:
// its name, and what it holds. They come first in the drawing.
func titled(title, description string) string {
	return "<title>" + html.EscapeString(title) + "</title><desc>" + html.EscapeString(description) + "</desc>"
}

// markup turns gonum's SVG document into an element of a page, with more attributes and
// what titled returned. The element scales with its column and uses the page's fonts
// and colours.
func markup(svg, words, attributes string, width, height vg.Length) template.HTML {
	_, body, _ := strings.Cut(svg, "<svg")
	_, body, _ = strings.Cut(body, ">")
	body = fontFamily().ReplaceAllString(body, "")
	body = element().ReplaceAllStringFunc(body, func(element string) string {
		tag := 0
		element = paintValue().ReplaceAllStringFunc(element, func(value string) string {
			green, _ := strconv.ParseUint(value[3:5], 16, 8)
			blue, _ := strconv.ParseUint(value[5:], 16, 8)
			tag = max(tag, int(green/4))
			p := paint(blue / 8)
			if p >= paintBand {
				return "var(" + p.variable() + ");fill-opacity:.16"
			}
			return "var(" + p.variable() + ")"
		})
		name := strings.IndexByte(element, ' ')
		return element[:name] + tagAttribute(tag) + element[name:]
	})
	return template.HTML(fmt.Sprintf(`<svg class="chart" viewBox="0 0 %g %g" xmlns="http://www.w3.org/2000/svg" role="img"%s>%s`, width, height, attributes, words) + body)
}
