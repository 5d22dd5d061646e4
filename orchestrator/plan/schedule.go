package plan

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/training"
)

// slotNotes remarks on schedules whose period is shorter than an iteration: than one on
// links at the NIC's rate without congestion (alone, by job), or than what its messages take
// at the narrowest port of their ways, where they have one way each, behind the compute of a
// profile.
func slotNotes(r *run, p *Plan) (notes []string) {
	var demands []Demand
	for i := range r.workload.Jobs {
		job := &r.workload.Jobs[i]
		period := job.Schedule.Period
		if period == 0 {
			continue
		}
		if demands == nil {
			demands = p.Demands()
		}
		iteration, why := r.jobs.alone[i], "without congestion"
		if d := &demands[i]; d.Ambiguous == "" {
			narrowest := 0.0 // ps
			for _, port := range d.Ports {
				narrowest = max(narrowest, port.Bytes*8/float64(port.Rate)*float64(units.Second))
			}
			least := units.Duration(math.Round(narrowest))
			if source, ok := job.Source.(*training.ProfileSource); ok {
				before, _ := source.Config.Computes()
				least += before
			}
			if least > iteration {
				iteration, why = least, "with its narrowest link for itself"
			}
		}
		if iteration > period {
			notes = append(notes, fmt.Sprintf("jobs[%d].schedule.period: %v is shorter than an iteration of %s, which takes %v %s: its phases come later for their slots each time, and wait for the next slot now and then",
				i, period, job.Name, iteration/units.Microsecond*units.Microsecond, why))
		}
	}
	return notes
}
