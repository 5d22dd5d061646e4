package reports

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// figureKind says what a figure shows and so how the page's script reads its data.
type figureKind string

// Kinds of figures. The comments say what the axes and the series of figureData are.
const (
	figureLines  figureKind = "lines"  // a series is a line: its X are values of the x axis, its Values of the y axis
	figureBars   figureKind = "bars"   // a series is a part of all bars: its Values are shares in %, one for each name of the y axis
	figureMatrix figureKind = "matrix" // a series is a row, from the top: its Values are the cells from the left; X.Start and X.Step or X.Names say what columns stand for
	figureMap    figureKind = "map"    // a series is a link: its Values are over time as X.Start and X.Step say
)

// figureData is what the page's script knows of a figure. The drawings of the figure
// name it and say where its plot area is (figureAttributes). A figure is still
// complete without the script.
type figureData struct {
	ID     string       `json:"id"`
	Kind   figureKind   `json:"kind"`
	Name   string       `json:"name"` // what the figure shows, in words; the script announces it
	X      axisData     `json:"x"`
	Y      axisData     `json:"y"`
	Value  axisData     `json:"value,omitzero"` // of the cells of a matrix and the links of a map
	Series []seriesData `json:"series"`
}

// axisData describes an axis, or the scale of colours of a matrix.
type axisData struct {
	Name string  `json:"name,omitempty"` // of the quantity
	Unit string  `json:"unit,omitempty"`
	Min  float64 `json:"min"` // at the left or lower edge of the plot area
	Max  float64 `json:"max"` // at the right or upper edge
	// Clock is the name of the time that a time axis shows: clockRun, or another. When the
	// reader zooms into one figure, the script shows the same span in all figures of the
	// same clock. It is "" when the axis is no time. A unit of the axis has Microseconds.
	Clock        string  `json:"clock,omitempty"`
	Microseconds float64 `json:"us,omitempty"`
	// Start and Step place the columns of a matrix and the values of a map: the left edge
	// of the first one, and the width of each.
	Start float64  `json:"start"`
	Step  float64  `json:"step,omitempty"`
	Names []string `json:"names,omitempty"` // of bars from the top, or of the columns of a matrix
}

// clockRun is the model time since the beginning of the run.
const clockRun = "run"

// seriesData is a line, a part of bars, the row of a matrix or a link of a map. In a
// drawing the attribute data-series of an element is the index of its series.
type seriesData struct {
	Name   string `json:"name"`
	Colour string `json:"colour,omitempty"` // CSS variable
	Dashes string `json:"dashes,omitempty"` // stroke-dasharray
	// A point of a line is at Start+i*Step, or at X[i] when Step is 0.
	Start float64 `json:"start,omitempty"`
	Step  float64 `json:"step,omitempty"`
	X     numbers `json:"xs,omitempty"`

	Values numbers `json:"values"`
	Low    numbers `json:"low,omitempty"` // edges of the band around a line; left and right of it when it is Beside
	High   numbers `json:"high,omitempty"`
	Beside bool    `json:"beside,omitempty"`
}

// numbers are values that the script gets rounded to significantDigits, or, when they
// are many, in quanta of 1/65534 of their range. NaN means that there is none.
type numbers []float64

const (
	significantDigits = 6
	manyNumbers       = 2048
	noNumber          = math.MaxUint16
)

// MarshalJSON implements json.Marshaler: an array of numbers and null, or an object
// with the least number, the quantum, and the numbers of quanta as little-endian
// 16 bit words in base64.
func (n numbers) MarshalJSON() ([]byte, error) {
	if len(n) > manyNumbers {
		return n.quantised()
	}
	text := []byte{'['}
	for i, v := range n {
		if i > 0 {
			text = append(text, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			text = append(text, "null"...)
			continue
		}
		text = strconv.AppendFloat(text, rounded(v), 'g', -1, 64)
	}
	return append(text, ']'), nil
}

// rounded returns the number of significantDigits that is nearest to v.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', significantDigits-1, 64), 64)
	if err != nil {
		panic("reports: " + err.Error()) // it is the text of a number
	}
	return r
}

func (n numbers) quantised() ([]byte, error) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range n {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		low, high = 0, 0
	}
	quantum := (high - low) / (noNumber - 1)
	words := make([]byte, 0, 2*len(n))
	for _, v := range n {
		word := uint16(noNumber)
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
		case quantum == 0:
			word = 0
		default:
			word = uint16(math.Round((v - low) / quantum))
		}
		words = binary.LittleEndian.AppendUint16(words, word)
	}
	return json.Marshal(struct {
		Min     float64 `json:"min"`
		Quantum float64 `json:"quantum"`
		Words   string  `json:"words"`
	}{low, quantum, base64.StdEncoding.EncodeToString(words)})
}

// plotArea is the rectangle of a drawing, in units of its view box, whose left and right
// edges are the ends of the x axis and whose lower and upper edges are those of the y
// axis.
type plotArea struct{ X, Y, Width, Height float64 }

// figureAttributes returns the attributes of the svg element of a drawing of a figure:
// the figure's data and the place of the plot area.
func figureAttributes(id string, a plotArea) string {
	return fmt.Sprintf(` data-figure="%s" data-plot="%.5g %.5g %.5g %.5g"`, html.EscapeString(id), a.X, a.Y, a.Width, a.Height)
}

// dataBlock returns the element that holds the data of all figures, and of the map if it
// is not nil, for the script. Its
// text contains no "<", ">" or "&", so that nothing in a name can end it.
func dataBlock(figures []figureData, m *fabricMap) (template.HTML, error) {
	var text bytes.Buffer
	text.WriteString(`<script type="application/json" id="data">`)
	e := json.NewEncoder(&text) // escapes these characters
	if err := e.Encode(struct {
		Figures []figureData `json:"figures"`
		Map     *fabricMap   `json:"map,omitempty"` // of the fabric over time
	}{figures, m}); err != nil {
		return "", err
	}
	text.WriteString("</script>")
	return template.HTML(text.String()), nil
}

// data returns a panel's numbers for the script.
func (p *Panel) data() figureData {
	d := figureData{ID: p.figure, Kind: figureLines, Name: p.name()}
	d.X.Name, d.X.Unit = splitUnit(p.XLabel)
	d.Y.Name, d.Y.Unit = splitUnit(p.YLabel)
	if p.Bars != nil {
		d.Kind = figureBars
		d.X.Max, d.Y.Max = 100, float64(len(p.Bars))
		for i, name := range p.partNames() {
			s := seriesData{Name: name, Colour: partPaint(i).variable()}
			for _, b := range p.Bars {
				s.Values = append(s.Values, 100*b.Parts[i])
			}
			d.Series = append(d.Series, s)
		}
		for _, b := range p.Bars {
			d.Y.Names = append(d.Y.Names, b.Name)
		}
		return d
	}
	d.X.Max = p.XMax
	_, d.Y.Min, d.Y.Max = ticksFrom(p.YMin, p.YMax)
	d.X.Clock, d.X.Microseconds = p.clock, p.microseconds
	for _, l := range p.Lines {
		style := lineStyle(l.Style)
		s := seriesData{Name: l.Name, Colour: style.Color.(paint).variable(), Values: l.Y, Low: l.Low, High: l.High, Beside: l.Beside}
		if style.Dashes != nil {
			s.Dashes = dashArray(style.Dashes)
		}
		if s.Start, s.Step = evenly(l.X); s.Step == 0 {
			s.X = l.X
		}
		d.Series = append(d.Series, s)
	}
	return d
}

// name says what the panel shows.
func (p *Panel) name() string {
	if p.YLabel == "" || p.Title == "" {
		return p.YLabel + p.Title
	}
	return p.YLabel + ": " + p.Title
}

// mostDescribed bounds the series that a description lists.
const mostDescribed = 12

// description says what the panel holds: of lines their ranges, of bars their parts.
func (p *Panel) description() string {
	var all []string
	_, unit := splitUnit(p.YLabel)
	for _, l := range p.Lines {
		low, high := math.Inf(1), math.Inf(-1)
		for _, y := range l.Y {
			if !math.IsNaN(y) {
				low, high = min(low, y), max(high, y)
			}
		}
		text := "no value"
		if low <= high {
			text = strings.TrimSpace(fmt.Sprintf("%s to %s %s", number(low), number(high), unit))
		}
		all = append(all, l.Name+": "+text)
	}
	names := p.partNames()
	for _, b := range p.Bars {
		var parts []string
		for i, share := range b.Parts {
			if share > 0 {
				parts = append(parts, names[i]+" "+percent(share))
			}
		}
		all = append(all, b.Name+": "+strings.Join(parts, ", "))
	}
	for _, m := range p.Marks {
		all = append(all, "a level line: "+m.Name)
	}
	if more := len(all) - mostDescribed; more > 0 {
		all = append(all[:mostDescribed], fmt.Sprintf("and %d more", more))
	}
	over := ""
	if p.Lines != nil {
		over = "Over " + p.XLabel + ". "
	}
	return over + strings.Join(all, "; ") + "."
}

// partNames returns the names of the parts of bars: those of the legend where there are
// some.
func (p *Panel) partNames() []string {
	if p.partLabels != nil {
		return p.partLabels
	}
	return p.Parts
}

// splitUnit cuts "quantity (unit)".
func splitUnit(label string) (name, unit string) {
	if n := len(label); n > 0 && label[n-1] == ')' {
		for i := n - 2; i > 0; i-- {
			if label[i] == '(' {
				return label[:i-1], label[i+1 : n-1]
			}
		}
	}
	return label, ""
}

// evenly returns the first of points at equal distances and the distance, or 0 and 0
// when the distances are not equal or there are fewer than two points.
func evenly(x []float64) (start, step float64) {
	if len(x) < 2 {
		return 0, 0
	}
	step = (x[len(x)-1] - x[0]) / float64(len(x)-1)
	for i, v := range x {
		if !(math.Abs(v-(x[0]+float64(i)*step)) < 1e-6*step) {
			return 0, 0
		}
	}
	return x[0], step
}

// areaOf returns the plot area of a rectangle of gonum's canvas of a height, whose y
// axis points upwards.
func areaOf(r vg.Rectangle, height vg.Length) plotArea {
	size := r.Size()
	return plotArea{X: float64(r.Min.X), Y: float64(height - r.Max.Y), Width: float64(size.X), Height: float64(size.Y)}
}
