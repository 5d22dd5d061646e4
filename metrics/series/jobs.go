package series

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/metrics/exposition"
)

// mostOperations is how many operations are read at most to find out in which phase a
// collective is.
const mostOperations = 200_000

// instance is a step or a collective that has ended.
type instance struct {
	job, collective string // collective "": a step
	step, ranks     int32
	begin, end      int64 // ps
}

// readJobs reads the steps and collectives of jobs.
func (r *reader) readJobs() error {
	all := map[*run][]instance{}
	for row, err := range r.f.Instances() {
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return err
		}
		one := r.of(row.Variant, row.Seed)
		if one == nil {
			continue
		}
		i := instance{job: row.JobName, collective: row.Collective, step: row.Step, ranks: row.Ranks}
		if i.begin, err = ps(row.BeginUS); err != nil {
			return err
		}
		if i.end, err = ps(row.EndUS); err != nil {
			return err
		}
		one.end = max(one.end, i.end)
		all[one] = append(all[one], i)
	}
	if len(all) == 0 {
		return nil
	}
	phases, err := r.readPhasesOfCollectives()
	if err != nil {
		return err
	}
	for _, one := range r.list {
		one.writeJobs(all[one], phases)
	}
	return r.err
}

// readPhasesOfCollectives returns the phase of each collective, by job and collective, as
// far as the operations that were kept say.
func (r *reader) readPhasesOfCollectives() (map[[2]string]string, error) {
	wanted := map[[2]string]bool{}
	for _, one := range r.list {
		for _, j := range r.f.Manifest.JobsOf(one.Variant) {
			for _, c := range j.Collectives {
				wanted[[2]string{j.Name, c.Name}] = true
			}
		}
	}
	phases, read := map[[2]string]string{}, 0
	for row, err := range r.f.Operations() {
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return nil, err
		}
		key := [2]string{row.JobName, row.Collective}
		if row.Collective != "" && row.Phase != "" && phases[key] == "" {
			phases[key] = row.Phase
		}
		if read++; read == mostOperations || len(phases) == len(wanted) {
			break
		}
	}
	return phases, nil
}

// active is the ranks in a collective.
type active struct {
	*line
	ranks int64
}

func stepText(step int32) string { return strconv.FormatInt(int64(step), 10) }

// writeJobs writes the series of the run's jobs.
func (r *run) writeJobs(list []instance, phases map[[2]string]string) {
	slices.SortStableFunc(list, func(a, b instance) int { return cmp.Compare(a.end, b.end) })
	r.writeSteps(list)
	iterations, times := map[string]*distribution{}, map[[2]string]*distribution{}
	type change struct {
		at    int64
		ranks int64
		of    [2]string
	}
	var changes []change
	for _, i := range list {
		at, seconds := r.ceil(i.end), float64(max(0, i.end-i.begin))/1e12
		if i.collective != "" {
			key := [2]string{i.job, i.collective}
			times[key] = r.observe(times[key], exposition.CollectiveTime, at, seconds, key[:])
			changes = append(changes, change{i.begin, int64(i.ranks), key}, change{i.end, -int64(i.ranks), key})
			continue
		}
		r.marks = append(r.marks, mark{job: i.job, step: stepText(i.step), from: i.begin})
		iterations[i.job] = r.observe(iterations[i.job], exposition.JobIteration, at, seconds, []string{i.job})
	}
	// Where one ends and the next begins at one moment, the number does not rise in between.
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ranks, b.ranks)) })
	ranks := map[[2]string]*active{}
	for _, c := range changes {
		one := ranks[c.of]
		if one == nil {
			one = &active{line: r.line(exposition.CollectiveActive, c.of[0], c.of[1], phases[c.of])}
			one.set(r.zero, 0)
			ranks[c.of] = one
		}
		one.ranks += c.ranks
		one.set(r.floor(c.at), float64(one.ranks))
	}
}

// writeSteps writes which step each job is in, from the first step's beginning to the last one's end.
func (r *run) writeSteps(list []instance) {
	type state struct {
		*line
		step int32
		end  int64 // ps
	}
	jobs := map[string]*state{}
	for _, i := range slices.SortedStableFunc(slices.Values(list), func(a, b instance) int { return cmp.Compare(a.begin, b.begin) }) {
		if i.collective != "" {
			continue
		}
		job := jobs[i.job]
		if job == nil {
			job = &state{line: r.line(exposition.JobStep, i.job)}
			jobs[i.job] = job
		}
		job.step, job.end = max(job.step, i.step), max(job.end, i.end)
		job.set(r.floor(i.begin), float64(job.step))
	}
	for _, job := range jobs {
		job.suspend(r.ceil(job.end))
	}
}
