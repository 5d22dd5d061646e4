package experiment

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Schedule keeps a job's communication at slots; see graph.Schedule.
type Schedule struct {
	Period     units.Duration `yaml:"period" is:"1us to 24h or none as -1" default:"none" doc:"[flow scheduling](../how-to/jobs.md#flow-scheduling) of kinds 'model', 'pipeline' and 'profile': the time from slot to slot; none: no schedule. A communication phase that is ready before a slot waits for it. Kind 'profile' waits between compute and communication, the others at the beginning of a step. 'scale' does not change it"`
	Offset     units.Duration `yaml:"offset" is:"time or auto as -1" default:"auto" doc:"of the first slot since the beginning of the run, below 'period'; auto: 'start', with kind 'profile' plus its compute, so that a job begins by itself at its slot"`
	Correction units.Duration `yaml:"correction" is:"time or auto as -1" default:"auto" doc:"how long a phase waits at most. If the next slot is further away, the phase is late and goes on at once; auto: nine tenths of 'period', so that a phase that is later than a tenth of it waits for the next slot; with half of it two jobs that have met [may stay together](../explanation/jobs.md#how-long-until-phases-are-apart-again)"`
}

// noSchedule is the Schedule.Period of a job without a schedule.
const noSchedule units.Duration = -1

// autoSchedule is the Schedule.Offset or Schedule.Correction that is not given.
const autoSchedule units.Duration = -1

// JobPhases is a JobSpec whose communication phase does not begin with the step.
type JobPhases interface {
	// Computes returns how long a rank computes in a step before it communicates, without
	// jitter.
	Computes() units.Duration
}

// schedule checks the schedule of a job.
func (d *decoder) schedule(j *Job, path string) {
	s, path := &j.Schedule, path+".schedule"
	switch j.Spec.(type) {
	case CollectiveJob, TraceJob:
		if *s != (Schedule{noSchedule, autoSchedule, autoSchedule}) {
			d.failAt(path, "is for jobs whose steps compute: model, pipeline and profile", "")
		}
		return
	}
	if s.Period == noSchedule {
		for _, k := range []struct {
			key   string
			given bool
		}{{"offset", s.Offset != autoSchedule}, {"correction", s.Correction != autoSchedule}} {
			if k.given {
				d.failAt(path+"."+k.key, "needs schedule.period, the time from slot to slot", "")
			}
		}
		return
	}
	if s.Offset >= s.Period {
		d.failAt(path+".offset", fmt.Sprintf("%v is not below schedule.period, %v", s.Offset, s.Period), "")
	}
	if s.Correction == 0 {
		d.failAt(path+".correction", "0s holds no phase back; without schedule.period there are no slots", "")
	}
	if s.Correction > s.Period {
		d.failAt(path+".correction", fmt.Sprintf("%v is longer than schedule.period, %v", s.Correction, s.Period), "")
	}
}

// slots returns the schedule with what auto became.
func (j *Job) slots() graph.Schedule {
	s := graph.Schedule(j.Schedule)
	if s.Period == noSchedule {
		return graph.Schedule{}
	}
	if s.Offset == autoSchedule {
		s.Offset = j.Start
		if phases, ok := j.Spec.(JobPhases); ok {
			s.Offset += phases.Computes()
		}
		s.Offset %= s.Period
	}
	if s.Correction == autoSchedule {
		// A phase that is late by more than a tenth waits for its next slot. With half of the
		// period two jobs that meet can stay together for ever (docs/how-to/jobs.md).
		s.Correction = s.Period / 10 * 9
	}
	return s
}

// autoSchedule returns in words what the value auto of a key of the schedule became.
func (j *Job) autoSchedule(key string) string {
	switch s := j.slots(); {
	case s.Period == 0:
		return "not used: without period there is no schedule"
	case key == "schedule.offset":
		return s.Offset.String()
	default:
		return s.Correction.String()
	}
}
