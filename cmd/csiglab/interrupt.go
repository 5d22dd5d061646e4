package main

import (
	"context"
	"errors"
)

// interruptible returns what f returns, or an error with exit code 3 once ctx is done.
// f, which may wait for a file or compute for long, is left to the end of the process
// then.
func interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, infrastructure(errors.New("interrupted"))
	}
}
