package campaign

import (
	"context"
	"errors"
	"testing"
	"time"
)

// What ends with its context has no result, however fast it is, and begins only in time.
func TestMeanwhileOfAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan struct{}, 2)
	f := func() (int, error) {
		called <- struct{}{}
		cancel()
		return 1, nil
	}
	for i := range 2 {
		if value, err := Meanwhile(ctx, f); value != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: %d, %v; want no result of an ended context", i+1, value, err)
		}
	}
	<-called
	select {
	case <-called:
		t.Error("f was called of an ended context")
	case <-time.After(50 * time.Millisecond):
	}
}
