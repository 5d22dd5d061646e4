package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// manyOperations is how many rows of a run operations.parquet gets at most with
// telemetry.operations auto. A row takes about 30 bytes on disk, and a microsecond or two to
// write.
const manyOperations = 2_000_000

// keepOperations says of each job which operations the tables keep, and returns a note if
// these are not all although nobody said so.
func keepOperations(jobs []metrics.JobInfo, telemetry string) (notes []string) {
	steps, _ := experiment.ParseOperations(telemetry) // it was checked when it was read
	var all, one, most int64                          // records of all steps, and of a step of each job
	for i := range jobs {
		j := &jobs[i]
		all, one, most = all+j.Records*int64(j.Steps), one+j.Records, max(most, int64(j.Steps))
	}
	for i := range jobs {
		k := &jobs[i].Kept
		*k = metrics.Kept{First: min(steps, jobs[i].Steps), Messages: true}
		switch {
		case steps >= 0:
		case all <= manyOperations:
			k.First = jobs[i].Steps
		default:
			k.First = max(1, int(manyOperations/max(one, 1))-1)
			k.Messages = one*min(2, most) <= manyOperations
		}
	}
	switch {
	case steps >= 0 || all <= manyOperations:
		return nil
	case one*min(2, most) > manyOperations:
		return []string{fmt.Sprintf("operations.parquet will lack the sends and receives of jobs, and all of the steps between the first and the last: a step has %d; telemetry.operations says otherwise", one)}
	}
	return []string{fmt.Sprintf("operations.parquet will have the first %d steps of each job and the last one: all steps have %d operations; telemetry.operations says otherwise", jobs[0].Kept.First, all)}
}
