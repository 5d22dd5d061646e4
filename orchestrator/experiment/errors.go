package experiment

import (
	"errors"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
)

// Error is one thing that is wrong with an experiment, and where.
type Error struct {
	File         string // file, embedded name, or the option or variable it came from: "--set hosts.cc=nsc"
	Line, Column int    // from 1; 0 when the origin has no lines
	Path         string // dotted path of the value, such as topology.fat_tree.tiers[0].rate; may be empty
	Msg          string
	Suggestion   string // what was probably meant; may be empty
}

// Error returns "file:line:column: path: message (did you mean "x"?)".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Path != "" {
		b.WriteString(": " + shorten(e.Path))
	}
	b.WriteString(": " + shorten(e.Msg) + spelling.Hint(e.Suggestion))
	return b.String()
}

// Errors is everything that is wrong with an experiment, in the order of the
// file. It is never empty when returned as an error.
type Errors []*Error

// Error returns one line per error, of the first 50 and then how many more there are.
func (e Errors) Error() string {
	listed := e[:min(len(e), maxListed)]
	lines := make([]string, len(listed))
	for i, one := range listed {
		lines[i] = one.Error()
	}
	if more := len(e) - len(listed); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first *Error.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// PathError is an error in the value of a path of the experiment. Resolved.At
// finds the place of the path in the file.
type PathError struct {
	Path string
	Err  error
}

// Error returns the path and the error.
func (e *PathError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the error without the path.
func (e *PathError) Unwrap() error { return e.Err }

// inputError is an error in an input file, which names the file and the place.
type inputError struct{ error }

// Unwrap returns the error itself.
func (e inputError) Unwrap() error { return e.error }

// inValue returns err as an error in the value of a path. It returns an error that
// has a place already as it is.
func inValue(path string, err error) error {
	var value *PathError
	if err == nil || errors.As(err, &value) || errors.As(err, new(inputError)) {
		return err
	}
	return &PathError{path, err}
}
