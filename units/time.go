package units

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Time is an instant of model time in picoseconds since the start of the run.
// The zero value is the start. An int64 holds 106 days.
type Time int64

// Duration is a span of model time in picoseconds. It may be negative.
type Duration int64

// Units of model time.
const (
	Picosecond  Duration = 1
	Nanosecond           = 1000 * Picosecond
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
)

// Never is the deadline of a machine that waits for nothing.
const Never Time = math.MaxInt64

// Add returns the instant d after t; a sum past the last instant, and any sum
// with Never, is Never.
func (t Time) Add(d Duration) Time {
	if t == Never || (d > 0 && t > Never-Time(d)) {
		return Never
	}
	return t + Time(d)
}

// Sub returns the span from u to t.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// String prints t as the Duration since the start, or "never".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return Duration(t).String()
}

// Seconds returns d in seconds, for reports and for control laws whose source
// is real-valued.
func (d Duration) Seconds() float64 { return float64(d) / float64(Second) }

// Microseconds returns d in microseconds.
func (d Duration) Microseconds() float64 { return float64(d) / float64(Microsecond) }

var durationUnits = []struct {
	name string
	unit Duration
}{
	{"ps", Picosecond}, {"ns", Nanosecond}, {"us", Microsecond}, {"µs", Microsecond},
	{"ms", Millisecond}, {"s", Second}, {"min", Minute}, {"h", Hour},
}

// ErrNoUnit reports a number without a unit.
var ErrNoUnit = errors.New("a unit is missing")

// ParseDuration reads a decimal number and a unit, such as "1us", "10.5 us" or
// "128ns". Units: ps ns us ms s min h. A number without a unit, an unknown
// unit and a value that is not a whole number of picoseconds are errors.
func ParseDuration(text string) (Duration, error) {
	number, unit := SplitUnit(text)
	if number == "" {
		return 0, fmt.Errorf("%q is not a duration; write a number and a unit, such as 10us", text)
	}
	if unit == "" {
		return 0, fmt.Errorf("duration %q: %w; write %sus, %sms or another of ps ns us ms s min h", text, ErrNoUnit, number, number)
	}
	for _, u := range durationUnits {
		if u.name == unit {
			v, err := Scale(number, int64(u.unit))
			if err != nil {
				return 0, fmt.Errorf("duration %q: %w", text, err)
			}
			return Duration(v), nil
		}
	}
	return 0, fmt.Errorf("duration %q: unknown unit %q; use one of ps ns us ms s min h", text, unit)
}

// String prints d with the largest unit that leaves a short decimal; it parses
// back to the same value.
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	if d < 0 {
		if d == math.MinInt64 {
			return "-9223372036854775808ps"
		}
		return "-" + (-d).String()
	}
	names := []string{"s", "ms", "us", "ns", "ps"}
	sizes := []Duration{Second, Millisecond, Microsecond, Nanosecond, Picosecond}
	for i, size := range sizes {
		if d >= size {
			return FormatDecimal(int64(d), int64(size)) + names[i]
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ps"
}

// SplitUnit cuts text into its leading decimal number and the unit that
// follows, without the spaces between and around them. The number is empty
// when text does not begin with one.
func SplitUnit(text string) (number, unit string) {
	text = strings.TrimSpace(text)
	i := 0
	for i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.' || (i == 0 && (text[i] == '-' || text[i] == '+'))) {
		i++
	}
	return text[:i], strings.TrimSpace(text[i:])
}

// Errors of Scale.
var (
	ErrTooLarge = errors.New("the value is too large")
	ErrTooFine  = errors.New("the value is finer than its smallest unit")
)

// Scale returns the decimal number times unit, which must be positive, as an
// exact integer. The result must be whole (ErrTooFine) and fit in 64 bits with
// its sign (ErrTooLarge).
func Scale(number string, unit int64) (int64, error) {
	digits := strings.TrimPrefix(number, "+")
	negative := strings.HasPrefix(number, "-")
	if negative {
		digits = number[1:]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", number)
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	switch {
	case len(whole) > maxDigits:
		return 0, ErrTooLarge
	case len(fraction) > maxDigits:
		return 0, ErrTooFine // 10^-63 of anything that fits is not whole
	}
	v, _ := new(big.Int).SetString("0"+whole+fraction, 10)
	v.Mul(v, big.NewInt(unit))
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)
	v, rest := v.QuoRem(v, power, new(big.Int))
	switch {
	case rest.Sign() != 0:
		return 0, ErrTooFine
	case negative:
		v.Neg(v)
	}
	if !v.IsInt64() {
		return 0, ErrTooLarge
	}
	return v.Int64(), nil
}

// maxDigits bounds the digits on either side of the point: a unit of 63 bits
// divides into fewer decimal places.
const maxDigits = 63

// FormatDecimal prints value/unit exactly, without trailing zeros. unit must be
// a power of ten; value must not be negative.
func FormatDecimal(value, unit int64) string {
	whole, rest := value/unit, value%unit
	if rest == 0 {
		return strconv.FormatInt(whole, 10)
	}
	digits := len(strconv.FormatInt(unit, 10)) - 1
	fraction := strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
	return strconv.FormatInt(whole, 10) + "." + fraction
}
