package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
	"github.com/csiglab/csiglab/units"
)

// Runtimes and clocks.
const (
	RuntimeInproc       = runtimes.Inproc
	RuntimeNetns        = runtimes.Netns
	RuntimeContainerlab = runtimes.Containerlab
	ClockVirtual        = runtimes.Virtual
	ClockLockstep       = runtimes.Lockstep
	ClockWall           = runtimes.Wall
)

// Options are how to run, as against what to run.
type Options struct {
	Out         string // the run folder; empty: runs/<name>-<time>-<id>
	Runtime     string // overrides the experiment's
	Clock       string // overrides the experiment's
	Payload     string // of real frames: full (default) or elide
	Processes   string // of netns: node (default), one, or, in real time, switches
	CheckParity bool   // run in virtual time too and compare the traces
	Inject      []string
	Parallel    int // runs at once in virtual time; 0: one per core
	Progress    func(Progress)
	Announce    func(string) // told what is to be known before the runs start; may be nil
	Version     string
	Command     []string
	// Hold keeps a run in real time from being over, even if nothing is left to do,
	// until it is closed; the run then ends at once and in order. Such an experiment
	// has one run. nil: runs are not held.
	Hold <-chan struct{}
	// Ready is told when a run in real time starts: its nodes and links are all
	// there. May be nil.
	Ready func(Started)
}

// Started is a run in real time that has just started.
type Started struct {
	ID     string // the runtime's, by which it is found and cleaned
	Folder string
}

// Progress is how far an experiment has come.
type Progress struct {
	Done, Total int // runs
	Variant     string
	Seed        uint64
	Fraction    float64       // of the whole experiment, 0 to 1
	ETA         time.Duration // estimated time left; 0: not known yet
}

// Result is what an experiment left.
type Result struct {
	Folder  string
	Summary *runfolder.Summary // nil when the run did not end well
	// Notes are what the user should know besides: what was assumed of the
	// inputs, what of them is not used. log.jsonl has them too.
	Notes []string
}

// job is one run of the experiment.
type job struct {
	variant int
	seed    uint64
	plan    *Plan
}

// Run runs every variant with every seed and writes the run folder. Its error
// wraps ErrConfiguration or ErrInfrastructure, or is the context's; a run that
// is not to be trusted is no error but an invalid Summary.
func Run(ctx context.Context, set *experiment.Set, opts Options) (*Result, error) {
	r, err := newRunner(set, opts)
	if err != nil {
		return nil, err
	}
	jobs, err := r.compile()
	if err == nil && opts.Hold != nil && len(jobs) != 1 {
		err = configuration(fmt.Errorf("a lab is one run, and %s has %d: name a variant and a seed", set.Base.Name, len(jobs)))
	}
	if err == nil {
		err = r.ready(ctx, jobs)
	}
	if err != nil {
		return nil, err
	}
	if r.clock == ClockWall {
		if err := r.dilate(ctx, jobs); err != nil {
			return nil, err
		}
	}
	folder := r.folder()
	w, err := runfolder.Create(folder, r.manifest(jobs))
	if err != nil {
		return nil, createError(folder, err)
	}
	r.writer, r.log = w, slog.New(w.Log())
	for _, j := range jobs {
		for _, n := range j.plan.Notes {
			r.note(n)
		}
	}
	summary, err := r.run(ctx, jobs)
	result := &Result{Folder: folder, Notes: r.notes}
	if err != nil {
		reason := err.Error()
		if ctx.Err() != nil {
			reason = "interrupted"
		}
		if abort := w.Abort(reason); abort != nil && !diskFull(err) { // its manifest says incomplete from the start
			err = errors.Join(err, abort)
		}
		return result, err
	}
	if err := w.Finish(*summary); err != nil {
		return result, writeError(folder, err)
	}
	result.Summary = summary
	return result, nil
}

// note keeps what the user should know, once.
func (r *runner) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
		r.log.Info("note", "text", text)
	}
}

type runner struct {
	set      *experiment.Set
	opts     Options
	runtime  string
	clock    string
	started  time.Time
	writer   *runfolder.Writer
	log      *slog.Logger
	progress *tracker
	wall     *wall.Clock // of clock wall

	mu    sync.Mutex
	notes []string
}

func newRunner(set *experiment.Set, opts Options) (*runner, error) {
	r := &runner{set: set, opts: opts, started: time.Now()}
	r.runtime, r.clock = runtimes.Settle(opts.Runtime, opts.Clock, set.Base.Runtime, set.Base.Clock)
	if r.runtime == "" {
		r.runtime, r.clock = RuntimeInproc, ClockVirtual
	}
	switch {
	case !runtimes.Fits(r.runtime, r.clock):
		return nil, configuration(fmt.Errorf("runtime %q does not run under clock %q; use %s", r.runtime, r.clock, runtimes.Summary()))
	case r.runtime == RuntimeInproc && len(opts.Inject) > 0:
		return nil, configuration(errors.New("--inject needs real frames; add --runtime netns"))
	case r.clock == ClockWall && opts.CheckParity:
		return nil, configuration(errors.New("--check-parity: clock wall does not claim the trace of a virtual run; use lockstep"))
	}
	if opts.Hold != nil && r.clock != ClockWall {
		return nil, configuration(fmt.Errorf("a lab runs in real time, not under clock %s", r.clock))
	}
	for _, v := range set.Variants {
		if v.Experiment.Applications != nil && r.clock != ClockWall {
			return nil, configuration(fmt.Errorf("applications: programs need clock wall; %s has no time that they could live in", r.clock))
		}
	}
	if opts.Processes == ProcessesSwitches && r.clock != ClockWall {
		return nil, configuration(fmt.Errorf("--processes %s: needs clock wall; %s is exact with a process for each node", opts.Processes, r.clock))
	}
	return r, nil
}

// folder is where the run is written: the one asked for, or a fresh one below
// runs.
func (r *runner) folder() string {
	if r.opts.Out != "" {
		return r.opts.Out
	}
	id := fmt.Sprintf("%s-%s-%05x", r.set.Base.Name, r.started.UTC().Format("20060102-150405"), r.started.Nanosecond()&0xfffff)
	return filepath.Join("runs", id)
}

// compile makes the plans of all runs, by variant and then seed, so that a
// mistake is found before anything is deployed.
func (r *runner) compile() ([]job, error) {
	var jobs []job
	for i, v := range r.set.Variants {
		f, err := newFabric(v.Experiment)
		if err != nil {
			return nil, inVariant(r.set, i, err)
		}
		for _, seed := range v.Experiment.Seeds {
			p, err := f.plan(seed)
			if err != nil {
				return nil, inVariant(r.set, i, err)
			}
			jobs = append(jobs, job{variant: i, seed: seed, plan: p})
		}
	}
	return jobs, nil
}

func (r *runner) run(ctx context.Context, jobs []job) (*runfolder.Summary, error) {
	text, err := r.set.Base.Marshal()
	if err == nil {
		err = r.writer.Experiment(text)
	}
	if err != nil {
		return nil, writeError(r.writer.Dir(), err)
	}
	r.progress = newTracker(len(jobs), r.opts.Progress)
	workers := r.opts.Parallel
	if workers <= 0 {
		workers = runtime.NumCPU()
	}
	if r.runtime != RuntimeInproc {
		workers = 1 // real nodes fill the machine
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan int)
	done := make([]*runfolder.RunMetrics, len(jobs))
	errs := make([]error, len(jobs))
	reasons := make([][]string, len(jobs))
	var wg sync.WaitGroup
	for range min(workers, len(jobs)) {
		wg.Go(func() {
			for i := range next {
				if done[i], reasons[i], errs[i] = r.one(ctx, i, jobs[i]); errs[i] != nil {
					cancel()
				}
				jobs[i].plan = nil // let the memory go
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	wg.Wait()
	// The first error that is not the cancellation that it caused.
	var first error
	for _, err := range errs {
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	return r.summarise(done, reasons), nil
}

// one runs one variant with one seed and adds it to the folder.
func (r *runner) one(ctx context.Context, index int, j job) (*runfolder.RunMetrics, []string, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	name := r.set.Variants[j.variant].Name
	fraction := func(f float64) { r.progress.update(index, name, j.seed, f) }
	fraction(0)
	fail := func(err error) error { return fmt.Errorf("variant %s, seed %d: %w", name, j.seed, err) }
	pcap, err := newCapture(j.plan, r.writer.Dir(), name, j.seed)
	if err != nil {
		return nil, nil, fail(writeError(r.writer.Dir(), err))
	}
	writer, err := r.writer.BeginRun(name, j.seed)
	if err != nil {
		return nil, nil, fail(writeError(r.writer.Dir(), errors.Join(err, pcap.close())))
	}
	out, err := r.backend(ctx, j, fraction, pcap, writer)
	if wrong := writer.Err(); wrong != nil {
		err = writeError(r.writer.Dir(), wrong)
	}
	if wrong := pcap.close(); err == nil && wrong != nil {
		err = writeError(r.writer.Dir(), wrong)
	}
	if err != nil {
		return nil, nil, fail(err)
	}
	out.checks = append(out.checks, conservation(j.plan, out), complete(j.plan, out))
	if r.opts.CheckParity {
		c, err := parity(ctx, j.plan, out)
		if err != nil {
			return nil, nil, fail(err)
		}
		out.checks = append(out.checks, c)
		if c.ok {
			r.note("parity: " + c.detail)
		}
	}
	if to := j.plan.Measure.To; to != units.Never && out.drained && out.end < to {
		r.note(fmt.Sprintf("variant %s: the measuring window goes on to %v, when the run has ended; rates count the rest as idle", name, units.Duration(to)))
	}
	if out.dropped > 0 {
		r.note(fmt.Sprintf("variant %s, seed %d: %d records were dropped, which came faster than they could be written; tables and charts lack them", name, j.seed, out.dropped))
	}
	metrics := measure(j.plan, out)
	derived, err := experiment.EvalDerived(r.set.Variants[j.variant].Experiment.Derived, metrics)
	switch {
	case err == nil || !out.trusted(): // a run that came to nothing may lack a metric
	case r.opts.Hold != nil: // and so may one that was ended before its traffic
		r.note("left out: " + err.Error())
	default:
		return nil, nil, fail(configuration(err))
	}
	for k, v := range derived {
		metrics[k] = v
	}
	data := runfolder.RunData{
		Nodes: out.results, TraceHash: traceHash(out.results), Wall: out.wall, CPU: out.cpu,
		DataPackets: int64(metrics["data_packets"]), Fidelity: out.fidelity, Programs: out.programs,
	}
	for _, p := range out.programs {
		r.log.Info("program", "variant", name, "seed", j.seed, "program", p)
	}
	for _, c := range out.checks {
		data.Checks = append(data.Checks, runfolder.Check{Name: c.name, OK: c.ok, Detail: c.detail})
		if !c.ok {
			data.Invalid = append(data.Invalid, c.name+": "+c.detail)
		}
	}
	if err := writer.End(data); err != nil {
		return nil, nil, writeError(r.writer.Dir(), err)
	}
	r.log.Info("run done", "variant", name, "seed", j.seed, "wall", out.wall.String(), "cpu", out.cpu.String(), "invalid", data.Invalid)
	r.progress.finish(index, name, j.seed)
	for i := range data.Invalid {
		data.Invalid[i] = fmt.Sprintf("variant %s, seed %d: %s", name, j.seed, data.Invalid[i])
	}
	return &runfolder.RunMetrics{Variant: name, Seed: j.seed, TraceHash: data.TraceHash, Metrics: metrics}, data.Invalid, nil
}

// backend runs a plan where the options say; to takes its records.
func (r *runner) backend(ctx context.Context, j job, fraction func(float64), pcap *capturing, to keeper) (*outcome, error) {
	if r.runtime != RuntimeInproc {
		return r.real(ctx, j, fraction, pcap, to)
	}
	return virtual(ctx, j.plan, fraction, pcap, to)
}

// parity runs the plan again in virtual time and compares every node's trace.
func parity(ctx context.Context, p *Plan, out *outcome) (check, error) {
	c := check{name: "parity"}
	again, err := virtual(ctx, p, nil, nil, nil)
	if err != nil {
		return c, err
	}
	for i := range out.results {
		if got, want := out.results[i], again.results[i]; got.TraceHash != want.TraceHash {
			c.detail = fmt.Sprintf("the trace of %s differs from the virtual run's (%d events against %d)", got.Name, got.Events, want.Events)
			return c, nil
		}
	}
	c.ok = true
	c.detail = fmt.Sprintf("all %d nodes have the trace of a virtual run", len(out.results))
	return c, nil
}

func (r *runner) summarise(done []*runfolder.RunMetrics, reasons [][]string) *runfolder.Summary {
	runs := make([]runfolder.RunMetrics, len(done))
	byVariant := map[string][]map[string]float64{}
	for i, d := range done {
		runs[i] = *d
		byVariant[d.Variant] = append(byVariant[d.Variant], d.Metrics)
	}
	s := runfolder.NewSummary(r.set.Base.Name, runs...)
	s.Reasons = append(s.Reasons, slices.Concat(reasons...)...)
	s.Valid = len(s.Reasons) == 0
	for _, e := range experiment.EvalExpect(r.set.Base.Expect, byVariant) {
		x := runfolder.Expectation{Expr: e.Expr, OK: e.OK, Value: e.Value}
		if e.Err != "" {
			s.Reasons = append(s.Reasons, fmt.Sprintf("expectation %s: %s", e.Expr, e.Err))
			s.Valid = false
		}
		s.Expectations = append(s.Expectations, x)
	}
	return &s
}
