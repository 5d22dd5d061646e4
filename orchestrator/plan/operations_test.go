package plan

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// docs/reference/telemetry.md#what-is-recorded: "auto keeps all as long as they are no more than 2 million
// rows. Beyond that it keeps as many steps as fit, from the first one, and the last one."
func TestOperationsThatAreKept(t *testing.T) {
	for _, c := range []struct {
		telemetry experiment.Operations
		records   int64 // of a step
		steps     int
		want      metrics.Kept
		note      string
	}{
		{experiment.AutoOperations, 1000, 100, metrics.Kept{First: 100, Messages: true}, ""},
		{experiment.AutoOperations, 20_000, 100, metrics.Kept{First: 100, Messages: true}, ""},
		{experiment.AutoOperations, 200_000, 100, metrics.Kept{First: 9, Messages: true}, "the first 9 steps of each job and the last one"},
		{experiment.AutoOperations, 900_000, 100, metrics.Kept{First: 1, Messages: true}, "the first 1 steps of each job and the last one"},
		{experiment.AutoOperations, 1_100_000, 100, metrics.Kept{First: 1}, "will lack the sends and receives"},
		{experiment.AutoOperations, 1_100_000, 1, metrics.Kept{First: 1, Messages: true}, ""},
		{experiment.AutoOperations, 2_100_000, 1, metrics.Kept{First: 1}, "will lack the sends and receives"},
		{experiment.AllOperations, 2_100_000, 7, metrics.Kept{First: 7, Messages: true}, ""},
		{experiment.NoOperations, 1, 7, metrics.Kept{Messages: true}, ""},
		{3, 2_100_000, 7, metrics.Kept{First: 3, Messages: true}, ""},
		{30, 1, 7, metrics.Kept{First: 7, Messages: true}, ""},
	} {
		jobs := []metrics.JobInfo{{Steps: c.steps, Records: c.records}}
		notes := keepOperations(jobs, c.telemetry)
		if jobs[0].Kept != c.want || (c.note == "") != (len(notes) == 0) || !strings.Contains(strings.Join(notes, ""), c.note) {
			t.Errorf("%s, %d steps of %d: %+v and %q, want %+v and %q", c.telemetry, c.steps, c.records, jobs[0].Kept, notes, c.want, c.note)
		}
	}
}
