package spelling

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Plural returns a count with its noun, such as "1 run" and "2 switches".
func Plural(n int, noun string) string { return fmt.Sprintf("%d %s", n, Noun(n, noun)) }

// Noun returns the form of a noun that goes with a count.
func Noun(n int, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch"):
		return noun + "es"
	}
	return noun + "s"
}

// Number returns a value as text with four digits, or all digits before the point; "-" without
// a value.
func Number(v float64, ok bool) string {
	switch {
	case !ok:
		return "-"
	case v == math.Trunc(v) || math.Abs(v) >= 10000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
