// Package algorithm is what congestion controllers, load balancers and AQM
// policies share: the table that names them, the parameters that each declares,
// and the reader of their values. It knows no algorithm. Packages congestion,
// balance and aqm fill the tables; experiment files are checked against them.
package algorithm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Spec describes an algorithm to those who choose one. Entries of a table embed
// it.
type Spec struct {
	Name   string
	Doc    string // one line
	Params []Param
	// NeedsTag says that the algorithm needs CSIG tags on the packets, whatever its
	// parameters.
	NeedsTag bool
	// Module is the Go module that has registered the algorithm; empty: csiglab has it
	// itself. Register sets it.
	Module string
}

// Describe returns the spec itself; an entry that embeds one is Described by it.
func (s Spec) Describe() Spec { return s }

// Described is an entry of a table.
type Described interface {
	Describe() Spec
}

// Choice names an algorithm and sets some of its parameters. It is plain data.
type Choice struct {
	Name   string
	Params Values
}

// Values are parameters by name, as text. A missing one has its default.
type Values map[string]string

// Check returns an error when a value is of no parameter, or makes no sense by
// itself. An error about the value of a parameter is a *ParamError.
func (s Spec) Check(v Values) error {
	known := 0
	for i := range s.Params {
		p := &s.Params[i]
		text, ok := v[p.Name]
		if !ok {
			continue
		}
		known++
		if _, err := p.Parse(text); err != nil {
			return &ParamError{s.Name, p.Name, err}
		}
		if text != p.Default && p.With != nil {
			if err := s.met(v, p.With); err != nil {
				return &ParamError{s.Name, p.Name, err}
			}
		}
	}
	if known == len(v) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v)) { // the same error every time
		if _, ok := s.Param(name); !ok {
			return fmt.Errorf("%s has no parameter %q", s.Name, name)
		}
	}
	return nil
}

// met returns an error unless a condition holds.
func (s Spec) met(v Values, c *Condition) error {
	text, ok := v[c.Param]
	if !ok {
		p, _ := s.Param(c.Param)
		text = p.Default
	}
	if slices.Contains(c.Values, text) {
		return nil
	}
	return fmt.Errorf("only with %s %s, and that is %s", c.Param, strings.Join(c.Values, " or "), text)
}

// Param returns the parameter of the given name.
func (s Spec) Param(name string) (Param, bool) {
	for _, p := range s.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// ParamError reports a value that makes no sense, by itself or where the
// algorithm is to run.
type ParamError struct {
	Algorithm, Param string
	Err              error
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("%s: parameter %s: %v", e.Algorithm, e.Param, e.Err)
}

func (e *ParamError) Unwrap() error { return e.Err }

// Table is the algorithms of one kind, in the order in which they are listed.
type Table[T Described] []T

// Lookup returns the algorithm of the given name.
func (t Table[T]) Lookup(name string) (entry T, ok bool) {
	for _, e := range t {
		if e.Describe().Name == name {
			return e, true
		}
	}
	return entry, false
}

// Names returns the names of the algorithms.
func (t Table[T]) Names() []string {
	names := make([]string, len(t))
	for i, e := range t {
		names[i] = e.Describe().Name
	}
	return names
}

// Specs returns what the table says of each algorithm.
func (t Table[T]) Specs() []Spec {
	specs := make([]Spec, len(t))
	for i, e := range t {
		specs[i] = e.Describe()
	}
	return specs
}
