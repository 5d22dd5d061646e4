package comparisons

import (
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/compare/stress"
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

func stressCommand(a *command.App) *cobra.Command {
	var s stressFlags
	cmd := &cobra.Command{
		Use:   "stress [EXPERIMENT…]",
		Short: "Find out which expectations survive unseen seeds and other settings",
		Long: "Run experiments with seeds that they do not have, then with one thing changed at a time: the rate of links,\n" +
			"their delay, the MTU, queues, the format of CSIG tags, how many packets are tagged. A table says which\n" +
			"expectation holds under which setting. The key robust of an experiment says what it promises. The setting tuned\n" +
			"halves and doubles the values of its key tuned, which were chosen for it.\n\n" +
			"Exit codes: 0 all that is promised holds, 1 a promised expectation does not hold, 2 usage or configuration,\n" +
			"3 a promised expectation has an invalid run, or the machine failed, 4 --for ended before all that is promised was run.",
		Example: "  csiglab stress three-flow\n" +
			"  csiglab stress mine.yaml --setting seeds --setting rate --seeds 20 --from 1001\n" +
			"  csiglab stress --all --promised --seeds 2 --setting-seeds 1 --for 10m --out stress/ci",
		ValidArgsFunction: choose.CompleteExperiments,
		RunE:              func(cmd *cobra.Command, args []string) error { return runStress(a, cmd, &s, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&s.all, "all", false, "all embedded experiments that run in virtual time")
	f.IntVar(&s.seeds, "seeds", stress.DefaultSeeds, "`N` unseen seeds")
	f.Uint64Var(&s.from, "from", stress.DefaultFrom, "the first unseen seed is `SEED`; those of the experiment are left out")
	f.IntVar(&s.settingSeeds, "setting-seeds", stress.DefaultSettingSeeds, "of the unseen seeds, the first `N` are run at each other setting")
	f.StringArrayVar(&s.settings, "setting", nil, "this `SETTING` alone, such as seeds, rate, 'rate x4' or tuned (repeatable)")
	f.BoolVar(&s.promised, "promised", false, "run only what the experiments promise")
	f.StringArrayVar(&s.set, "set", nil, "override a value in all settings, as `PATH=VALUE` (repeatable)")
	f.IntVar(&s.parallel, "parallel", 0, "`N` runs at once (default: one per core; one in real time)")
	f.DurationVar(&s.limit, "for", 0, "end after that `TIME`, such as 10m; short experiments go first, and the same command goes on")
	f.StringVar(&s.out, "out", "", "folder for the sweeps and the tables, `DIR` (default: stress/TIME)")
	f.BoolVar(&s.json, "json", false, "print the results as JSON on standard output and nothing else there")
	return cmd
}

func runStress(a *command.App, cmd *cobra.Command, s *stressFlags, args []string) error {
	began := time.Now()
	switch {
	case s.all && len(args) > 0:
		return command.Usage("--all and %q exclude each other", args)
	case !s.all && len(args) == 0:
		return command.Usage("name an experiment, or give --all; embedded: %s", strings.Join(experiment.Names(), " "))
	case s.seeds < 1 || s.settingSeeds < 1:
		return command.Usage("--seeds %d --setting-seeds %d: want at least 1", s.seeds, s.settingSeeds)
	case s.parallel < 0 || s.parallel == 0 && cmd.Flags().Changed("parallel"):
		return command.Usage("--parallel %d: want at least 1", s.parallel)
	case s.limit < 0 || s.limit == 0 && cmd.Flags().Changed("for"):
		return command.Usage("--for %v: want more than 0", s.limit)
	}
	if err := a.NoOverrides("a stress is given by its files and flags alone, so that it can be done again; use --set"); err != nil {
		return err
	}
	if s.all {
		args = experiment.Names()
	}
	if s.out == "" {
		s.out = filepath.Join("stress", time.Now().UTC().Format("20060102-150405"))
	}
	set, err := choose.Overrides(s.set)
	if err != nil {
		return err
	}
	identity, err := trial.Identity("")
	if err != nil {
		return command.Infrastructure(err)
	}
	r := stress.Request{
		Identity: identity, Version: command.Version(), Command: a.Command(), Parallel: runtime.NumCPU(),
		Seeds: s.seeds, From: s.from, SettingSeeds: s.settingSeeds, Settings: s.settings, Promised: s.promised,
		Options: experiment.Options{Override: set, Tables: experiment.StandardTables(), Names: measure.NamesOfSet},
	}
	work := sweepWork(a, s.parallel)
	session := stress.Session{Folder: s.out, Began: began, Limit: s.limit, Work: &work, Alone: func(clock string) error {
		if a.Alone(clock, &work.Parallel) {
			return command.Usage("--parallel %d: runs in real time (clock %s) disturb each other; want 1", work.Parallel, runtimes.Wall)
		}
		return nil
	}}
	if _, err := command.Interruptible(cmd.Context(), func() (struct{}, error) { return struct{}{}, session.Plan(cmd.Context(), r, args, s.all) }); err != nil {
		return sweepError(err)
	}
	results, err := session.Run(cmd.Context())
	if err != nil {
		return sweepError(err)
	}
	err = a.Result(s.json, results, func() string {
		return results.Text() + "tables  " + filepath.Join(s.out, stress.TableFile) + ", " + filepath.Join(s.out, stress.ResultFile) + "\n"
	})
	if err != nil {
		return err
	}
	return map[stress.Promise]error{
		stress.Kept: nil, stress.Open: &command.ExitError{Code: command.ExitInconclusive}, stress.Unknown: &command.ExitError{Code: command.ExitInfrastructure}, stress.Broken: &command.ExitError{Code: command.ExitFailed},
	}[results.Promise()]
}
