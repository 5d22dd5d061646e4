package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/compare/stress"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// stressFlags are the flags of csiglab stress.
type stressFlags struct {
	all, promised, json bool
	seeds, settingSeeds int
	from                uint64
	settings, set       []string
	parallel            int
	limit               time.Duration
	out                 string
}

func (a *app) stress() *cobra.Command {
	var s stressFlags
	cmd := &cobra.Command{
		Use:   "stress [EXPERIMENT…]",
		Short: "Find out which expectations survive unseen seeds and other settings",
		Long: "Run experiments with seeds that they do not have, then with one thing changed at a time: the rate of links,\n" +
			"their delay, the MTU, queues, the format of CSIG tags, how many packets are tagged. A table says which\n" +
			"expectation holds under which setting. The key robust of an experiment says what it promises.\n\n" +
			"Exit codes: 0 all that is promised holds, 1 a promised expectation does not hold, 2 usage or configuration,\n" +
			"3 a promised expectation has an invalid run, or the machine failed, 4 --for ended before all that is promised was run.",
		Example: "  csiglab stress three-flow\n" +
			"  csiglab stress mine.yaml --setting seeds --setting rate --seeds 20 --from 1001\n" +
			"  csiglab stress --all --promised --seeds 2 --setting-seeds 1 --for 10m --out stress/ci",
		ValidArgsFunction: completeExperiments,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runStress(cmd, &s, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&s.all, "all", false, "all embedded experiments that run in virtual time")
	f.IntVar(&s.seeds, "seeds", stress.DefaultSeeds, "`N` unseen seeds")
	f.Uint64Var(&s.from, "from", stress.DefaultFrom, "the first unseen seed is `SEED`; those of the experiment are left out")
	f.IntVar(&s.settingSeeds, "setting-seeds", stress.DefaultSettingSeeds, "of the unseen seeds, the first `N` are run at each other setting")
	f.StringArrayVar(&s.settings, "setting", nil, "this `SETTING` alone, such as seeds, rate or 'rate x4' (repeatable)")
	f.BoolVar(&s.promised, "promised", false, "run only what the experiments promise")
	f.StringArrayVar(&s.set, "set", nil, "override a value in all settings, as `PATH=VALUE` (repeatable)")
	f.IntVar(&s.parallel, "parallel", 0, "`N` runs at once (default: one per core; one in real time)")
	f.DurationVar(&s.limit, "for", 0, "end after that `TIME`, such as 10m; short experiments go first, and the same command goes on")
	f.StringVar(&s.out, "out", "", "folder for the sweeps and the tables, `DIR` (default: stress/TIME)")
	f.BoolVar(&s.json, "json", false, "print the results as JSON on standard output and nothing else there")
	return cmd
}

// stressed is an experiment with its plan.
type stressed struct {
	name string // of its folder
	plan *stress.Plan
}

func (a *app) runStress(cmd *cobra.Command, s *stressFlags, args []string) error {
	switch {
	case s.all && len(args) > 0:
		return usage("--all and %q exclude each other", args)
	case !s.all && len(args) == 0:
		return usage("name an experiment, or give --all; embedded: %s", strings.Join(experiment.Names(), " "))
	case s.seeds < 1 || s.settingSeeds < 1:
		return usage("--seeds %d --setting-seeds %d: want at least 1", s.seeds, s.settingSeeds)
	case s.parallel < 0 || s.parallel == 0 && cmd.Flags().Changed("parallel"):
		return usage("--parallel %d: want at least 1", s.parallel)
	case s.limit < 0 || s.limit == 0 && cmd.Flags().Changed("for"):
		return usage("--for %v: want more than 0", s.limit)
	}
	if err := a.noOverrides("a stress is given by its files and flags alone, so that it can be done again; use --set"); err != nil {
		return err
	}
	if s.all {
		args = experiment.Names()
	}
	if s.out == "" {
		s.out = filepath.Join("stress", time.Now().UTC().Format("20060102-150405"))
	}
	began := time.Now()
	plans, err := a.stressPlans(cmd.Context(), s, args)
	if err != nil {
		return sweepError(err)
	}
	ctx := cmd.Context()
	if s.limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, began.Add(s.limit))
		defer stop()
	}
	results := stressResults{Schema: 1, Experiments: []*stress.Result{}}
	for _, p := range plans {
		r, err := a.stressOne(ctx, s, p)
		if err != nil {
			return err
		}
		results.Experiments = append(results.Experiments, r)
	}
	results.Seconds = time.Since(began).Seconds()
	return a.stressEnd(s, &results)
}

// stressPlans plans all experiments, and puts those that take less time first.
func (a *app) stressPlans(ctx context.Context, s *stressFlags, args []string) (plans []stressed, err error) {
	set, err := overrides(s.set)
	if err != nil {
		return nil, err
	}
	identity, err := trial.Identity("")
	if err != nil {
		return nil, infrastructure(err)
	}
	for _, name := range args {
		r := stress.Request{
			Experiment: name, Identity: identity, Version: buildVersion(), Command: a.command(), Parallel: runtime.NumCPU(),
			Seeds: s.seeds, From: s.from, SettingSeeds: s.settingSeeds, Settings: s.settings, Promised: s.promised,
			Options: experiment.Options{Override: set, Tables: experiment.StandardTables(), Names: measure.NamesOfSet},
		}
		p, err := interruptible(ctx, func() (*stress.Plan, error) { return r.Plan(ctx) })
		switch {
		case err != nil && len(args) > 1:
			return nil, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			return nil, err
		}
		if s.all && !(runtimes.Way{Clock: p.Clock()}).Has(runtimes.SideBySide) {
			a.say(fmt.Sprintf("%s is left out: its clock is %s", name, p.Clock()))
			continue
		}
		if a.alone(p.Clock(), &s.parallel) {
			return nil, usage("--parallel %d: runs in real time (clock %s) disturb each other; want 1", s.parallel, runtimes.Wall)
		}
		folder := p.Name()
		if slices.ContainsFunc(plans, func(other stressed) bool { return other.name == folder }) {
			return nil, usage("%s: another experiment is called %s, too; stress one at a time", name, folder)
		}
		plans = append(plans, stressed{folder, p})
	}
	slices.SortStableFunc(plans, func(x, y stressed) int { return int(min(max(x.plan.Weight()-y.plan.Weight(), -1), 1)) })
	return plans, nil
}

// stressOne performs the runs that the folder of an experiment lacks, and judges.
func (a *app) stressOne(ctx context.Context, s *stressFlags, p stressed) (*stress.Result, error) {
	if p.plan.Sweep == nil {
		return p.plan.Judge(nil)
	}
	sw, err := sweep.Create(filepath.Join(s.out, p.name), p.plan.Sweep)
	if err != nil {
		return nil, sweepOutError(err)
	}
	defer sw.Close() // the journal is on the disk
	if ctx.Err() == nil {
		if err := a.stressRun(ctx, s, p, sw); err != nil {
			return nil, err
		}
	}
	if _, err := sw.Finish(nil, func([]string) []string { return nil }); err != nil {
		return nil, sweepError(err)
	}
	r, err := p.plan.Judge(sw)
	return r, sweepErrorOf(err)
}

// sweepErrorOf is sweepError, nil for nil.
func sweepErrorOf(err error) error {
	if err == nil {
		return nil
	}
	return sweepError(err)
}

// stressRun performs the runs, until the time of --for is over.
func (a *app) stressRun(ctx context.Context, s *stressFlags, p stressed, sw *sweep.Sweep) error {
	err := sw.PerformAs(ctx, a.sweepWork(s.parallel), sweep.Words{
		Head: p.name, Noun: "run", Whole: "the stress of " + p.name, Rest: fmt.Sprintf("; the same command with --out %s does the rest", s.out),
	})
	if err == nil || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil
	}
	return sweepError(err)
}

// stressEnd writes the tables and prints one.
func (a *app) stressEnd(s *stressFlags, results *stressResults) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err == nil {
		err = os.MkdirAll(s.out, 0o755) // no sweep has made it if there was nothing to run
	}
	if err == nil {
		err = errors.Join(own.WriteFile(filepath.Join(s.out, "stress.json"), append(text, '\n'), 0o644),
			own.WriteFile(filepath.Join(s.out, "stress.md"), []byte(stressMarkdown(results)), 0o644))
	}
	if err != nil {
		return sweepOutError(err)
	}
	if s.json {
		err = a.printJSON(results)
	} else {
		err = a.print(stressText(results) + "tables  " + filepath.Join(s.out, "stress.md") + ", " + filepath.Join(s.out, "stress.json") + "\n")
	}
	if err != nil {
		return err
	}
	worst := stress.Kept
	for _, r := range results.Experiments {
		worst = max(worst, r.Promise())
	}
	return map[stress.Promise]error{
		stress.Kept: nil, stress.Open: &exitError{code: exitInconclusive}, stress.Unknown: &exitError{code: exitInfrastructure}, stress.Broken: &exitError{code: exitFailed},
	}[worst]
}
