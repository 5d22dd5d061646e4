package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// keepSlots corrects the loads of jobs with a schedule, which last at least as long as their
// slots. It remarks on periods that are shorter than an iteration without congestion.
func keepSlots(load *workloads.Workload, traffic []jobTraffic) (notes []string) {
	for i := range load.Jobs {
		job, l := &load.Jobs[i], &traffic[i].load
		period, steps := job.Schedule.Period, units.Duration(job.Source.Steps())
		if period == 0 {
			continue
		}
		alone := l.Length / steps
		if alone > period {
			notes = append(notes, fmt.Sprintf("jobs[%d].schedule.period: %v is shorter than an iteration of %s, which takes %v without congestion: its phases come later for their slots each time, and wait for the next slot now and then",
				i, period, job.Name, alone/units.Microsecond*units.Microsecond))
		}
		l.Length = max(l.Length, (steps-1)*period+alone)
	}
	return notes
}
