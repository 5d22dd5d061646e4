package netns

import (
	"context"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Find implements runs.Finder: it adds the processes of the runs. A run's processes
// carry its id in their environment; namespaces and links vanish with the processes.
func (Backend) Find(_ context.Context, list []runs.Run) ([]runs.Run, error) {
	owned := runs.Processes()
	for i := range list {
		list[i].Processes = owned[list[i].ID]
	}
	return list, nil
}

// Remove implements runs.Finder: it kills the processes of a run.
func (Backend) Remove(_ context.Context, r runs.Run) (removed []string, err error) {
	return runs.Kill(r.ID)
}
