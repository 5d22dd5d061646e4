package shards

import "github.com/csiglab/csiglab/orchestrator/backend"

// fault is an error of a backend in a form that can be sent.
type fault struct {
	backend.Failure
	Ended bool // somebody has ended the shard itself, by a signal
}

// Error is an error of one shard. It wraps that of its backend.
type Error struct {
	Shard string // its name
	Err   error
}

func (e *Error) Error() string { return e.Shard + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
