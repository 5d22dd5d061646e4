package shards

import (
	"errors"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/orchestrator/backend"
)

// fault is an error of a backend in a form that can be sent.
type fault struct {
	Node        *backend.NodeError
	Link        *emu.LinkError
	Part        *gateway.PartError
	Program     int // 1 plus the number of the program that cannot be started
	Unavailable bool
	Remains     bool
	Ended       bool // somebody has ended the shard itself, by a signal
	Text        string
}

func asFault(err error) *fault {
	f := &fault{Text: err.Error(), Unavailable: errors.Is(err, backend.ErrUnavailable), Remains: errors.Is(err, backend.ErrRemains)}
	var program *backend.ProgramError
	if errors.As(err, &program) {
		f.Program = program.Index + 1
	}
	errors.As(err, &f.Part)
	if !errors.As(err, &f.Link) {
		errors.As(err, &f.Node)
	}
	return f
}

// Error is an error of one shard. It wraps that of its backend.
type Error struct {
	Shard string // its name
	Err   error
}

func (e *Error) Error() string { return e.Shard + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// sentinel wraps an error without repeating its text.
type sentinel struct {
	error
	text string
}

func (s sentinel) Error() string { return s.text }
func (s sentinel) Unwrap() error { return s.error }

// err returns the error that a shard has reported.
func (f *fault) err() error {
	switch {
	case f.Link != nil:
		return f.Link
	case f.Part != nil:
		return f.Part
	case f.Node != nil:
		return f.Node
	case f.Program > 0:
		return &backend.ProgramError{Index: f.Program - 1, Err: errors.New(f.Text)}
	case f.Remains:
		return sentinel{backend.ErrRemains, f.Text}
	case f.Unavailable:
		return fmt.Errorf("%w%s", backend.ErrUnavailable, strings.TrimPrefix(f.Text, backend.ErrUnavailable.Error()))
	}
	return errors.New(f.Text)
}
