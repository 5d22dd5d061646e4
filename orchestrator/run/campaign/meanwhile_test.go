package campaign

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// What ends with its context has no result, however fast it is, and begins only in time.
func TestMeanwhileOfAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		called := 0
		f := func() (int, error) {
			called++
			cancel()
			return 1, nil
		}
		for i := range 2 {
			if value, err := Meanwhile(ctx, f); value != 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("call %d: %d, %v; want no result of an ended context", i+1, value, err)
			}
			synctest.Wait() // for what f does after its context has ended
		}
		if called != 1 {
			t.Errorf("f was called %d times, the last times of an ended context", called)
		}
	})
}
