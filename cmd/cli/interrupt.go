package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// sayAfter is after how long a user is told what a command does that shows no progress.
const sayAfter = 5 * time.Second

// word says a text after sayAfter, unless the function that it returns is called before. That
// function may be called again.
func (a *app) word(text string) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-time.After(sayAfter):
			a.say(text)
		case <-over:
		}
	}()
	return sync.OnceFunc(func() {
		close(over)
		<-ended
	})
}

// Texts of word.
const (
	wordChecking = "reading and checking the experiment takes longer than 5 s: its traces, or the programs of its jobs, are large"
	wordReading  = "reading the workload takes longer than 5 s: it is large"
)

// interruptible returns what f returns, or an error with exit code 3 once ctx is done.
// f, which may wait for a file or compute for long, is left to the end of the process
// then.
func interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	value, err := campaign.Meanwhile(ctx, f)
	if err != nil && ctx.Err() != nil {
		err = infrastructure(errors.New("interrupted"))
	}
	return value, err
}
