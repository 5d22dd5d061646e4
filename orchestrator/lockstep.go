package orchestrator

import (
	"context"
	"errors"
)

// lockstep runs a plan with real frames between network namespaces.
func (r *runner) lockstep(ctx context.Context, p *Plan, fraction func(float64)) (*outcome, error) {
	return nil, infrastructure(errors.New("runtime netns is not wired yet"))
}
