package algorithm

import (
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/units"
)

// Reader reads the parameters of one algorithm by name: the value that was set,
// or else the default. It keeps the first error, so that the reads in a row need
// no checks. A parameter that the algorithm does not declare, or reads by
// another kind than it declares, is our own mistake: that panics.
type Reader struct {
	spec   Spec
	values Values
	err    error
	// auto has the values that Auto stands for, nil unless somebody asks for them.
	auto Values
}

// Read returns a reader of the values. Its error is that of Check from the
// start.
func (s Spec) Read(v Values) *Reader { return &Reader{spec: s, values: v, err: s.Check(v)} }

// Build checks the values of an algorithm's parameters and then calls build,
// which reads them and may call Fail. With an error the result is the zero T.
func Build[T any](s Spec, v Values, build func(*Reader) T) (T, error) {
	var none T
	r, built := buildOne(s, v, build)
	if r.err != nil {
		return none, r.err
	}
	return built, nil
}

// Maker checks the values as Build does and returns a reader of them, with which build
// succeeds each time, for many that are built alike.
func Maker[T any](s Spec, v Values, build func(*Reader) T) (*Reader, error) {
	r, _ := buildOne(s, v, build)
	return r, r.err
}

func buildOne[T any](s Spec, v Values, build func(*Reader) T) (r *Reader, built T) {
	if r = s.Read(v); r.err == nil {
		built = build(r)
	}
	return r, built
}

// Resolve returns the value of every parameter of an algorithm as text: the one that is
// set, or else the default, and for Auto what build reads in its place with OrAuto. A
// parameter stays Auto if build does not read it so.
func Resolve(s Spec, v Values, build func(*Reader)) (Values, error) {
	r := s.Read(v)
	r.auto = Values{}
	if r.err == nil {
		build(r)
	}
	if r.err != nil {
		return nil, r.err
	}
	all := make(Values, len(s.Params))
	for _, p := range s.Params {
		text := r.Text(p.Name)
		if value, ok := r.auto[p.Name]; ok {
			text = value
		}
		all[p.Name] = text
	}
	return all, nil
}

// Err returns the first error, nil without one.
func (r *Reader) Err() error { return r.err }

// Fail refuses the value of a parameter for a reason that depends on more than
// its text.
func (r *Reader) Fail(name string, err error) {
	if r.err == nil {
		r.err = &ParamError{r.spec.Name, name, err}
	}
}

// Inner returns a reader for an algorithm that r's algorithm wraps: of r's parameters those
// that it declares, too. What r has for Auto, the inner one records. Its errors are r's
// when Build calls Adopt.
func (r *Reader) Inner(s Spec) *Reader {
	values := Values{}
	for _, p := range s.Params {
		if text, ok := r.values[p.Name]; ok {
			values[p.Name] = text
		}
	}
	inner := s.Read(values)
	inner.auto = r.auto
	return inner
}

// Adopt takes the error of an inner reader as r's own.
func (r *Reader) Adopt(inner *Reader) {
	var param *ParamError
	switch {
	case inner.err == nil || r.err != nil:
	case errors.As(inner.err, &param):
		r.Fail(param.Param, param.Err)
	default:
		r.err = inner.err
	}
}

// Text returns the text of a parameter of any kind.
func (r *Reader) Text(name string) string {
	p := r.param(name)
	if v, ok := r.values[name]; ok {
		return v
	}
	return p.Default
}

// OrAuto reads a parameter by one of the reader's methods, such as r.Size; the
// text Auto stands for the given value.
func OrAuto[T any](r *Reader, name string, read func(name string) T, auto T) T {
	if r.Text(name) == Auto {
		if r.auto != nil {
			r.auto[name] = fmt.Sprint(auto)
		}
		return auto
	}
	return read(name)
}

// Bool returns a parameter of that kind.
func (r *Reader) Bool(name string) bool { return read(r, name, Bool, parseBool) }

// Number returns a parameter of that kind.
func (r *Reader) Number(name string) float64 { return read(r, name, Number, parseNumber) }

// Int returns a parameter of that kind.
func (r *Reader) Int(name string) int { return read(r, name, Int, parseInt) }

// Duration returns a parameter of that kind.
func (r *Reader) Duration(name string) units.Duration {
	return read(r, name, Duration, units.ParseDuration)
}

// Size returns a parameter of that kind.
func (r *Reader) Size(name string) units.Size { return read(r, name, Size, units.ParseSize) }

// Rate returns a parameter of that kind.
func (r *Reader) Rate(name string) units.Rate { return read(r, name, Rate, units.ParseRate) }

func (r *Reader) param(name string) Param {
	p, ok := r.spec.Param(name)
	if !ok {
		panic("algorithm: " + r.spec.Name + " reads the undeclared parameter " + name)
	}
	return p
}

func read[T any](r *Reader, name string, kind Kind, parse func(string) (T, error)) T {
	if p := r.param(name); p.Kind != kind {
		panic("algorithm: " + r.spec.Name + " reads the parameter " + name + " as " + string(kind) + "; it is declared as " + string(p.Kind))
	}
	v, err := parse(r.Text(name))
	if err != nil {
		r.Fail(name, err)
	}
	return v
}
