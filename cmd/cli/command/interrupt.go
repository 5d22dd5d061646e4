package command

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// sayAfter is after how long a user is told what a command does that shows no progress.
const sayAfter = 5 * time.Second

// Word says a text after sayAfter, unless the function that it returns is called before. That
// function may be called again.
func (a *App) Word(text string) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-time.After(sayAfter):
			a.Say(text)
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
	WordChecking = "reading and checking the experiment takes longer than 5 s: its traces, or the programs of its jobs, are large"
	WordReading  = "reading the workload takes longer than 5 s: it is large"
)

// Interruptible returns what f returns, or an error with exit code 3 once ctx is done.
// f, which may wait for a file or compute for long, is left to the end of the process
// then.
func Interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	value, err := campaign.Meanwhile(ctx, f)
	if err != nil && ctx.Err() != nil {
		err = Infrastructure(errors.New("interrupted"))
	}
	return value, err
}
