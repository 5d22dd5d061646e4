package regression

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/words"
)

// space joins a number and its unit.
const space = "\u00a0"

// share prints a share as a percentage.
func share(v float64) string { return words.Number(math.Round(v*1e4)/100) + space + "%" }

// significant rounds to three significant digits, so that small differences of large
// numbers remain readable.
func significant(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// signed prints a number with its sign.
func signed(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+∞"
	case math.IsInf(v, -1):
		return "−∞"
	case v > 0:
		return "+" + number(v)
	case v == 0:
		return "0" // of either sign
	}
	return number(v)
}

// number prints a number like words.Number, and those of very many digits shorter.
func number(v float64) string {
	if math.Abs(v) < 1e15 || math.IsInf(v, 0) || math.IsNaN(v) {
		return words.Number(v)
	}
	return strings.Replace(strconv.FormatFloat(v, 'e', 2, 64), "-", "−", 1)
}

// effectUnit returns the unit of a metric's effects and what they are multiplied with.
func (m *metric) effectUnit(values ...float64) (unit string, factor float64) {
	if !m.Absolute {
		return "%", 100
	}
	return words.ScaleOf(m.Unit, values...)
}

// ofEffect returns a worsening as an effect, and the other way round: with the sign that
// the metric's value takes.
func (m *metric) ofEffect(v float64) float64 {
	if m.falls && v != 0 {
		return -v
	}
	return v
}

// rounded prints an effect with three significant digits, and of a percentage not more
// than two decimals.
func (m *metric) rounded(v, factor float64) string {
	v = significant(v * factor)
	if !m.Absolute {
		v = math.Round(v*100) / 100
	}
	return signed(v)
}

// change prints a worsening as the effect that it is, with its unit: +11.8 %.
func (m *metric) change(worse float64) string {
	if math.IsNaN(worse) {
		return words.None
	}
	effect := m.ofEffect(worse)
	unit, factor := m.effectUnit(effect)
	return join(m.rounded(effect, factor), unit)
}

// between prints the interval of the effect: +8.1 … +15.2 %.
func (m *metric) between() string {
	if math.IsInf(m.low, -1) && math.IsInf(m.high, 1) {
		return words.None
	}
	low, high := m.ofEffect(m.low), m.ofEffect(m.high)
	if low > high {
		low, high = high, low
	}
	unit, factor := m.effectUnit(low, high)
	return join(m.rounded(low, factor)+" … "+m.rounded(high, factor), unit)
}

// allowed prints the limit: ≤ +5 %, or ±5 %.
func (m *metric) allowed() string {
	if m.Better == verdict.Same {
		return "±" + strings.TrimLeft(m.change(m.Delta), "+−")
	}
	sign := "≤" + space
	if m.Better == verdict.Higher {
		sign = "≥" + space
	}
	return sign + m.change(m.Delta)
}

// values prints the values of both sides in one unit: 2.31 → 2.58 ms.
func (m *metric) values() string {
	if m.Baseline == nil || m.Candidate == nil {
		one := func(v *float64) string {
			if v == nil {
				return "none"
			}
			unit, factor := words.ScaleOf(m.Unit, *v)
			return join(number(*v*factor), unit)
		}
		if m.Baseline == nil && m.Candidate == nil {
			return words.None
		}
		return one(m.Baseline) + " → " + one(m.Candidate)
	}
	unit, factor := words.ScaleOf(m.Unit, *m.Baseline, *m.Candidate)
	return join(number(*m.Baseline*factor)+" → "+number(*m.Candidate*factor), unit)
}

// direction says in words where the value went: 11.8 % higher.
func (m *metric) direction() string {
	if math.IsNaN(m.worse) {
		return "worse"
	}
	effect := m.ofEffect(m.worse)
	text := strings.TrimPrefix(m.change(m.ofEffect(math.Abs(effect))), "+")
	switch {
	case effect > 0:
		return text + " higher"
	case effect < 0:
		return text + " lower"
	}
	return "the same"
}

// probability prints the metric's P.
func (m *metric) probability() string {
	switch {
	case m.P == nil || math.IsNaN(*m.P):
		return words.None
	case *m.P < 1e-4:
		return "<" + space + "0.0001"
	}
	return strconv.FormatFloat(*m.P, 'g', 2, 64)
}

// over says of what over the seeds the values are, when it is not the median.
func (m *metric) over() string {
	if m.Of == "" || m.Of == "median" {
		return ""
	}
	return m.Of + " over the seeds"
}

func join(number, unit string) string {
	if unit == "" || number == words.None {
		return number
	}
	return number + space + unit
}

// duration prints seconds.
func duration(s float64) string {
	switch {
	case !(s >= 0) || math.IsInf(s, 0):
		return words.None
	case s < 120:
		return words.Number(math.Round(s*10)/10) + space + "s"
	case s < 7200:
		return fmt.Sprintf("%.0f%smin", s/60, space)
	}
	return fmt.Sprintf("%.1f%sh", s/3600, space)
}

// mostSeeds bounds the numbers of seeds that deciding suggests.
const mostSeeds = 2000

// deciding says of an inconclusive metric what would decide it. The width of an interval
// shrinks with the root of the number of seeds.
func (m *metric) deciding() string {
	n := float64(len(m.Pairs))
	var ways []string
	switch {
	case m.Reason != "": // the statistics say it
		ways = append(ways, m.Reason)
	case n == 0 || math.IsNaN(m.worse):
	case math.IsInf(m.low, 0) || math.IsInf(m.high, 0):
		ways = append(ways, fmt.Sprintf("more than %s, which are too few for an interval", spelling.Plural(len(m.Pairs), "seed")))
	default:
		distance, width := m.Delta-m.worse, m.high-m.worse // to the limit, from within it
		if distance < 0 {
			distance, width = -distance, m.worse-m.low
		}
		seeds := math.Ceil(n*math.Pow(width/distance, 2) - 1e-6)
		switch {
		case !(seeds <= mostSeeds):
			ways = append(ways, "no number of seeds that is practical: the change lies at the limit")
		case seeds <= n:
			ways = append(ways, fmt.Sprintf("a few more than %s", spelling.Plural(len(m.Pairs), "seed")))
		default:
			ways = append(ways, fmt.Sprintf("about %.0f seeds (%d were run)", upwards(seeds), len(m.Pairs)))
		}
	}
	if floor, ok := m.floor(); ok && floor > m.Delta && !m.Absolute {
		ways = append(ways, fmt.Sprintf("a quieter machine: its noise alone hides changes below %s", m.change(math.Abs(floor))))
	}
	if !math.IsInf(m.high, 0) && m.high > m.Delta {
		ways = append(ways, fmt.Sprintf("a limit of %s, which would pass", m.change(upwards(m.high))))
	}
	if len(ways) == 0 {
		return "more seeds"
	}
	return strings.Join(ways, "; or ")
}

// floor returns the noise floor of the metric in runs under clock wall.
func (m *metric) floor() (float64, bool) {
	if m.experiment.Noise == nil {
		return 0, false
	}
	floor, ok := m.experiment.Noise.Floor[m.Name]
	return floor, ok
}

// upwards rounds up to two significant digits.
func upwards(v float64) float64 {
	if !(v > 0) {
		return v
	}
	power := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Ceil(v/power-1e-9) * power
}
