package chart

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
)

// Kind says what a chart shows and so how the page's script reads its data.
type Kind string

// Kinds. The comments say what the axes and the series of Data are. The script knows the
// first three; the last is for CSV alone.
const (
	KindLines  Kind = "lines"  // a series is a line: its X are values of the x axis, its Values of the y axis
	KindBars   Kind = "bars"   // a series is a part of all bars: its Values are on the x axis, one for each name of the y axis
	KindMatrix Kind = "matrix" // a series is a row, from the top: its Values are the cells from the left; X.Start and X.Step or X.Names say what columns stand for
	KindNamed  Kind = "named"  // a series has Values, each with a name in Names
)

// scripted reports whether the page's script knows the kind.
func (k Kind) scripted() bool { return k != KindNamed }

// Data is the numbers of a chart: for the page's script, and as CSV.
type Data struct {
	ID     string   `json:"id"` // Figure gives it
	Kind   Kind     `json:"kind"`
	Name   string   `json:"name"` // what the chart shows, in words; the script announces it
	X      AxisOf   `json:"x"`
	Y      AxisOf   `json:"y"`
	Value  AxisOf   `json:"value,omitzero"` // of the cells of a matrix, and of named values
	Series []Series `json:"series"`
}

// AxisOf describes an axis, or the scale of colours of a matrix.
type AxisOf struct {
	Name string  `json:"name,omitempty"` // of the quantity
	Unit string  `json:"unit,omitempty"`
	Min  float64 `json:"min"` // at the left or lower edge of the plot area
	Max  float64 `json:"max"` // at the right or upper edge
	// Clock is the name of the time that a time axis shows: ClockRun, or another. When the
	// reader zooms into one chart, the script shows the same span in all charts of the same
	// clock. It is "" when the axis is no time. A unit of the axis has Microseconds.
	Clock        string  `json:"clock,omitempty"`
	Microseconds float64 `json:"us,omitempty"`
	// Start and Step place the columns of a matrix: the left edge of the first one, and the
	// width of each.
	Start float64  `json:"start"`
	Step  float64  `json:"step,omitempty"`
	Names []string `json:"names,omitempty"` // of bars from the top, of the columns of a matrix, or of values that are indices
}

// ClockRun is the model time since the beginning of the run.
const ClockRun = "run"

// Series is a line, a part of bars, the row of a matrix or named values. In a drawing the
// attribute data-series of an element is the index of its series.
type Series struct {
	Name   string `json:"name"`
	Colour string `json:"colour,omitempty"` // CSS variable
	Dashes string `json:"dashes,omitempty"` // stroke-dasharray
	// A point of a line is at Start+i*Step, or at X[i] when Step is 0.
	Start float64 `json:"start,omitempty"`
	Step  float64 `json:"step,omitempty"`
	X     Numbers `json:"xs,omitempty"`

	Values Numbers  `json:"values"`
	Low    Numbers  `json:"low,omitempty"` // edges of the band around a line; left and right of it when it is Beside
	High   Numbers  `json:"high,omitempty"`
	Beside bool     `json:"beside,omitempty"`
	Names  []string `json:"-"` // of values, where each has one of its own; for CSV
}

// add adds a named value and what it lies between.
func (s *Series) add(name string, v, low, high float64) {
	s.Names, s.Values, s.Low, s.High = append(s.Names, clip(name)), append(s.Values, v), append(s.Low, low), append(s.High, high)
}

// Numbers are values that the script gets rounded to six significant digits, or, when they
// are many, in quanta of 1/65534 of their range. NaN means that there is none.
type Numbers []float64

const (
	significantDigits = 6
	manyNumbers       = 2048
	noNumber          = math.MaxUint16
)

// MarshalJSON implements json.Marshaler: an array of numbers and null, or an object with the
// least number, the quantum, and the numbers of quanta as little-endian 16 bit words in
// base64.
func (n Numbers) MarshalJSON() ([]byte, error) {
	if len(n) > manyNumbers {
		return n.quantised()
	}
	text := []byte{'['}
	for i, v := range n {
		if i > 0 {
			text = append(text, ',')
		}
		if !finite(v) {
			text = append(text, "null"...)
			continue
		}
		text = strconv.AppendFloat(text, rounded(v), 'g', -1, 64)
	}
	return append(text, ']'), nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// rounded returns the number of significantDigits that is nearest to v.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', significantDigits-1, 64), 64)
	if err != nil {
		panic("chart: " + err.Error()) // it is the text of a number
	}
	return r
}

func (n Numbers) quantised() ([]byte, error) {
	low, high := extent(n)
	if low > high {
		low, high = 0, 0
	}
	quantum := (high - low) / (noNumber - 1)
	words := make([]byte, 0, 2*len(n))
	for _, v := range n {
		word := uint16(noNumber)
		switch {
		case !finite(v):
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

// extent returns the least and the greatest finite value, +Inf and -Inf without one.
func extent(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// evenly returns the first of points at equal distances and the distance, or 0 and 0 when
// the distances are not equal or there are fewer than two points.
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
