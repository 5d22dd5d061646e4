package regress

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// Campaign compares two sides over a suite.
//
//	prepare ──▶ for each variant: seeds of a look ──▶ fingerprint ──▶ statistics ──┐
//	                                  ▲                                            │
//	                                  └──────────── neither pass nor fail ─────────┤
//	                                                                               ▼
//	                                                       Holm over the suite ──▶ verdict
type Campaign struct {
	Suite               *Suite
	Filter              Filter
	Baseline, Candidate Side
	// Folder has the texts of embedded experiments, for the programs of both sides.
	Folder  string
	Runner  trial.Runner
	Journal *trial.Journal // what is in it is not run again; may be nil
	// Parallel is how many trials run at once. Under other clocks than virtual it is one.
	Parallel  int
	Elsewhere bool           // the Runner bounds by itself which trials run at once
	Progress  func(Progress) // may be nil
	Say       func(string)   // receives each experiment's outcome as it is known; may be nil
	Flags     []string       // of csiglab run, for all trials
	Started   time.Time      // of the first session; zero: now
	Before    time.Duration  // spent in earlier sessions
	Building  time.Duration  // spent in this session before Run, on the programs of the sides
	Strict    bool           // what has changed fails, also where nothing got worse
	Version   string         // of this csiglab
	Command   []string       // that was given
	Machine   string         // host name
	Arguments []string       // of csiglab regress that name the suite again, for commands that reproduce

	cells []*cell
	texts map[string]embedded // by file
	files []trial.File        // see Watched
	// runner is the watched Runner.
	runner trial.Runner
	done   int
}

// Progress is how far a campaign is.
type Progress struct {
	Done, Least int // trials that have ended; in all, unless looks ask for more
	Name        string
}

// sideNames name the sides in messages, as flags do.
var sideNames = [2]string{"baseline", "candidate"}

func (c *Campaign) sides() [2]*Side { return [2]*Side{&c.Baseline, &c.Candidate} }

// Prepare reads the experiments and checks everything that can be checked before the first
// run. It needs the sides' kinds, overrides and values, but no programs, and writes nothing. Its error is of class failure.ErrConfiguration if the input is wrong, and names all
// that is. Run calls it if it was not called.
func (c *Campaign) Prepare() error {
	if c.cells != nil {
		return nil
	}
	return c.prepare()
}

// Contents returns the digests of the experiments that both sides run, by the names of the
// cells; a resumed campaign must find the same.
func (c *Campaign) Contents() map[string][2]string {
	all := map[string][2]string{}
	for _, one := range c.cells {
		all[one.name()] = one.content
	}
	return all
}

// Run runs the campaign and returns its verdict. Its error is of class
// failure.ErrConfiguration if the input is wrong, the context's if it was interrupted, or
// that of a machine on which no trial can go on. Everything else is part of the verdict.
func (c *Campaign) Run(ctx context.Context) (*verdict.Document, error) {
	began := time.Now()
	if err := c.Prepare(); err != nil {
		return nil, err
	}
	if err := c.writeTexts(); err != nil {
		return nil, err
	}
	c.runner = c.Watched(c.Runner)
	if c.Started.IsZero() {
		c.Started = began
	}
	for _, one := range c.cells {
		if err := c.cell(ctx, one); err != nil {
			return nil, err
		}
	}
	d := c.document()
	d.Seconds, d.Building = (c.Before + c.Building + time.Since(began)).Seconds(), c.Building.Seconds()
	return d, nil
}

// metrics returns how many metrics share the false fails.
func (c *Campaign) metrics() (n int) {
	for _, one := range c.cells {
		n += len(one.rules)
	}
	return n
}

// cell runs the trials of a cell, look by look, until its metrics are decided or its seeds
// are spent.
func (c *Campaign) cell(ctx context.Context, one *cell) error {
	r := &one.result
	*r = verdict.Experiment{Name: one.entry.Name, Clock: one.clock, Looks: one.looks, Outcome: verdict.Inconclusive}
	if one.several {
		r.Variant = one.variant
	}
	s := &samples{cell: one}
	if c.uncalibrated(one) {
		s.reasons = []string{"values under clock wall depend on the machine and its load, and those of a baseline file cannot be calibrated; compare programs"}
	}
	for i, n := range one.looks {
		if s.reasons != nil && !s.brokenAlone() {
			break
		}
		if err := c.sample(ctx, one, s, n); err != nil {
			return err
		}
		r.Looked = i + 1
		if s.brokenAlone() && c.promises(one, s).Outcome == verdict.Fail || s.reasons == nil && c.judge(one, s) {
			break
		}
	}
	c.conclude(one, s)
	if c.Say != nil {
		c.Say(one.summary())
	}
	return nil
}

// samples are the outcomes of a cell so far.
type samples struct {
	*cell
	sides   [2][]trial.Outcome // by seed, from 1
	again   []trial.Outcome    // of the baseline, under clock wall
	reasons []string           // why the cell is invalid
	broken  int                // runs of the candidate that broke promises of csiglab; see promises
	invalid int                // runs of both sides that do not count
	seconds float64
}

// sample runs what is missing up to the seed n. Trials of one seed follow each other, and
// the sides take turns in being first, so that a machine that gets slower or faster does
// not favour one.
func (c *Campaign) sample(ctx context.Context, one *cell, s *samples, n int) error {
	type place struct {
		side int // 2: the baseline again
		seed int
	}
	var trials []trial.Trial
	var places []place
	sides := c.sides()
	for seed := len(s.sides[0]) + 1; seed <= n; seed++ {
		order := []int{0, 1}
		if one.calibrated(sides) {
			order = []int{0, 1, 2}
		}
		for i := range order {
			side := order[i]
			if seed%2 == 0 {
				side = order[len(order)-1-i]
			}
			if side < 2 && sides[side].Stored != nil {
				continue
			}
			trials = append(trials, c.trial(one, side, uint64(seed)))
			places = append(places, place{side, seed})
		}
	}
	least := c.least(one, len(trials))
	outcomes := make([]trial.Outcome, len(trials))
	done := c.done
	err := trial.Each(ctx, c.runner, c.Journal, trials, c.parallel(one), func(d trial.Done) {
		outcomes[d.Index] = one.needed(d.Outcome)
		if done++; c.Progress != nil {
			c.Progress(Progress{Done: done, Least: least, Name: one.name()})
		}
	})
	if err != nil {
		return err
	}
	c.done += len(trials)
	had := len(s.sides[0])
	for side, one := range sides {
		for seed := had + 1; seed <= n && one.Stored != nil; seed++ {
			s.sides[side] = append(s.sides[side], one.Stored.outcome(s.cell, uint64(seed)))
		}
		if one.Stored == nil {
			s.sides[side] = append(s.sides[side], make([]trial.Outcome, n-had)...)
		}
	}
	if one.calibrated(sides) {
		s.again = append(s.again, make([]trial.Outcome, n-had)...)
	}
	for i, p := range places {
		if p.side == 2 {
			s.again[p.seed-1] = outcomes[i]
		} else {
			s.sides[p.side][p.seed-1] = outcomes[i]
		}
		s.seconds += outcomes[i].Seconds
		s.check(p.side, p.seed, &outcomes[i])
	}
	return nil
}

// needed returns an outcome with the metrics that are judged alone: runs may have 100,000.
func (c *cell) needed(out trial.Outcome) trial.Outcome {
	metrics := make(map[string]float64, len(c.rules))
	for i := range c.rules {
		name := c.rules[i].Metric
		if v, ok := out.Metrics[name]; ok {
			metrics[name] = v
		}
	}
	out.Metrics = metrics
	return out
}

// parallel returns how many trials of a cell run at once: one, unless they run in virtual
// time, where they share nothing of the machine but its time.
func (c *Campaign) parallel(one *cell) int {
	if !one.way().Has(runtimes.SideBySide) && !c.Elsewhere {
		return 1
	}
	return max(1, c.Parallel)
}

// maxReasons is the most reasons that a verdict lists for one cell.
const maxReasons = 10

// check adds why a trial's numbers do not count.
func (s *samples) check(side, seed int, out *trial.Outcome) {
	if out.Counts() {
		return
	}
	s.invalid++
	if side == 1 && s.deterministic() && broke(out) {
		s.broken++
	}
	text := fmt.Sprintf("%s, seed %d: ", sideNames[side%2], seed)
	switch {
	case out.Exit == 2:
		text += "its csiglab refuses the experiment: "
	case len(out.Reasons) == 0:
		text += "the run is invalid"
	}
	for i, reason := range out.Reasons {
		if i > 0 {
			text += "; "
		}
		text += reason
	}
	if len(s.reasons) < maxReasons {
		s.reasons = append(s.reasons, text)
	}
}

// calibrated reports whether the baseline is compared with itself, which needs a baseline
// that can run.
func (c *cell) calibrated(sides [2]*Side) bool {
	return !c.deterministic() && sides[0].Stored == nil
}

// uncalibrated reports whether a cell compares runs that differ by themselves with values of
// other days or machines.
func (c *Campaign) uncalibrated(one *cell) bool {
	return !one.deterministic() && (c.Baseline.Stored != nil || c.Candidate.Stored != nil)
}

// Repetitions of a run under clock wall, in trial.Trial.Repeat, which keeps equal sides from
// being one run.
const (
	repeatCandidate = 1
	repeatBaseline  = 2
)

func (c *Campaign) trial(one *cell, side int, seed uint64) trial.Trial {
	s := c.sides()[side%2]
	t := trial.Trial{
		Program: s.Program, Identity: s.Identity, Experiment: one.file[side%2], Content: one.content[side%2],
		Set: arguments(one.entry, s), Variant: one.variant, Seed: seed, Flags: c.Flags,
	}
	if !one.deterministic() {
		t.Repeat = [...]int{0, repeatCandidate, repeatBaseline}[side]
	}
	return t
}

// least returns how many trials there are at least, with those that a cell is about to run.
func (c *Campaign) least(now *cell, trials int) int {
	n, after := c.done+trials, false
	for _, one := range c.cells {
		if after {
			n += one.looks[0] * c.perSeed(one)
		}
		after = after || one == now
	}
	return n
}

func (c *Campaign) perSeed(one *cell) (n int) {
	sides := c.sides()
	if c.uncalibrated(one) {
		return 0
	}
	for _, s := range sides {
		if s.Stored == nil {
			n++
		}
	}
	if one.calibrated(sides) {
		n++
	}
	return n
}

// plan returns how a metric is judged.
func (c *Campaign) plan(one *cell, r *judged) statistics.Plan {
	return statistics.Plan{
		Delta: r.Delta, Absolute: r.Absolute, Higher: r.Better == verdict.Higher, Both: r.Better == verdict.Same, Quantile: r.quantile(),
		Confidence: c.Suite.Confidence, FalseFail: c.Suite.FalseFail / float64(c.metrics()), Looks: len(one.looks),
	}
}

// checkPlans refuses what statistics cannot judge.
func (c *Campaign) checkPlans() error {
	var errs []error
	for _, one := range c.cells {
		for i := range one.rules {
			if err := c.plan(one, &one.rules[i]).Check(); err != nil {
				errs = append(errs, one.rules[i].wrong(one.entry, err))
			}
		}
	}
	return errors.Join(errs...)
}
