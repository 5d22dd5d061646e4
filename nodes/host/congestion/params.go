package congestion

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/units"
)

// Values are parameters by name, as text. A missing one has its default.
type Values map[string]string

// Check tells whether every value is known and of its kind.
func (a Algorithm) Check(v Values) error {
	for _, name := range slices.Sorted(maps.Keys(v)) { // the same error every time
		if err := a.checkOne(name, v[name]); err != nil {
			return err
		}
	}
	return nil
}

func (a Algorithm) checkOne(name, text string) error {
	for _, p := range a.Params {
		if p.Name != name {
			continue
		}
		if err := p.check(text); err != nil {
			return &ParamError{a.Name, name, err}
		}
		return nil
	}
	return fmt.Errorf("%s has no parameter %q", a.Name, name)
}

func (p Param) check(text string) (err error) {
	if text == p.Default {
		return nil // the default may be a word such as auto
	}
	switch p.Kind {
	case Bool:
		_, err = strconv.ParseBool(text)
	case Number:
		var n float64
		if n, err = strconv.ParseFloat(text, 64); err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
			err = fmt.Errorf("%q is not a finite number", text)
		}
	case Int:
		_, err = strconv.Atoi(text)
	case Duration:
		_, err = units.ParseDuration(text)
	case Size:
		_, err = units.ParseSize(text)
	case Enum:
		if !slices.Contains(p.Values, text) {
			err = fmt.Errorf("%q is none of %q", text, p.Values)
		}
	}
	if err == nil && p.Check != nil {
		err = p.Check(text)
	}
	return err
}

// Checks of parameters.

// share is of a Number in (0, 1].
func share(text string) error {
	if v, err := strconv.ParseFloat(text, 64); err != nil || v <= 0 || v > 1 {
		return fmt.Errorf("%s is not in (0, 1]", text)
	}
	return nil
}

// positive is of what parse reads.
func positive[T ~int64](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		if v, err := parse(text); err != nil || v <= 0 {
			return fmt.Errorf("%s is not positive", text)
		}
		return nil
	}
}

// reader reads the parameters of one algorithm and keeps the first error.
type reader struct {
	algorithm Algorithm
	values    Values
	err       error
}

// read starts reading; the algorithm is passed without its functions, whose
// initialisation would otherwise refer to itself.
func read(name string, params []Param, v Values) *reader {
	a := Algorithm{Name: name, Params: params}
	return &reader{algorithm: a, values: v, err: a.Check(v)}
}

func (r *reader) text(name string) string {
	if v, ok := r.values[name]; ok {
		return v
	}
	for _, p := range r.algorithm.Params {
		if p.Name == name {
			return p.Default
		}
	}
	panic("congestion: undeclared parameter " + name)
}

func (r *reader) fail(err error) {
	if err != nil && r.err == nil {
		r.err = err
	}
}

func (r *reader) bool(name string) bool {
	v, err := strconv.ParseBool(r.text(name))
	r.fail(err)
	return v
}

func (r *reader) number(name string) float64 {
	v, err := strconv.ParseFloat(r.text(name), 64)
	r.fail(err)
	return v
}

// orAuto reads a parameter that may be auto, which is standard.
func orAuto[T any](r *reader, name string, parse func(string) (T, error), standard T) T {
	if r.text(name) == auto {
		return standard
	}
	v, err := parse(r.text(name))
	r.fail(err)
	return v
}

const auto = "auto"
