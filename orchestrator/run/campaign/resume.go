package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// Resume goes on with a run folder that was interrupted, failed or was killed: it runs
// what the folder lacks, by the folder's experiment file, and leaves the folder that Run
// would have left. Of the options it takes Parallel, Progress, Announce, Version and Force; the
// others are those of the folder. The error is as that of Run; a folder that cannot be
// resumed is a configuration error, a damaged one an infrastructure error.
func Resume(ctx context.Context, folder string, opts Options) (*Result, error) {
	stopped, err := runfolder.OpenStopped(folder)
	if errors.Is(err, runfolder.ErrComplete) {
		err = fmt.Errorf("%w: no run is left; csiglab report %s writes its report", err, folder)
	}
	if err != nil {
		return nil, resumeError(err)
	}
	r, err := prepareResume(ctx, stopped, opts)
	if err != nil {
		return nil, errors.Join(err, stopped.Close())
	}
	w, err := stopped.Resume()
	if err != nil {
		return nil, writeError(folder, err)
	}
	r.take(w.Finished())
	return r.perform(ctx, nil, w)
}

// prepareResume checks that what is missing can be run, and that its results would go with
// those in the folder. It changes nothing.
func prepareResume(ctx context.Context, stopped *runfolder.Stopped, opts Options) (r *work, err error) {
	m := &stopped.Manifest
	refuse := func(format string, args ...any) (*work, error) {
		return nil, failure.Configuration(fmt.Errorf("run folder "+stopped.Dir+": it cannot be resumed: "+format, args...))
	}
	if m.Version != opts.Version {
		return refuse("it was written by csiglab %s, this is %s, whose results could differ; run the experiment again as a whole", m.Version, opts.Version)
	}
	if (m.Version == "" || m.Version == "unknown" || strings.Contains(m.Version, "+")) && opts.Announce != nil {
		opts.Announce(fmt.Sprintf("the version of csiglab is %q, which more than one program may have: the runs go together only if this is the program that began them", m.Version))
	}
	r = &work{opts: Options{
		Out: stopped.Dir, Runtime: m.Runtime, Clock: m.Clock, Payload: m.Options.Payload, Processes: m.Options.Processes, CheckParity: m.Options.CheckParity, Inject: m.Options.Inject,
		Shards: m.Options.Shards, Remote: backend.Remote{Context: m.Options.Context, Namespace: m.Options.Namespace, Image: m.Options.Image}, Identity: opts.Identity,
		Parallel: opts.Parallel, Progress: opts.Progress, Announce: opts.Announce, Version: opts.Version, Force: opts.Force, Command: m.Command,
	}}
	file := filepath.Join(stopped.Dir, runfolder.ExperimentFile)
	if r.set, err = experiment.Parse(file, stopped.Dir, stopped.Experiment, experiment.Options{Tables: experiment.StandardTables()}); err != nil {
		return nil, failure.Configuration(err)
	}
	if r.mode, err = chooseMode(r.set, r.opts); err != nil {
		return nil, err
	}
	jobs, err := Meanwhile(ctx, func() ([]job, error) { return compile(r.set, r.opts) })
	if err != nil {
		return nil, err
	}
	left := 0
	for _, v := range m.Missing {
		left += len(v.Seeds)
	}
	for _, j := range jobs {
		finished, ok := stopped.Has(j.name, j.seed)
		if ok && !finished {
			left--
		}
		if ok {
			r.jobs = append(r.jobs, j)
		}
	}
	if left != 0 {
		return refuse("%s does not have all runs that %s lists", runfolder.ExperimentFile, runfolder.ManifestFile)
	}
	var missing []job
	for _, j := range r.jobs {
		if finished, _ := stopped.Has(j.name, j.seed); !finished {
			missing = append(missing, j)
		}
	}
	if err := foresee(r.mode, r.opts, missing); err != nil {
		return nil, err
	}
	if err := checkFolder(r.mode.backend, stopped.Dir); err != nil {
		return nil, err
	}
	if err := r.checkReady(ctx); err != nil {
		return nil, err
	}
	if err := r.setClock(ctx, m.Dilation, opts.Announce); err != nil {
		return nil, err
	}
	if what := differs(m, newManifest(r, m.Started)); what != "" {
		return refuse("its %s are no longer those of the runs that have finished: a file that the experiment names has changed", what)
	}
	for _, j := range r.jobs {
		if finished, _ := stopped.Has(j.name, j.seed); !finished {
			if err := removeRemains(r.mode, stopped.Dir, j); err != nil {
				return nil, writeError(stopped.Dir, err)
			}
		}
	}
	return r, nil
}

// take takes over the runs that have finished.
func (r *work) take(done []runfolder.FinishedRun) {
	type key struct {
		variant string
		seed    uint64
	}
	finished := make(map[key]*runfolder.FinishedRun, len(done))
	for i, d := range done {
		finished[key{d.Run.Variant, d.Run.Seed}] = &done[i]
	}
	for i := range r.jobs {
		j := &r.jobs[i]
		if d := finished[key{j.name, j.seed}]; d != nil {
			d.Metrics.Failed = runfolder.Failed(d.Run.Checks)
			f := newFinished(d.Metrics, d.Run.Reasons, d.Run.Notes)
			j.done = &f
		}
	}
}

// differs returns what the experiment is made of now and was not when the folder was
// begun; "" if nothing differs.
func differs(was *runfolder.Manifest, is runfolder.Manifest) string {
	for _, c := range []struct {
		what    string
		was, is any
	}{
		{"telemetry interval and measuring window", []any{was.IntervalUS, was.Measure}, []any{is.IntervalUS, is.Measure}},
		{"nodes", was.Nodes, is.Nodes},
		{"ports", was.Ports, is.Ports},
		{"flows", was.Flows, is.Flows},
		{"variants", was.Variants, is.Variants},
	} {
		a, err1 := json.Marshal(c.was)
		b, err2 := json.Marshal(c.is)
		if err1 != nil || err2 != nil || string(a) != string(b) {
			return c.what
		}
	}
	return ""
}

// removeRemains removes what a run that did not finish has left in the folder beside its
// part.
func removeRemains(m mode, folder string, j job) error {
	nodes := m.backend.NodeFolder(folder)
	packets.RemoveSpools(j.run.Spools(nodes))
	spool.RemovePipes(nodes)
	capture := os.Remove(packets.FileName(folder, j.name, j.seed))
	if errors.Is(capture, fs.ErrNotExist) {
		capture = nil
	}
	return errors.Join(capture, os.RemoveAll(programsFolder(folder, j)))
}

// programsFolder returns the folder of the outputs of a run's programs.
func programsFolder(folder string, j job) string {
	return filepath.Join(folder, "programs", fmt.Sprintf("%s-%d", j.name, j.seed))
}

// resumeError returns the error of a folder that cannot be resumed.
func resumeError(err error) error {
	if errors.Is(err, runfolder.ErrDamaged) {
		return failure.Infrastructure(err)
	}
	for _, class := range []error{fs.ErrNotExist, fs.ErrPermission, runfolder.ErrForeign, runfolder.ErrNotOwn, runfolder.ErrComplete, runfolder.ErrBusy, runfolder.ErrNotResumable} {
		if errors.Is(err, class) {
			return failure.Configuration(err)
		}
	}
	return failure.Infrastructure(err)
}
