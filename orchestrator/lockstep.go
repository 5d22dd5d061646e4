package orchestrator

import (
	"context"
	"fmt"
)

// lockstep runs a plan with real frames between network namespaces.
func (r *runner) lockstep(ctx context.Context, p *Plan, fraction func(float64)) (*outcome, error) {
	return nil, fmt.Errorf("%w: runtime netns is not wired yet", ErrInfrastructure)
}
