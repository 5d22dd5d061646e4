// Package words prints numbers, units and lists for readers, and makes texts of others safe to
// show. It knows nothing of runs.
package words

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// None is shown in place of a missing value.
const None = "–"

// Number prints v with four significant digits, or all digits of its whole part
// when it has more, grouped by three with narrow spaces.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return None
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

// Depth prints a queue in bytes and as the time that the link takes for it. No
// line breaks between a number and its unit.
func Depth(bytes float64, rate int64) string {
	text := Amount(bytes/1000, Sizes)
	if rate > 0 {
		text += " (" + Tenths(bytes*8e6/float64(rate), Delays) + ")"
	}
	return text
}

// Amount prints a value, in the unit of factor 1, in the unit that fits it. A number of
// two or more digits is rounded to a whole one, or else to a tenth.
func Amount(value float64, scales []Scale) string {
	unit := ScaleFor(math.Abs(value), scales)
	if v := value * unit.Factor; math.Abs(v) >= 10 {
		return Number(math.Round(v)) + "\u00a0" + unit.Unit
	}
	return Tenths(value, scales)
}

// Tenths prints a value like amount, but rounded to a tenth whatever its digits.
func Tenths(value float64, scales []Scale) string {
	unit := ScaleFor(math.Abs(value), scales)
	return Number(math.Round(10*value*unit.Factor)/10) + "\u00a0" + unit.Unit
}

// Span prints a time in microseconds, with all digits that number shows.
func Span(us float64) string {
	unit := ScaleFor(us, Delays)
	return Number(us*unit.Factor) + "\u00a0" + unit.Unit
}

// Percent prints a share in per cent, rounded to a tenth.
func Percent(share float64) string { return Number(math.Round(share*1000)/10) + " %" }

// Prefix returns the first digits of a hash.
func Prefix(hash string) string { return hash[:min(len(hash), 12)] }

// SortedKeys returns the keys of a map in their order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Scale is a unit that values are shown in, and its factor: the number of these
// units in one of the unit that the values are given in.
type Scale struct {
	Unit   string
	Factor float64
}

// Scales by falling unit; values are given in that of factor 1.
var (
	Times    = []Scale{{"s", 1e-3}, {"ms", 1}, {"µs", 1e3}}
	Delays   = []Scale{{"s", 1e-6}, {"ms", 1e-3}, {"µs", 1}, {"ns", 1e3}}
	BitRates = []Scale{{"Gb/s", 1}, {"Mb/s", 1e3}, {"kb/s", 1e6}, {"b/s", 1e9}}
	Sizes    = []Scale{{"GB", 1e-6}, {"MB", 1e-3}, {"kB", 1}, {"B", 1e3}}
)

// ScalesOf returns the scales of values that are given in a unit.
func ScalesOf(unit string) []Scale {
	for _, scales := range [][]Scale{Delays, BitRates, Sizes} {
		for _, s := range scales {
			if s == (Scale{unit, 1}) {
				return scales
			}
		}
	}
	return []Scale{{unit, 1}}
}

// ScaleFor returns the greatest unit of which a value has at least one, or the
// least one; of 0 the unit that values are given in.
func ScaleFor(value float64, scales []Scale) Scale {
	for _, s := range scales {
		if value*s.Factor >= 1 || value == 0 && s.Factor == 1 {
			return s
		}
	}
	return scales[len(scales)-1]
}

// Apply multiplies values, in their place.
func (s Scale) Apply(values []float64) {
	for i := range values {
		values[i] *= s.Factor
	}
}

// Three prints a number with three significant digits, or all digits of its whole part.
func Three(v float64) string {
	digits := 2.0
	if a := math.Abs(v); a >= 1 {
		digits = max(0, 2-math.Floor(math.Log10(a)))
	}
	power := math.Pow(10, digits)
	return Number(math.Round(v*power) / power)
}

// Change prints a relative change with its sign.
func Change(share float64) string {
	text := Share2(share)
	switch {
	case share < 0:
		return "−" + text
	case share > 0:
		return "+" + text
	}
	return text
}

// Share2 prints the size of a share in percent, with two significant digits or all of
// its whole part.
func Share2(share float64) string {
	v := math.Abs(100 * share)
	if v >= 9.95 {
		return Number(math.Round(v)) + "\u00a0%"
	}
	return Number(math.Round(v*10)/10) + "\u00a0%"
}

// Capital returns a text with a capital first letter.
func Capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Short prints a time in microseconds with three digits.
func Short(us float64) string {
	unit := ScaleFor(us, Delays)
	return Three(us*unit.Factor) + "\u00a0" + unit.Unit
}

// Plural returns a count with its noun.
func Plural(n int, noun string) string {
	return Number(float64(n)) + " " + spelling.Noun(n, noun)
}

// List joins names, the first few of many.
func List(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	if len(names) > 1 {
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return names[0]
}

// SeedNames returns seed or seeds, and the names of seeds.
func SeedNames(seeds []uint64) (word string, names []string) {
	for _, seed := range seeds {
		names = append(names, fmt.Sprint(seed))
	}
	if len(seeds) == 1 {
		return "seed", names
	}
	return "seeds", names
}

// ScaleOf returns the unit in which values of a unit are shown and what they are multiplied
// with: that of the greatest value. Units that have no others, such as packets, are kept.
func ScaleOf(unit string, values ...float64) (shown string, factor float64) {
	for _, scales := range [][]Scale{Delays, BitRates, Sizes} {
		for _, given := range scales {
			if given.Unit != unit {
				continue
			}
			greatest := 0.0
			for _, v := range values {
				if !math.IsInf(v, 0) && !math.IsNaN(v) {
					greatest = max(greatest, math.Abs(v)/given.Factor)
				}
			}
			if greatest == 0 {
				return unit, 1
			}
			s := ScaleFor(greatest, scales)
			return s.Unit, s.Factor / given.Factor
		}
	}
	return unit, 1
}

// Rate prints bits per second exactly, in the unit that fits.
func Rate(bps int64) string {
	return strings.Replace(Spaced(units.Rate(bps).String()), "bps", "b/s", 1)
}

// Exactly prints a time in microseconds exactly, to the picosecond, in the unit that fits.
func Exactly(us float64) string {
	return strings.Replace(Spaced(units.Duration(math.Round(us*1e6)).String()), "us", "µs", 1)
}

// Spaced separates a number from its unit, such as in 25Gbps.
func Spaced(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	return text[:at] + "\u00a0" + text[at:]
}
