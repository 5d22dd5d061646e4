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
	// Halves go up, as in reports.
	digits := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return strconv.FormatFloat(math.Round(v*digits)/digits, 'g', 4, 64)
}
