package backend

import (
	"errors"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
)

// Failure is an error of a run as plain data, in which it goes to another process. What
// callers ask errors for with errors.Is and errors.As is kept; of all else the text is.
type Failure struct {
	Node        *NodeError
	Link        *emu.LinkError
	Part        *gateway.PartError
	Program     int // 1 plus the number of the program that cannot be started
	Unavailable bool
	Remains     bool
	Text        string
}

// AsFailure returns an error as plain data.
func AsFailure(err error) *Failure {
	f := &Failure{Text: err.Error(), Unavailable: errors.Is(err, ErrUnavailable), Remains: errors.Is(err, ErrRemains)}
	if program, ok := errors.AsType[*ProgramError](err); ok {
		f.Program = program.Index + 1
	}
	if !errors.As(err, &f.Link) && !errors.As(err, &f.Part) {
		errors.As(err, &f.Node)
	}
	return f
}

// Err returns the error that AsFailure was given.
func (f *Failure) Err() error {
	switch {
	case f.Link != nil:
		return f.Link
	case f.Part != nil:
		return f.Part
	case f.Node != nil:
		return f.Node
	case f.Program > 0:
		return &ProgramError{Index: f.Program - 1, Err: errors.New(f.Text)}
	case f.Remains:
		return worded{ErrRemains, f.Text}
	case f.Unavailable:
		return fmt.Errorf("%w%s", ErrUnavailable, strings.TrimPrefix(f.Text, ErrUnavailable.Error()))
	}
	return errors.New(f.Text)
}

// worded wraps an error without repeating its text.
type worded struct {
	error
	text string
}

func (w worded) Error() string { return w.text }
func (w worded) Unwrap() error { return w.error }
