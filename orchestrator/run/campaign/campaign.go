// Package campaign runs an experiment: every variant with every seed, on a backend
// and under a clock. It writes a run folder. It works in phases; each phase is a
// function that gets its inputs as arguments and returns its results:
//
//	chooseMode ─▶ compile, with the names of metrics ─▶ foresee ─▶ checkReady ─▶ setClock ─▶ create the folder ─▶ execute ─▶ summarise
package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/run/dilation"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// Payloads of real frames.
const (
	PayloadFull  = "full"
	PayloadElide = "elide"
)

// Options say how to run an experiment; the experiment says what to run.
type Options struct {
	Out         string // the run folder; empty: <name>-<time>-<id> in Runs
	Runs        string // the folder of run folders; empty: runs
	Nowhere     bool   // there is no run folder: the Result is all that is left (runtimes.SideBySide)
	Runtime     string // overrides the experiment's
	Clock       string // overrides the experiment's
	Payload     string // of real frames: full (default) or elide
	Processes   string // of netns: node (default), one, or, in real time, switches
	Shards      int    // of netns and kubernetes: parts to cut each run into; 0, 1: it is not cut
	Remote      backend.Remote
	Identity    string // of this csiglab (trial.Identity), which the parts of a run must have too
	CheckParity bool   // run in virtual time too and compare the traces
	Inject      []string
	Parallel    int // runs at once in virtual time; 0: one per core
	Progress    func(Progress)
	// Announce receives messages for the user at once, before the runs start and, from
	// several goroutines, about what a run waits for; may be nil.
	Announce func(string)
	Version  string
	Command  []string
	// Force runs what is predicted not to fit in memory.
	Force bool
	// Hold keeps a run in real time from ending until it is closed, even if nothing
	// is due any more; the run then ends at once and in order. Such an experiment
	// has one run. nil: runs are not held.
	Hold <-chan struct{}
	// Ready is called when a run in real time starts: all its nodes and links exist.
	// May be nil.
	Ready func(Started)
	// Writing is called while the windows of a run that was held are put into its tables,
	// with how many records there are and have been read. May be nil.
	Writing func(read, all int64)
}

// Started is a run in real time that has just started.
type Started struct {
	ID     string // csiglab inspect and clean find the run by it
	Folder string
}

// Result is the result of an experiment.
type Result struct {
	Folder  string
	Set     *experiment.Set
	Summary *runfolder.Summary // nil when the run did not end well
	Written *runfolder.Folder  // to be read; nil when the run did not end well
	// Notes are further remarks for the user: assumptions about the inputs, and
	// inputs that are not used. log.jsonl has them too.
	Notes []string
	// Kept of Runs runs have finished, and the folder has them.
	Kept, Runs int
}

// Run runs every variant with every seed and writes the run folder. Its error
// wraps failure.ErrConfiguration or failure.ErrInfrastructure, or is the context's.
// A run that cannot be trusted is not an error: its Summary is invalid. When Run ends
// with an error, the folder keeps the runs that have finished; see Resume.
func Run(ctx context.Context, set *experiment.Set, opts Options) (*Result, error) {
	started := time.Now()
	m, err := chooseMode(set, opts)
	if err != nil {
		return nil, err
	}
	jobs, err := Meanwhile(ctx, func() ([]job, error) { return compile(set, opts) })
	if err != nil {
		return nil, err
	}
	c := &work{set, m, opts, jobs}
	if err := foresee(m, opts, jobs); err != nil {
		return nil, err
	}
	if opts.Nowhere {
		return c.nowhere(ctx)
	}
	folder := folderOf(set, opts, started)
	if err := checkFolder(m.backend, folder); err != nil {
		return nil, err
	}
	if err := c.checkReady(ctx); err != nil {
		return nil, err
	}
	if err := c.setClock(ctx, float64(set.Base.Wall.Dilation), opts.Announce); err != nil {
		return nil, err
	}
	manifest, err := Meanwhile(ctx, func() (runfolder.Manifest, error) { return newManifest(c, started), nil })
	if err != nil {
		return nil, err
	}
	w, err := runfolder.Create(folder, manifest)
	if err != nil {
		return nil, createError(folder, err)
	}
	text, err := set.Base.MarshalWith(remarks(c))
	if err == nil {
		err = w.Experiment(text)
	}
	if err != nil {
		err = writeError(folder, err)
	}
	return c.perform(ctx, err, w)
}

// nowhere executes the jobs without a run folder.
func (c *work) nowhere(ctx context.Context) (*Result, error) {
	if err := c.checkReady(ctx); err != nil {
		return nil, err
	}
	j := c.newJournal(slog.DiscardHandler)
	summary, err := c.execute(ctx, nil, j)
	return &Result{Set: c.set, Summary: summary, Notes: j.notes, Runs: len(c.jobs)}, err
}

// work is what is to be run, and how.
type work struct {
	set  *experiment.Set
	mode mode
	opts Options
	jobs []job
}

// perform executes the jobs that have not finished and ends the folder, unless something
// is wrong already.
func (c *work) perform(ctx context.Context, wrong error, w *runfolder.Writer) (*Result, error) {
	defer context.AfterFunc(ctx, w.Stop)()
	j := c.newJournal(w.Log())
	var summary *runfolder.Summary
	if wrong == nil {
		summary, wrong = c.execute(ctx, w, j)
	}
	result := &Result{Folder: w.Dir(), Set: c.set, Notes: j.notes, Kept: len(w.Finished()), Runs: len(c.jobs)}
	if wrong != nil {
		reason := wrong.Error()
		if ctx.Err() != nil {
			reason = "interrupted"
			w.Stop() // AfterFunc may not have come to it
		}
		if abort := w.Abort(reason); abort != nil && !failure.DiskFull(wrong) { // its manifest says incomplete from the start
			wrong = errors.Join(wrong, abort)
		}
		return result, wrong
	}
	summary.Details = w.Details(summary)
	switch err := w.Finish(*summary); {
	case errors.Is(err, runfolder.ErrStopped):
		return result, ctx.Err()
	case err != nil:
		result.Kept = len(w.Finished())
		return result, writeError(w.Dir(), err)
	}
	result.Summary, result.Written = summary, w.Written(*summary)
	return result, nil
}

// Meanwhile returns what f returns, or the error of ctx as soon as it ends, even where f
// is as fast. f, which must change nothing that its caller uses, then goes on and its
// result is dropped; it does not begin if ctx has ended before.
func Meanwhile[T any](ctx context.Context, f func() (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer watchdog.Catch()
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if ctx.Err() == nil {
			return r.value, r.err
		}
	case <-ctx.Done():
	}
	return none, ctx.Err()
}

// mode is the runtime and the clock of an experiment's runs.
type mode struct {
	runtimes.Way
	backend backend.Runtime
	wall    *wall.Clock // nil unless it runs in real time
	budget  experiment.Budget
}

// chooseMode chooses the runtime and the clock, and refuses options that do not fit
// them.
func chooseMode(set *experiment.Set, opts Options) (m mode, err error) {
	name, clock := runtimes.Settle(opts.Runtime, opts.Clock, set.Base.Runtime, set.Base.Clock)
	if name == "" {
		name, clock = runtimes.Inproc, runtimes.Virtual
	}
	refuse := func(format string, args ...any) (mode, error) {
		return m, failure.Configuration(fmt.Errorf(format, args...))
	}
	if !runtimes.Fits(name, clock) {
		return refuse("runtime %q does not run under clock %q; use %s", name, clock, runtimes.Summary())
	}
	rt, ok := lookup(name)
	if !ok {
		return m, programs.Elsewhere(runtimes.Get(name).Program)
	}
	if opts.Shards > 1 && rt.Cut != nil {
		rt.Backend = rt.Cut
	}
	if opts.CheckParity && set.Base.Telemetry.Untraced() {
		return refuse("--check-parity compares trace hashes, and telemetry.trace_hash is none: leave one of the two out")
	}
	way := runtimes.Way{Runtime: name, Clock: clock}
	if n := way.Unmet(Needs(set, opts, way)); n != nil {
		return refuse("%s", n.Else)
	}
	return mode{Way: way, backend: rt}, nil
}

// job is one run of the experiment. Until prepare, it has the plan and the run of its
// variant's first seed, which differ from its own only in what depends on the seed, so
// that memory does not grow with the number of seeds.
type job struct {
	variant  int
	name     string // of the variant
	seed     uint64
	shape    *plan.Shape
	plan     *plan.Plan
	run      *backend.Run // without Folder and Wall
	prepared bool
	done     *finished // of a run that is resumed: this job has finished before
}

// prepare returns the job with its own plan and run. It is called when it is the job's turn.
func (j job) prepare(set *experiment.Set, opts Options) (job, error) {
	if j.prepared {
		return j, nil
	}
	p, err := j.shape.Plan(j.seed)
	if err != nil {
		return j, failure.InVariant(set, j.variant, err)
	}
	r, err := newRun(set.Base.Name, j.name, p, set.Base.Telemetry.DiskLimit(), opts)
	if err != nil {
		return j, failure.InVariant(set, j.variant, err)
	}
	e := set.Variants[j.variant].Experiment
	r.Series = backend.Series{Variant: j.name, Number: j.variant + 1, Seed: j.seed, CC: e.Hosts.CC.Name, LB: e.Hosts.LB.Name, CSIG: e.CSIG.Format.String()}
	j.plan, j.run, j.prepared = p, r, true
	return j, nil
}

// compile returns the jobs of all runs, by variant and then seed. It makes the plan of
// each variant's first seed and checks the metrics in expressions, so that a mistake is
// found before anything is deployed.
func compile(set *experiment.Set, opts Options) ([]job, error) {
	var jobs []job
	var variants plan.Variants
	var names []expression.Names
	shapes := make([]*plan.Shape, len(set.Variants))
	for i, v := range set.Variants {
		var err error
		if shapes[i], err = variants.NewShape(v.Experiment); err != nil {
			return nil, failure.InVariant(set, i, err)
		}
	}
	plan.SettleInterval(shapes)
	for i := range set.Variants {
		if opts.Hold != nil && len(set.Variants[i].Given("telemetry.interval")) == 0 {
			shapes[i].WidenInterval()
		}
	}
	for i, v := range set.Variants {
		seeds := v.Experiment.Seeds
		first, err := job{variant: i, name: v.Name, seed: seeds[0], shape: shapes[i]}.prepare(set, opts)
		if err != nil {
			return nil, err
		}
		names = append(names, measure.Names(first.plan))
		jobs = append(jobs, first)
		for _, seed := range seeds[1:] {
			j := first
			j.seed, j.prepared = seed, false
			jobs = append(jobs, j)
		}
	}
	if err := set.CheckMetrics(names); err != nil {
		return nil, failure.Configuration(err)
	}
	if opts.Hold != nil && len(jobs) != 1 {
		return nil, failure.Configuration(fmt.Errorf("a lab is one run, and %s has %d: name a variant and a seed", set.Base.Name, len(jobs)))
	}
	return jobs, nil
}

// checkReady returns an error if a run cannot start. It makes nothing. A mistake in
// any variant is reported rather than a fault of the machine.
func (c *work) checkReady(ctx context.Context) error {
	checked := map[int]bool{} // variants
	var fault error
	for _, j := range c.jobs {
		if checked[j.variant] { // the checks do not depend on the seed
			continue
		}
		checked[j.variant] = true
		var program *backend.ProgramError
		switch err := c.mode.backend.Check(ctx, j.run); {
		case errors.As(err, &program):
			return failure.InVariant(c.set, j.variant, failure.At(fmt.Sprintf("applications.programs[%d].run", program.Index), program.Err))
		case errors.Is(err, failure.ErrConfiguration):
			return failure.InVariant(c.set, j.variant, err)
		case errors.Is(err, backend.ErrImage):
			return failure.InVariant(c.set, j.variant, failure.At("applications.image", err))
		case fault == nil:
			fault = failure.Infrastructure(err)
		}
	}
	return fault
}

// setClock sets the given dilation of all runs in real time, 0 for one that the machine keeps,
// and announces how long they will take.
func (c *work) setClock(ctx context.Context, given float64, announce func(string)) error {
	if !c.mode.Has(runtimes.RealTime) {
		return nil
	}
	plans := make([]*plan.Plan, len(c.jobs))
	for i, j := range c.jobs {
		plans[i] = j.plan
	}
	clock, texts, err := dilation.Choose(ctx, given, plans, c.set.Base.Wall.Budget.Lateness)
	if err != nil {
		return err
	}
	c.mode.wall, c.mode.budget = &clock, c.set.Base.Wall.Budget
	if announce != nil {
		for _, text := range texts {
			announce(text)
		}
	}
	return nil
}

// folderOf returns the run folder: the one that the options name, or a new one.
func folderOf(set *experiment.Set, opts Options, started time.Time) string {
	if opts.Out != "" {
		return opts.Out
	}
	id := fmt.Sprintf("%s-%s-%05x", set.Base.Name, started.UTC().Format("20060102-150405"), started.Nanosecond()&0xfffff)
	return filepath.Join(cmp.Or(opts.Runs, "runs"), id)
}

// checkFolder refuses a run folder that the runtime cannot use.
func checkFolder(r backend.Runtime, folder string) error {
	c, ok := r.Backend.(backend.FolderChecker)
	if !ok {
		return nil
	}
	absolute, err := filepath.Abs(folder)
	if err == nil {
		err = c.CheckFolder(absolute)
	}
	if err != nil {
		return failure.Configuration(fmt.Errorf("run folder %s: %w; choose another with --out", folder, err))
	}
	return nil
}

// journal collects the notes for the user and logs them. Its methods may be called
// from several goroutines.
type journal struct {
	log *slog.Logger

	mu    sync.Mutex
	notes []string
}

// newJournal returns a journal with the notes that do not depend on what runs come to.
func (c *work) newJournal(log slog.Handler) *journal {
	j := &journal{log: slog.New(log)}
	for _, text := range slices.Concat(c.set.Notes, configurationNotes(c.jobs)) {
		j.note(text)
	}
	return j
}

// configurationNotes returns the notes of the variants.
func configurationNotes(jobs []job) []string {
	var names []string
	var notes [][]string
	for i, j := range jobs {
		if i == 0 || j.variant != jobs[i-1].variant {
			names, notes = append(names, j.name), append(notes, j.plan.Notes)
		}
	}
	return plan.Attribute(names, notes)
}

// note adds a text, unless the journal has it already.
func (j *journal) note(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Contains(j.notes, text) {
		j.notes = append(j.notes, text)
		j.log.Info("note", "text", text)
	}
}

// createError returns the error of a run folder that cannot be made. It is a
// configuration error, as the user chose the folder, unless the machine is at fault.
func createError(folder string, err error) error {
	if errors.Is(err, runfolder.ErrNotEmpty) {
		return failure.Configuration(err)
	}
	if errors.Is(err, runfolder.ErrNotOwn) {
		return failure.Configuration(fmt.Errorf("%w; name one that is not there yet with --out", err))
	}
	for _, class := range []error{fs.ErrPermission, fs.ErrNotExist, unix.ENOTDIR, unix.EROFS, unix.ENAMETOOLONG, unix.ELOOP, unix.EINVAL} {
		if errors.Is(err, class) {
			return failure.Configuration(fmt.Errorf("run folder %s: %w; choose another with --out", folder, cause.Of(err)))
		}
	}
	return writeError(folder, err)
}

// writeError returns the error of a run folder that cannot be written. On a full
// disk every file fails; one line reports it for all of them.
func writeError(folder string, err error) error {
	var errno unix.Errno
	if failure.DiskFull(err) && errors.As(err, &errno) {
		err = fmt.Errorf("run folder %s: %w; make room, or choose another disk with --out", folder, errno)
	}
	return failure.Infrastructure(err)
}
