package cli

import (
	"context"
	"errors"

	"github.com/csiglab/csiglab/orchestrator/campaign"
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
