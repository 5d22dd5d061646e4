package plan

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/training"
)

// keepSlots corrects the loads of jobs with a schedule, which last at least as long as their
// slots.
func keepSlots(load *workloads.Workload, traffic []jobTraffic) {
	for i := range load.Jobs {
		l, period, steps := &traffic[i].load, load.Jobs[i].Schedule.Period, load.Jobs[i].Source.Steps()
		if period > 0 {
			l.note(int(l.Live), float64(steps-1)*float64(period)+float64(l.Length)/float64(steps))
		}
	}
}

// slotNotes remarks on schedules whose period is shorter than an iteration: than one on
// links at the NIC's rate without congestion (alone, by job), or than what its messages take
// at the narrowest port of their ways, where they have one way each, behind the compute of a
// profile.
func (s *Shape) slotNotes(p *Plan) (notes []string) {
	var demands []Demand
	for i := range s.workload.Jobs {
		job := &s.workload.Jobs[i]
		period := job.Schedule.Period
		if period == 0 {
			continue
		}
		if demands == nil {
			demands = p.Demands()
		}
		iteration, why := s.traffic[i].alone, "without congestion"
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
