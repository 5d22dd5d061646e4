// Package fit answers which training jobs fit on links together, for csiglab jobs fit: it
// finds the jobs that arguments name, asks workloads/circle for start offsets and
// workloads/fluid for iteration times, and puts the answer into words and a picture.
package fit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
	"github.com/csiglab/csiglab/workloads/profilefile"
	"github.com/csiglab/csiglab/workloads/training"
)

// Job is a job with where its profile comes from.
type Job struct {
	circle.Profile
	Source string // in words
	// Uncertainty is how far the length of each burst may be off, on either side; 0: not known.
	Uncertainty units.Duration

	fabric *fabric // of the experiment that the job is of; nil: none
	at     int     // its position there
}

// Jobs returns the jobs that arguments name: presets, profiles in one word (see Inline),
// profile files, and experiments, of the latter two with #JOB one job. A name that is there
// before gets a number. An error says which argument is wrong, and where in it or in its
// file.
func Jobs(args []string) ([]Job, error) {
	var all []Job
	fabrics := map[string]*fabric{} // by experiment, each planned once
	for i, arg := range args {
		jobs, err := named(arg, fabrics)
		if err != nil {
			return nil, fmt.Errorf("job %d: %w", i+1, err)
		}
		for _, j := range jobs {
			name := j.Name
			for n := 2; slices.ContainsFunc(all, func(o Job) bool { return o.Name == j.Name }); n++ {
				j.Name = fmt.Sprintf("%s-%d", name, n)
			}
			all = append(all, j)
		}
	}
	return all, nil
}

// named returns the jobs that an argument names.
func named(arg string, fabrics map[string]*fabric) ([]Job, error) {
	if name, _, ok := strings.Cut(arg, "="); ok && !strings.Contains(name, "/") {
		p, err := parseInline(arg)
		if err != nil {
			return nil, err
		}
		return []Job{{Profile: p, Source: "given"}}, nil
	}
	if p, ok := training.FindProfile(arg); ok {
		j, err := presetJob(&p)
		return []Job{j}, err
	}
	file, job, _ := strings.Cut(arg, "#")
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case ext == ".json":
		return ofFile(file, job)
	case ext == ".yaml" || ext == ".yml" || slices.Contains(experiment.Names(), file):
		return ofExperiment(file, job, fabrics)
	}
	if _, err := os.Stat(file); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: want a profile file, whose name ends in .json, or an experiment, in .yaml", file)
	}
	known := append(presets(), experiment.Names()...)
	return nil, fmt.Errorf("unknown preset %q%s; presets: %s; or give a profile file (.json), an experiment (.yaml), or %s",
		arg, spelling.Hint(spelling.Nearest(arg, known)), strings.Join(presets(), ", "), Inline)
}

// ofFile returns the jobs of a profile file, or one of them.
func ofFile(file, job string) ([]Job, error) {
	read, err := profilefile.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	var names []string
	for i := range read {
		names = append(names, read[i].Name)
		if job == "" || read[i].Name == job {
			source := read[i].Source
			if source == "" {
				source = file
			}
			jobs = append(jobs, Job{Profile: read[i].Profile, Source: source, Uncertainty: read[i].Uncertainty.Bursts})
		}
	}
	if len(jobs) == 0 {
		return nil, unknownJob(file, job, names)
	}
	return jobs, nil
}

func unknownJob(file, job string, names []string) error {
	return fmt.Errorf("%s: no job %q%s; it has %s", file, job, spelling.Hint(spelling.Nearest(job, names)), strings.Join(names, ", "))
}

// ofExperiment returns the jobs of kind profile of an experiment, or one of them.
func ofExperiment(file, job string, fabrics map[string]*fabric) ([]Job, error) {
	f := fabrics[file]
	if f == nil {
		var err error
		if f, err = newFabric(file); err != nil {
			return nil, err
		}
		fabrics[file] = f
	}
	var jobs []Job
	var names []string
	for i := range f.jobs {
		name := f.jobs[i].Name
		names = append(names, name)
		if job != "" && name != job {
			continue
		}
		if lacks := f.predicted[i].NoAlone; lacks != "" {
			return nil, fmt.Errorf("%s: job %s: no profile: %s; csiglab jobs profile measures one from a run", file, name, lacks)
		}
		jobs = append(jobs, f.job(i))
	}
	if len(jobs) == 0 {
		return nil, unknownJob(file, job, names)
	}
	return jobs, nil
}
