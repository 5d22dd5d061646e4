package comparisons

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/cmd/cli/resources"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// sweepFlags are the flags of csiglab sweep.
type sweepFlags struct {
	choose.Selection
	grid, metrics    []string
	list, shard, out string
	resume           string
	merge            bool
	parallel         int
	keep, json       bool
	cluster          clusterFlags
}

func sweepCommand(a *command.App) *cobra.Command {
	var s sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep [EXPERIMENT]",
		Short: "Run an experiment at many points and collect the results in one table",
		Long: "Run an experiment at many points, each variant and seed at each of them, and collect the results in\n" +
			"one table, results.parquet. The points are those of the experiment's key sweep, or of --grid and --list.\n" +
			"All points are validated before the first run. What has ended is kept: --resume does the rest.\n\n" +
			"Exit codes: 0 all expectations held, 1 an expectation failed at some point, 2 usage or configuration,\n" +
			"3 a run is invalid (its row says why, the others are kept), the sweep is incomplete, or the machine failed.",
		Example: "  csiglab sweep incast --grid workload.incast.fan_in=4,8,12 --seeds 5\n" +
			"  csiglab sweep mine.yaml --list points.csv --variant csig --metric 'fct_us.*'\n" +
			"  csiglab sweep atlas --at rate=100Gbps --at trouble=none,incast --out atlas\n" +
			"  csiglab sweep mine.yaml --shard 2/4 --out shard2    # one of four jobs of a CI matrix\n" +
			"  csiglab sweep --merge shard1 shard2 shard3 shard4 --out whole\n" +
			"  csiglab sweep incast --seeds 500 --on kubernetes --image registry.example.com/team/csiglab:1\n" +
			"  csiglab sweep --resume sweeps/incast-20260501-100000-00000",
		ValidArgsFunction: choose.CompleteExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case s.parallel < 0 || s.parallel == 0 && cmd.Flags().Changed("parallel"):
				return command.Usage("--parallel %d: want at least 1", s.parallel)
			case cmd.Flags().Changed("resume") && s.resume == "":
				return command.Usage("--resume: name the folder of a sweep")
			case s.resume != "" && s.merge:
				return command.Usage("--resume and --merge exclude each other")
			case s.resume != "":
				return sweepResume(a, cmd, &s, args)
			case s.merge:
				return sweepMerge(a, cmd, &s, args)
			case len(args) > 1:
				return command.Usage("want an experiment, got %d: %q; see %s --help", len(args), args, cmd.CommandPath())
			case len(args) == 0:
				return command.Usage("name an experiment; embedded: %s", strings.Join(experiment.Names(), " "))
			}
			return sweepNew(a, cmd, &s, args[0])
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&s.grid, "grid", nil, "values of a path, as `PATH=V1,V2`; every combination is a point (repeatable)")
	f.StringVar(&s.list, "list", "", "points of `FILE`: a CSV table with paths in its first row, or a YAML list of mappings")
	f.StringArrayVar(&s.At, "at", nil, "run the points that have one of some values of an axis of the experiment's sweep, as `AXIS=V1,V2` (repeatable)")
	f.IntVar(&s.Seeds, "seeds", 0, "use the first `N` seeds of the experiment; if it has fewer, also the numbers after its greatest one")
	s.VariantFlag(cmd)
	f.StringArrayVar(&s.Set, "set", nil, "override a value at all points, as `PATH=VALUE` (repeatable)")
	f.IntVar(&s.parallel, "parallel", 0, "`N` runs at once (default: one per core; one in real time)")
	f.StringVar(&s.shard, "shard", "", "run part `I/N` of the sweep, the first is 1/N; --merge puts the parts together")
	f.BoolVar(&s.merge, "merge", false, "put the folders of shards together, into the folder of --out")
	f.StringVar(&s.resume, "resume", "", "do the runs that the sweep in `DIR` lacks")
	f.StringVar(&s.out, "out", "", "the sweep's folder, new or empty `DIR` (default: sweeps/NAME-TIME)")
	s.cluster.flags(cmd)
	f.BoolVar(&s.keep, "keep", false, "keep the run folders, in runs/ of the sweep's folder")
	f.StringArrayVar(&s.metrics, "metric", nil, "write the metrics that `PATTERN` matches, such as 'fct_us.*', and no others; a sweep that judges writes only the metrics it judges by, and '*' brings the rest back (repeatable)")
	f.BoolVar(&s.json, "json", false, "print the medians at each point as JSON on standard output and nothing else there")
	return cmd
}

// sweepNew plans a sweep and runs it.
func sweepNew(a *command.App, cmd *cobra.Command, s *sweepFlags, nameOrPath string) error {
	plan, err := sweepPlan(a, cmd, s, nameOrPath)
	if err != nil {
		return sweepError(err)
	}
	folder := cmp.Or(s.out, plan.Place())
	remote, err := sweepRunner(a, cmd, s, plan)
	if err != nil {
		return err
	}
	sw, err := sweep.Create(folder, plan)
	if err != nil {
		return sweepError(sweep.PlaceError(err))
	}
	defer sw.Close() // the journal is on the disk
	return sweepRun(a, cmd, s, sw, remote)
}

// sweepPlan loads the experiment, and validates it at all points.
func sweepPlan(a *command.App, cmd *cobra.Command, s *sweepFlags, nameOrPath string) (*sweep.Plan, error) {
	shard, err := sweep.ParseShard(s.shard)
	if err != nil {
		return nil, err
	}
	if err := a.NoOverrides("a sweep is given by its files and flags alone, so that it can be done again; use --set"); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("seeds") && s.Seeds < 1 {
		return nil, command.Usage("--seeds %d: want at least 1", s.Seeds)
	}
	set, err := choose.Overrides(s.Set)
	if err != nil {
		return nil, err
	}
	points, err := sweep.ParsePoints(s.grid, s.list)
	if err != nil {
		return nil, err
	}
	identity, err := trial.Identity("")
	if err != nil {
		return nil, command.Infrastructure(err)
	}
	r := sweep.Request{
		Experiment: nameOrPath, Points: points, At: s.At, Identity: identity, Version: command.Version(), Command: a.Command(), Started: time.Now().UTC(), Shard: shard, Parallel: runtime.NumCPU(), Metrics: s.metrics,
		Options: experiment.Options{Override: set, Seeds: s.Seeds, Variants: s.Variants, Tables: experiment.StandardTables(), Names: measure.NamesOfSet},
	}
	plan, err := command.Interruptible(cmd.Context(), func() (*sweep.Plan, error) { return r.Plan(cmd.Context()) })
	if err != nil {
		return nil, err
	}
	if a.Alone(plan.Clock, &s.parallel) {
		return nil, command.Usage("--parallel %d: runs in real time (clock %s) disturb each other; want 1", s.parallel, runtimes.Wall)
	}
	return plan, nil
}

// sweepResume does the trials that a folder lacks.
func sweepResume(a *command.App, cmd *cobra.Command, s *sweepFlags, args []string) error {
	if len(args) > 0 {
		return command.Usage("experiment %q and --resume %s exclude each other: a sweep that is resumed has the experiment of its folder", args[0], s.resume)
	}
	if err := excluded(cmd, "--resume "+s.resume, "a sweep that is resumed goes on as it was begun", append([]string{"resume", "parallel", "keep", "json", "metric"}, clusterFlagNames...)...); err != nil {
		return err
	}
	sw, err := command.Interruptible(cmd.Context(), func() (*sweep.Sweep, error) { return sweep.Open(cmd.Context(), s.resume) })
	if err != nil {
		return sweepError(err)
	}
	defer sw.Close() // the journal is on the disk
	if err := s.choose(cmd, sw); err != nil {
		return err
	}
	identity, err := trial.Identity("")
	if err != nil {
		return command.Infrastructure(err)
	}
	if err := sw.CheckProgram(identity, command.Version()); err != nil {
		return sweepError(err)
	}
	if a.Alone(sw.Plan.Clock, &s.parallel) {
		return command.Usage("--parallel %d: runs in real time (clock %s) disturb each other; want 1", s.parallel, runtimes.Wall)
	}
	remote, err := sweepRunner(a, cmd, s, sw.Plan)
	if err != nil {
		return err
	}
	return sweepRun(a, cmd, s, sw, remote)
}

// sweepRunner returns the runner of a cluster, nil without one.
func sweepRunner(a *command.App, cmd *cobra.Command, s *sweepFlags, plan *sweep.Plan) (command.Runner, error) {
	r, err := clusterRunner(cmd.Context(), a, cmd.Flags(), &s.cluster, "sweep", plan.Name, s.parallel)
	if r != nil && s.keep {
		return nil, command.Usage("--keep keeps run folders on this machine; with --on, --results names a store for them")
	}
	return r, err
}

// sweepMerge puts the folders of shards together.
func sweepMerge(a *command.App, cmd *cobra.Command, s *sweepFlags, folders []string) error {
	if len(folders) == 0 {
		return command.Usage("--merge: name the folders of the shards")
	}
	if s.out == "" {
		return command.Usage("--merge: name the folder of the whole sweep with --out")
	}
	if err := excluded(cmd, "--merge", "the shards say what was swept", "merge", "out", "json", "metric"); err != nil {
		return err
	}
	sw, err := sweep.Merge(s.out, folders)
	if err != nil {
		return sweepError(sweep.PlaceError(err))
	}
	defer sw.Close() // the journal is on the disk
	if err := s.choose(cmd, sw); err != nil {
		return err
	}
	return sweepEnd(a, s, sw)
}

// choose gives a sweep that was begun other metrics, if some are named.
func (s *sweepFlags) choose(cmd *cobra.Command, sw *sweep.Sweep) error {
	if !cmd.Flags().Changed("metric") {
		return nil
	}
	if err := sw.Choose(s.metrics); err != nil {
		return sweepError(err)
	}
	return nil
}

// excluded returns an error if a flag is given that is not one of some.
func excluded(cmd *cobra.Command, with, why string, allowed ...string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Changed && !slices.Contains(allowed, f.Name) {
			err = command.Usage("--%s and %s exclude each other: %s", f.Name, with, why)
		}
	})
	return err
}

// sweepWork returns how this command performs trials.
func sweepWork(a *command.App, parallel int) sweep.Work {
	return sweep.Work{Parallel: parallel, Environment: a.Env, Say: a.Say, View: func() (func(sweep.Progress), func()) {
		view := newSweepView(a.Stderr)
		return view.update, view.Close
	}}
}

// sweepRun performs the trials that a folder lacks and prints the results. The runner is of
// a cluster; nil: this machine.
func sweepRun(a *command.App, cmd *cobra.Command, s *sweepFlags, sw *sweep.Sweep, remote command.Runner) error {
	work := sweepWork(a, s.parallel)
	work.Keep = s.keep
	if remote != nil { // it takes all trials that it can get, and bounds the pods itself
		work.Runner, work.Parallel = remote, remote.Most()
		defer closeRunner(cmd.Context(), a, remote)
	}
	if err := sw.Perform(cmd.Context(), work); err != nil {
		return sweepError(err)
	}
	return sweepEnd(a, s, sw)
}

// sweepEnd writes the table and prints the results.
func sweepEnd(a *command.App, s *sweepFlags, sw *sweep.Sweep) error {
	shown := sweep.Key
	if len(sw.Plan.Metrics) > 0 || sw.Plan.Judge != nil {
		shown = sweep.First
	}
	sum, err := sw.Finish(shown)
	if err != nil {
		if errors.Is(err, failure.ErrConfiguration) {
			err = fmt.Errorf("%w; the trials are kept: csiglab sweep --resume %s --metric PATTERN writes the table", err, sw.Folder)
		} else {
			err = fmt.Errorf("%w\nthe trials are kept; csiglab sweep --resume %s writes the table", err, sw.Folder)
		}
		return sweepError(err)
	}
	if err = a.Result(s.json, sum, sum.Text); err == nil {
		err = sum.Ended()
	}
	switch {
	case err != nil:
		return sweepError(err)
	case sum.Invalid > 0:
		return &command.ExitError{Code: command.ExitInfrastructure}
	case sum.Failed > 0:
		return &command.ExitError{Code: command.ExitFailed}
	}
	return nil
}

// sweepError gives an error of a sweep its exit code. Those of the experiment and of the names
// that the user has given are mistakes of the user.
func sweepError(err error) error {
	var exit *command.ExitError
	var wrong *experiment.Error
	switch {
	case errors.As(err, &exit):
		return err
	case errors.Is(err, failure.ErrInfrastructure):
		return command.Infrastructure(resources.Shortage(err))
	case errors.Is(err, trial.ErrDamaged):
		return command.Infrastructure(err)
	case errors.Is(err, failure.ErrConfiguration), errors.As(err, &wrong), errors.Is(err, sweep.ErrNotEmpty), errors.Is(err, sweep.ErrNoSweep),
		errors.Is(err, sweep.ErrChanged), errors.Is(err, trial.ErrOtherPlan), errors.Is(err, trial.ErrBusy):
		return command.Misuse(err)
	}
	return command.Infrastructure(err)
}

// sweepView shows how far a sweep is: a bar on a terminal, elsewhere a line now and then.
type sweepView struct{ perform.Progress }

func newSweepView(w io.Writer) *sweepView { return &sweepView{*perform.NewProgress(w)} }

func (v *sweepView) update(p sweep.Progress) {
	text := fmt.Sprintf("%d of %s", p.Done, spelling.Plural(p.Total, "trial"))
	if p.Invalid > 0 {
		text += fmt.Sprintf(", %d invalid", p.Invalid)
	}
	if p.Left >= time.Second {
		text += fmt.Sprintf(", about %v left", p.Left.Round(time.Second))
	}
	switch {
	case v.Bar != nil:
		v.Bar.Describe(text)
		v.Bar.Set(int(p.Share * command.BarSteps)) // a bar that cannot be drawn is no error
	case v.Lines.Due(p.Done == p.Total):
		fmt.Fprintln(v.Writer, text)
	}
}
