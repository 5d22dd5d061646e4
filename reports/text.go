package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// none is shown in place of a missing value.
const none = "–"

// number prints v with four significant digits, or all digits of its whole part
// when it has more, grouped by three with narrow spaces.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return none
	}
	decimals := 0
	if a := math.Abs(v); a > 0 && a < 1000 {
		decimals = 3 - int(math.Floor(math.Log10(a)))
	}
	text := strconv.FormatFloat(v, 'f', min(decimals, 12), 64)
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	if len(whole) > 4 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "\u202f" + whole[i:]
		}
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// optional returns a cell with a number, or with none.
func optional(v *float64) cell {
	if v == nil {
		return cell{Text: none}
	}
	return cell{Text: number(*v)}
}

// in returns the spread in another unit.
func (s scale) in(v analysis.Spread) analysis.Spread {
	v.Min, v.Max = v.Min*s.factor, v.Max*s.factor
	return v
}

// spread prints a range over the seeds as "min … max (n)".
func spread(s analysis.Spread) string {
	switch s.Count {
	case 0:
		return none
	case 1:
		return "one seed"
	}
	low, high := number(s.Min), number(s.Max)
	if low == high {
		return fmt.Sprintf("%s (%d)", low, s.Count)
	}
	return fmt.Sprintf("%s … %s (%d)", low, high, s.Count)
}

// depth prints a queue in bytes and as the time that the link takes for it. No
// line breaks between a number and its unit.
func depth(bytes float64, rate int64) string {
	text := amount(bytes/1000, scalesOfSizes)
	if rate > 0 {
		text += " (" + tenths(bytes*8e6/float64(rate), scalesOfDelays) + ")"
	}
	return text
}

// amount prints a value, in the unit of factor 1, in the unit that fits it. A number of
// two or more digits is rounded to a whole one, or else to a tenth.
func amount(value float64, scales []scale) string {
	unit := scaleFor(math.Abs(value), scales)
	if v := value * unit.factor; math.Abs(v) >= 10 {
		return number(math.Round(v)) + "\u00a0" + unit.unit
	}
	return tenths(value, scales)
}

// tenths prints a value like amount, but rounded to a tenth whatever its digits.
func tenths(value float64, scales []scale) string {
	unit := scaleFor(math.Abs(value), scales)
	return number(math.Round(10*value*unit.factor)/10) + "\u00a0" + unit.unit
}

// span prints a time in microseconds, with all digits that number shows.
func span(us float64) string {
	unit := scaleFor(us, scalesOfDelays)
	return number(us*unit.factor) + "\u00a0" + unit.unit
}

func percent(share float64) string { return number(math.Round(share*1000)/10) + " %" }

// prefix returns the first digits of a hash.
func prefix(hash string) string { return hash[:min(len(hash), 12)] }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// scale is a unit that values are shown in, and its factor: the number of these
// units in one of the unit that the values are given in.
type scale struct {
	unit   string
	factor float64
}

// Scales by falling unit; values are given in that of factor 1.
var (
	scalesOfTimes  = []scale{{"s", 1e-3}, {"ms", 1}, {"µs", 1e3}}
	scalesOfDelays = []scale{{"s", 1e-6}, {"ms", 1e-3}, {"µs", 1}, {"ns", 1e3}}
	scalesOfRates  = []scale{{"Gb/s", 1}, {"Mb/s", 1e3}, {"kb/s", 1e6}, {"b/s", 1e9}}
	scalesOfSizes  = []scale{{"GB", 1e-6}, {"MB", 1e-3}, {"kB", 1}, {"B", 1e3}}
)

// scalesOf returns the scales of values that are given in a unit.
func scalesOf(unit string) []scale {
	for _, scales := range [][]scale{scalesOfDelays, scalesOfRates, scalesOfSizes} {
		for _, s := range scales {
			if s == (scale{unit, 1}) {
				return scales
			}
		}
	}
	return []scale{{unit, 1}}
}

// scaleFor returns the greatest unit of which a value has at least one, or the
// least one; of 0 the unit that values are given in.
func scaleFor(value float64, scales []scale) scale {
	for _, s := range scales {
		if value*s.factor >= 1 || value == 0 && s.factor == 1 {
			return s
		}
	}
	return scales[len(scales)-1]
}

func (s scale) apply(values []float64) {
	for i := range values {
		values[i] *= s.factor
	}
}
