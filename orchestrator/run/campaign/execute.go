package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/check"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// session is what all runs of an experiment share while they are executed.
type session struct {
	set     *experiment.Set
	mode    mode
	opts    Options
	derived []expression.Named
	// mentioned are the names and patterns of metrics in expressions.
	mentioned []string
	details   measure.Details
	writer    *runfolder.Writer // nil: nowhere
	journal   *journal
	tracker   *tracker
}

// announce gives the user a message at once.
func (s *session) announce(text string) {
	s.journal.log.Info(text)
	if s.opts.Announce != nil {
		s.opts.Announce(text)
	}
}

// execute executes the jobs that have not finished before and returns the summary of all. w is
// nil if there is no folder. The first error cancels the other jobs.
func (c *work) execute(ctx context.Context, w *runfolder.Writer, j *journal) (*runfolder.Summary, error) {
	set, opts, jobs := c.set, c.opts, c.jobs
	expressions := set.Expressions()
	s := &session{set: set, mode: c.mode, opts: opts, derived: expressions.Derived, mentioned: set.MentionedMetrics(), details: detailsOf(jobs), writer: w, journal: j, tracker: newTracker(len(jobs), opts.Progress)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan int)
	done, errs := make([]finished, len(jobs)), make([]error, len(jobs))
	var wg sync.WaitGroup
	for _, cores := range share(c.mode, opts, jobs) {
		wg.Go(func() {
			for i := range next {
				waiting := jobs[i]
				j, err := Meanwhile(ctx, func() (job, error) { return waiting.prepare(set, opts) })
				if err == nil {
					j.run.Workers = workers(cores, j.plan)
					done[i], err = s.one(ctx, i, j)
				}
				if errs[i] = err; err != nil {
					cancel()
				}
				jobs[i] = job{} // free the memory
			}
		})
	}
	for i := range jobs {
		if before := jobs[i].done; before != nil {
			done[i] = *before
			s.tracker.skip(i)
			jobs[i] = job{}
			continue
		}
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
	noteRuns(s.journal, done)
	return summarise(set, expressions.Expect, done), nil
}

// notedSeeds is how many seeds a note lists. The manifest has the notes of each run.
const notedSeeds = 16

// noteRuns adds the notes of the runs to the journal, each text once for every
// variant, with the seeds.
func noteRuns(j *journal, done []finished) {
	type key struct{ variant, text string }
	seeds := map[key][]string{}
	var order []key
	for _, d := range done {
		for _, text := range d.notes {
			k := key{d.metrics.Variant, text}
			if seeds[k] == nil {
				order = append(order, k)
			}
			seeds[k] = append(seeds[k], fmt.Sprint(d.metrics.Seed))
		}
	}
	for _, k := range order {
		word := "seed"
		if len(seeds[k]) > 1 {
			word = "seeds"
		}
		list := strings.Join(seeds[k][:min(notedSeeds, len(seeds[k]))], ", ")
		if more := len(seeds[k]) - notedSeeds; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		j.note(fmt.Sprintf("variant %s, %s %s: %s", k.variant, word, list, k.text))
	}
}

// share shares the cores out: as many runs are executed at a time as it returns numbers,
// each with so many cores; see predict.Slots. A run with real nodes has the machine for
// itself.
func share(m mode, opts Options, jobs []job) (slots []int) {
	left := 0
	for _, j := range jobs {
		if j.done == nil {
			left++
		}
	}
	if !m.Has(runtimes.SideBySide) {
		left = 1
	}
	return predict.Slots(opts.Parallel, left)
}

// workers returns how many of the cores a run can use.
func workers(cores int, p *plan.Plan) int { return predict.Workers(cores, p.Hosts()) }

// manyNodes is the number of nodes from which on the machines of a run take more memory
// than everything else.
const manyNodes = 1000

// finished is the result of one run.
type finished struct {
	metrics runfolder.RunMetrics
	reasons []string // why it is not valid
	notes   []string
}

// one executes one job and adds it to the run folder.
func (s *session) one(ctx context.Context, index int, j job) (f finished, err error) {
	fail := func(err error) (finished, error) {
		return f, fmt.Errorf("variant %s, seed %d: %w", j.name, j.seed, err)
	}
	fraction := func(share float64) { s.tracker.update(index, j.name, j.seed, share) }
	fraction(0)
	pcap, writer, err := s.begin(j)
	if err != nil {
		return fail(err)
	}
	defer writer.Discard()
	if s.opts.Hold != nil {
		t := &s.set.Base.Telemetry
		writer.Thin(runfolder.Thinning{Steps: t.Thin.Steps(j.plan.Interval), Bytes: int64(t.DiskLimit())}, s.opts.Writing)
	}
	records := measure.NewRecords(j.plan, writer)
	out, err := s.run(ctx, j, pcap, records, fraction)
	// If a file could not be written, that is the cause, whatever the run's error is.
	for _, wrong := range []error{pcap.Close(), writer.Err()} {
		if wrong != nil && ctx.Err() == nil {
			err = writeError(s.writer.Dir(), wrong)
		}
	}
	if deadlock := records.Deadlock(); deadlock != nil && ctx.Err() == nil {
		return s.deadlocked(index, j, writer, deadlock)
	}
	if err != nil {
		return fail(err)
	}
	// A run that is given up here drops what it gets later.
	data, err := Meanwhile(ctx, func() (runfolder.RunData, error) { return s.results(ctx, j, out, records, writer) })
	if err != nil {
		return fail(err)
	}
	if err := writer.End(data); err != nil {
		return fail(writeError(s.writer.Dir(), err))
	}
	s.journal.log.Info("run done", "variant", j.name, "seed", j.seed, "wall", out.Wall.String(), "cpu", out.CPU.String(), "invalid", data.Invalid)
	s.tracker.finish(index, j.name, j.seed)
	return newFinished(runfolder.RunMetrics{Variant: j.name, Seed: j.seed, TraceHash: data.TraceHash, Metrics: data.Metrics, Matched: data.Matched, Failed: runfolder.Failed(data.Checks)}, data.Invalid, data.Notes), nil
}

// begin begins the files of a run. Without a folder it has none.
func (s *session) begin(j job) (*packets.File, *runfolder.RunWriter, error) {
	if s.writer == nil {
		return nil, nil, nil
	}
	pcap, err := packets.Create(j.plan, s.writer.Dir(), j.name, j.seed)
	if err != nil {
		return nil, nil, writeError(s.writer.Dir(), err)
	}
	writer, err := s.writer.BeginRun(j.name, j.seed, runfolder.Flows(j.plan.Flows))
	if err != nil {
		return nil, nil, writeError(s.writer.Dir(), errors.Join(err, pcap.Close()))
	}
	return pcap, writer, nil
}

// deadlocked writes a run that was ended because it came to a deadlock: it is not valid, and
// has no metrics.
func (s *session) deadlocked(index int, j job, writer *runfolder.RunWriter, deadlock error) (f finished, err error) {
	name, detail, _ := strings.Cut(deadlock.Error(), ": ")
	data := runfolder.RunData{
		Checks: []runfolder.Check{{Name: name, Detail: detail}}, Invalid: []string{deadlock.Error()}, Metrics: map[string]float64{},
	}
	if err := writer.End(data); err != nil {
		return f, fmt.Errorf("variant %s, seed %d: %w", j.name, j.seed, writeError(s.writer.Dir(), err))
	}
	s.journal.log.Info("run done", "variant", j.name, "seed", j.seed, "invalid", data.Invalid)
	s.tracker.finish(index, j.name, j.seed)
	return newFinished(runfolder.RunMetrics{Variant: j.name, Seed: j.seed, Metrics: data.Metrics, Failed: runfolder.Failed(data.Checks)}, data.Invalid, nil), nil
}

// results judges a run and computes its metrics, which it writes.
func (s *session) results(ctx context.Context, j job, out *backend.Outcome, records *measure.Records, writer *runfolder.RunWriter) (runfolder.RunData, error) {
	if len(j.plan.Nodes) >= manyNodes {
		runtime.GC() // the machines are no longer needed, and what follows takes memory too
	}
	data, err := s.judge(ctx, j, out, records.Nodes())
	if err != nil {
		return data, err
	}
	table := newMetricTable(writer, s.details, s.mentioned)
	values, matched := table.measure(j.plan, out, records)
	absent := s.derive(values, matched, table)
	table.end()
	data.DataPackets = int64(values["data_packets"])
	data.Metrics, data.Matched = values, matched
	data.Notes = append(measure.Notes(j.plan, out, records), absent...)
	return data, nil
}

// newFinished returns the result of a run that is invalid for the given reasons.
func newFinished(m runfolder.RunMetrics, invalid, notes []string) finished {
	f := finished{metrics: m, notes: notes}
	for _, reason := range invalid {
		f.reasons = append(f.reasons, fmt.Sprintf("variant %s, seed %d: %s", m.Variant, m.Seed, reason))
	}
	return f
}

// run runs a plan on the experiment's runtime. fraction is called with the share of
// the run that is done.
func (s *session) run(ctx context.Context, j job, pcap *packets.File, records *measure.Records, fraction func(float64)) (*backend.Outcome, error) {
	if !s.mode.Has(runtimes.RealFrames) {
		return packets.Virtual(ctx, j.run, pcap, records, fraction)
	}
	out, err := s.runReal(ctx, j, pcap, records, fraction)
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, failure.ErrInfrastructure):
		return out, err
	}
	return nil, failure.Infrastructure(err)
}

// judge checks whether a run can be trusted. It returns the data of the run for the
// run folder.
func (s *session) judge(ctx context.Context, j job, out *backend.Outcome, nodes []metrics.NodeTotals) (d runfolder.RunData, err error) {
	d = runfolder.RunData{Nodes: nodes, TraceHash: measure.TraceHash(nodes), Wall: out.Wall, CPU: out.CPU, Faults: measure.Faults(j.plan, out, nodes), Cut: check.Cut(out)}
	switch {
	case s.mode.Has(runtimes.RealTime):
		if len(j.plan.Programs) > 0 {
			var ends runfolder.Check
			ends, d.Programs = check.Programs(j.run, out)
			d.Checks = append(d.Checks, ends)
		}
		d.Fidelity = check.Measure(j.plan, s.mode.wall.Dilation, out)
		d.Checks = append(d.Checks, check.Fidelity(j.plan, d.Fidelity, s.mode.budget))
	case s.mode.Has(runtimes.RealFrames):
		d.Checks = append(d.Checks, check.Frames(j.plan, out, nodes))
	}
	d.Checks = append(d.Checks, check.Conservation(j.plan, out, nodes), check.Completion(j.plan, out, nodes))
	if j.plan.Classes != nil {
		d.Checks = append(d.Checks, check.Lossless(j.plan, nodes))
	}
	if s.opts.CheckParity {
		virtual := measure.NewRecords(j.plan, nil)
		if _, err := packets.Virtual(ctx, j.run, nil, virtual, nil); err != nil {
			return d, err
		}
		parity := check.Parity(nodes, virtual.Nodes())
		d.Checks = append(d.Checks, parity)
		if parity.OK {
			s.journal.note("parity: " + parity.Detail)
		}
	}
	for _, c := range d.Checks {
		if !c.OK {
			d.Invalid = append(d.Invalid, c.Name+": "+c.Detail)
		}
	}
	for _, p := range d.Programs {
		s.journal.log.Info("program", "variant", j.name, "seed", j.seed, "program", p)
	}
	return d, nil
}

// derive adds the experiment's derived metrics to values. It returns a note for each
// that the run lacks.
func (s *session) derive(values, matched map[string]float64, table *metricTable) (notes []string) {
	derived, absent := expression.Derive(s.derived, joined(values, matched), measure.WhyAbsent)
	maps.Copy(values, derived)
	table.derived(derived)
	for _, a := range absent {
		notes = append(notes, fmt.Sprintf("the derived metric %s is absent: %s", a.Name, a.Reason))
	}
	return notes
}

// joined returns the metrics that expressions are evaluated with. It may be values.
func joined(values, matched map[string]float64) map[string]float64 {
	if len(matched) == 0 {
		return values
	}
	all := make(map[string]float64, len(values)+len(matched))
	maps.Copy(all, values)
	maps.Copy(all, matched)
	return all
}

// detailsOf returns which metrics of the runs summary.json lacks.
func detailsOf(jobs []job) measure.Details {
	return measure.DetailsOf(func(yield func(*plan.Plan) bool) {
		for _, j := range jobs {
			if !yield(j.plan) {
				return
			}
		}
	})
}

// summarise returns the outcome of the experiment.
func summarise(set *experiment.Set, expect []*expression.Expr, done []finished) *runfolder.Summary {
	runs := make([]runfolder.RunMetrics, len(done))
	byVariant := map[string][]expression.Run{}
	var reasons []string
	for i, d := range done {
		runs[i] = d.metrics
		byVariant[d.metrics.Variant] = append(byVariant[d.metrics.Variant], expression.Run{Seed: d.metrics.Seed, Metrics: joined(d.metrics.Metrics, d.metrics.Matched)})
		reasons = slices.Concat(reasons, d.reasons)
	}
	s := runfolder.NewSummary(set.Base.Name, runs...)
	s.Reasons = append(s.Reasons, reasons...)
	s.Valid = len(s.Reasons) == 0
	s.Expectations = append(s.Expectations, evaluate(expect, byVariant, measure.WhyAbsent)...)
	return &s
}

// evaluate returns the outcomes of expectations over the metrics of every variant's runs,
// which are in the order of the seeds.
func evaluate(expect []*expression.Expr, runs map[string][]expression.Run, why expression.Why) []runfolder.Expectation {
	results := expression.NewResults(runs, why)
	all := make([]runfolder.Expectation, len(expect))
	for i, e := range expect {
		all[i] = results.Expect(e)
	}
	return all
}
