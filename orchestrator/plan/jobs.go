package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// playedJobs is what playing the jobs of the first seed has shown.
type playedJobs struct {
	loads  []JobLoad
	alone  []units.Duration  // an iteration on links at the NIC's rate without congestion and schedule, about: at least
	shares [][]metrics.Share // of links; nil: there are no two jobs
	full   []fullScale       // by job
}

// JobLoad is what playing a job takes, for predictions.
type JobLoad struct {
	Operations int64 // of all ranks and steps
	Live       int64 // in memory at a time, about
	// Length is how long the job takes on links without congestion, about: at least.
	Length units.Duration
}

// note takes what playing the job has shown, times in ps.
func (l *JobLoad) note(live int64, length float64) {
	l.Live, l.Length = live, max(l.Length, units.Duration(min(length, math.MaxInt64/4)))
}

// playJobs plays the jobs on links without congestion, as far as that is cheap, and
// refuses programs that get stuck. It returns what playing them takes, about the same under
// each seed, and a note of those that it did not play as far as the end of their first step.
func playJobs(e *experiment.Experiment, f *fabric, w *workload) (played playedJobs, notes []string, err error) {
	left := checkedOperations
	for i := range w.Jobs {
		job, load, seed := &w.Jobs[i], w.jobs[i].load, jobSeed(e.Seeds[0], i)
		stuck := func(err error) error { return failure.At("jobs", fmt.Errorf("job %s: %w", job.Name, err)) }
		if inMemory(job.Source) {
			if err := graph.Check(job.Source, seed); err != nil {
				return played, nil, stuck(err)
			}
		}
		if w.jobs[i].records > int64(left) {
			notes = append(notes, fmt.Sprintf("job %s: a step has %d operations; whether its ranks wait for each other for ever was not checked", job.Name, w.jobs[i].records))
		} else {
			timeline, err := graph.Ideal(job.Source, seed, graph.Link{Rate: f.rate(0), Latency: units.Microsecond, Most: left})
			scale := 1.0
			switch {
			case errors.Is(err, graph.ErrLimit): // its first steps do not get stuck
				left = 0
				scale = float64(load.Operations) / float64(max(1, timeline.Operations))
			case err != nil:
				return played, nil, stuck(err)
			default:
				left -= timeline.Operations
			}
			load.note(int64(timeline.Live), float64(timeline.End)*scale)
		}
		steps, period := job.Source.Steps(), job.Schedule.Period
		played.alone = append(played.alone, load.Length/units.Duration(steps))
		if period > 0 { // the job lasts at least as long as its slots
			load.note(load.Live, float64(steps-1)*float64(period)+float64(load.Length)/float64(steps))
		}
		played.loads = append(played.loads, load)
		if isTrace(e, job.Name) && w.jobs[i].load.Length == 0 {
			notes = append(notes, fmt.Sprintf("job %s: its trace has no times of compute: the ranks do nothing but communicate, and its steps are shorter than those of the job that was traced", job.Name))
		}
		full := newFullScale(f, e.Links, job, w.jobs[i].records, seed)
		played.full, notes = append(played.full, full), append(notes, full.notes(job.Name)...)
	}
	played.shares = newShares(f, w)
	return played, notes, nil
}

// isTrace reports whether the job of a name is from a file of another tool that is no
// algorithm of a collective: those have a size.
func isTrace(e *experiment.Experiment, name string) bool {
	return slices.ContainsFunc(e.Jobs, func(j experiment.Job) bool {
		t, trace := j.Spec.(experiment.TraceJob)
		return trace && t.Size == 0 && j.Name == name
	})
}

// newJobInfos describes the jobs for records, and returns a note if the tables do not keep all
// operations although nobody said so.
func newJobInfos(r *run) (infos []metrics.JobInfo, notes []string) {
	w, shares := &r.workload, r.jobs.shares
	if !sameStreams(r.first.jobs, w.jobs) {
		shares = newShares(&r.fabric, w)
	}
	for i := range w.Jobs {
		job := &w.Jobs[i]
		info := metrics.JobInfo{Job: int32(i), Name: job.Name, Start: units.Time(job.Start), Steps: job.Source.Steps(), Schedule: metrics.Schedule(job.Schedule), Records: w.jobs[i].records}
		if staged, ok := job.Source.(interface{ PerStage() int }); ok {
			info.PerStage = staged.PerStage()
		}
		if scaled, ok := job.Source.(interface{ TimeScale() float64 }); ok {
			info.TimeScale = scaled.TimeScale()
		}
		info.Latency = r.jobs.full[i].latency
		if model, ok := job.Source.(interface{ FLOPs() (step, peak float64) }); ok {
			info.FLOPs, info.PeakFLOPS = model.FLOPs()
		}
		for _, h := range job.Hosts {
			info.Ranks = append(info.Ranks, int32(h))
		}
		labels := job.Source.Labels()
		info.Phases = labels.Phases
		for _, c := range labels.Collectives {
			info.Collectives = append(info.Collectives, metrics.CollectiveInfo(c))
		}
		if shares != nil {
			info.Shares = shares[i]
		}
		infos = append(infos, info)
	}
	return infos, keepOperations(infos, r.experiment.Telemetry.Operations)
}

// manyOperations is how many rows of a run operations.parquet gets at most with
// telemetry.operations auto. A row takes about 30 bytes on disk, and a microsecond or two to
// write.
const manyOperations = 2_000_000

// keepOperations says of each job which operations the tables keep, and returns a note if
// these are not all although nobody said so.
func keepOperations(jobs []metrics.JobInfo, telemetry experiment.Operations) (notes []string) {
	steps := int(telemetry)
	var all, one, most int64 // records of all steps, and of a step of each job
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
