package algorithm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/units"
)

// Kind is the type of a parameter's text.
type Kind string

// Kinds of parameter.
const (
	Bool     Kind = "bool"
	Number   Kind = "number" // a real number
	Int      Kind = "int"
	Duration Kind = "duration"
	Size     Kind = "size"
	Rate     Kind = "rate"
	Enum     Kind = "enum"
)

// Auto is the usual word for a default that depends on where the algorithm runs.
const Auto = "auto"

// Param is a parameter of an algorithm.
type Param struct {
	Name    string
	Kind    Kind
	Default string   // may be a word instead of the kind, such as Auto; "" is no default
	Values  []string // of an Enum
	Doc     string   // one line
	// Check tests what the kind does not, on a canonical text of the kind that is
	// not the default; nil tests nothing.
	Check func(text string) error
	// NeedsTag says that any value but the default needs CSIG tags on the packets.
	NeedsTag bool
	// With says of what another parameter must have for any value but the default; nil:
	// nothing.
	With *Condition
}

// Condition holds if a parameter has one of some values.
type Condition struct {
	Param  string
	Values []string
}

// Parse checks a text and returns it in its canonical form, in which equal
// values have equal texts.
func (p Param) Parse(text string) (canonical string, err error) {
	if text == p.Default {
		return text, nil // it may be a word
	}
	if canonical, err = p.parseKind(text); err == nil && p.Check != nil {
		err = p.Check(canonical)
	}
	return canonical, err
}

func (p Param) parseKind(text string) (canonical string, err error) {
	switch p.Kind {
	case Bool:
		_, err = parseBool(text)
		return text, err
	case Int:
		v, err := parseInt(text)
		return strconv.Itoa(v), err
	case Number:
		v, err := parseNumber(text)
		return strconv.FormatFloat(v, 'g', -1, 64), err
	case Duration:
		v, err := units.ParseDuration(text)
		return v.String(), err
	case Size:
		v, err := units.ParseSize(text)
		return v.String(), err
	case Rate:
		v, err := units.ParseRate(text)
		return v.String(), err
	case Enum:
		if !slices.Contains(p.Values, text) {
			return "", fmt.Errorf("unknown value %q; known: %s", text, strings.Join(p.Values, " "))
		}
		return text, nil
	}
	panic(fmt.Sprintf("algorithm: parameter %s has the unknown kind %q", p.Name, p.Kind))
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, fmt.Errorf("%q is not true or false", text)
	}
	return text == "true", nil
}

func parseInt(text string) (int, error) {
	v, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return v, nil
}

func parseNumber(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return v, nil
}

// Share is a Check of a Number: above 0, up to 1.
func Share(text string) error {
	if v, err := parseNumber(text); err != nil || v <= 0 || v > 1 {
		return fmt.Errorf("%s is not in (0, 1]", text)
	}
	return nil
}

// Between returns a Check of an Int or a Number: from low to high.
func Between(low, high float64) func(text string) error {
	return func(text string) error {
		if v, err := parseNumber(text); err != nil || v < low || v > high {
			return fmt.Errorf("%s is not from %v to %v", text, low, high)
		}
		return nil
	}
}

// Positive returns a Check of what parse reads, such as units.ParseSize: above 0.
func Positive[T ~int64](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		if v, err := parse(text); err != nil || v <= 0 {
			return fmt.Errorf("%s is not positive", text)
		}
		return nil
	}
}

// NotNegative returns a Check of what parse reads: 0 or more.
func NotNegative[T ~int64](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		if v, err := parse(text); err != nil || v < 0 {
			return fmt.Errorf("%s is negative", text)
		}
		return nil
	}
}
