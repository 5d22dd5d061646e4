package comparisons

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/compare/bisect"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// bisectFlags are the flags of bisect.
type bisectFlags struct {
	plan     bisect.Plan
	resume   string
	out      string
	parallel int
	json     bool
}

func bisectCommand(a *command.App) *cobra.Command {
	var r bisectFlags
	cmd := &cobra.Command{
		Use:   "bisect --good REV --bad REV --experiment EXPERIMENT --metric METRIC",
		Short: "Find the first bad revision, or the first bad value of a parameter",
		Long: "Find the first revision with which a metric of an experiment is worse, between a good one and a bad one: of\n" +
			"csiglab, or with --with of a module's repository. Revisions that do not build are skipped. With --parameter, find\n" +
			"the first bad value between a good one and a bad one. Each candidate is run until it is known whether it is\n" +
			"good or bad, with 95 % confidence for the whole search.\n\n" +
			"Exit codes: 0 found, 2 usage, or bad is no worse than good, 3 the infrastructure failed, 4 the runs do not tell\n" +
			"good from bad, or several candidates remain, since what lies between them does not build or does not run.",
		Example: "  csiglab bisect --good v1.2 --bad main --experiment incast --metric fct_us.p99\n" +
			"  csiglab bisect --with example.com/relay=../relay --good HEAD~20 --bad HEAD --experiment mine.yaml --metric goodput_gbps.mean\n" +
			"  csiglab bisect --parameter links.queue --good 64kB --bad 1MB --resolution 16kB --experiment incast --metric fct_us.p99\n" +
			"  csiglab bisect --resume bisections/incast-20260501-100000-00000",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.parallel < 0 || r.parallel == 0 && cmd.Flags().Changed("parallel") {
				return command.Usage("--parallel %d: want at least 1", r.parallel)
			}
			begin := newBisection
			if cmd.Flags().Changed("resume") {
				begin = resumeBisection
			}
			err := begin(a, cmd, &r)
			if errors.Is(err, errHandedOver) {
				return nil
			}
			return comparisonError(err)
		},
	}
	f, p := cmd.Flags(), &r.plan
	f.StringVar(&p.Good, "good", "", "the good end: a git `REV`, or a value of --parameter")
	f.StringVar(&p.Bad, "bad", "", "the bad end: a git `REV`, or a value of --parameter")
	f.StringVar(&p.Experiment, "experiment", "", "the `EXPERIMENT` to run: a file, or the name of one that is built in")
	f.StringVar(&p.Metric, "metric", "", "the `METRIC` that is worse, such as fct_us.p99")
	f.StringVar(&p.Variant, "variant", "", "the `NAME` of the variant to run, if there are several")
	f.StringArrayVar(&p.Set, "set", nil, "override a value of all runs, as `PATH=VALUE` (repeatable)")
	f.StringVar(&p.Delta, "delta", "", "the smallest worsening that is bad: a `SHARE` of the good end's value such as 5%, or a number in the metric's unit such as 5us (default: half of that between the ends)")
	f.StringVar(&p.Better, "better", "", "which `DIRECTION` is better, lower or higher (default: what is known of the metric, or else what the good end is)")
	f.StringArrayVar(&p.With, "with", nil, "Go module to compile in, `MODULE[=FOLDER]` or MODULE@VERSION (repeatable); revisions are of the first with a folder")
	f.StringVar(&p.Parameter, "parameter", "", "search the values of `PATH`, such as links.queue, instead of revisions")
	f.StringVar(&p.Resolution, "resolution", "", "`DISTANCE` of the values of --parameter, with its unit, such as 16kB (default: a hundredth of the range)")
	f.IntVar(&p.Seeds, "seeds", bisect.DefaultSeeds, "run each candidate with at most `N` seeds")
	f.IntVar(&r.parallel, "parallel", 0, "`N` runs side by side (default: the cores; 1 under clock wall)")
	f.StringVar(&r.out, "out", "", "the folder of the search, new or empty `DIR` (default: bisections/NAME-TIME)")
	f.StringVar(&r.resume, "resume", "", "go on with the search in `DIR`, which was interrupted or killed")
	f.BoolVar(&r.json, "json", false, "print the result as JSON on standard output and nothing else there")
	command.CompleteFlag(cmd, "experiment", experiment.Names())
	return cmd
}

// newBisection begins a search.
func newBisection(a *command.App, cmd *cobra.Command, r *bisectFlags) error {
	p := &r.plan
	for _, flag := range []struct{ name, value, why string }{
		{"good", p.Good, "the end that is good"}, {"bad", p.Bad, "the end that is bad"},
		{"experiment", p.Experiment, "what to run"}, {"metric", p.Metric, "what is worse, such as --metric fct_us.p99"},
	} {
		if flag.value == "" {
			return command.Usage("--%s is missing: %s; see csiglab bisect --help", flag.name, flag.why)
		}
	}
	if p.Resolution != "" && p.Parameter == "" {
		return command.Usage("--resolution %s: goes with --parameter", p.Resolution)
	}
	if err := a.NoOverrides("it would change the experiment of all runs; use --set"); err != nil {
		return err
	}
	var err error
	if p.With, err = builder.Absolute(p.With); err != nil {
		return command.Usage("%w", err)
	}
	if _, err := os.Stat(p.Experiment); err == nil && !slices.Contains(experiment.Names(), p.Experiment) {
		if p.Experiment, err = filepath.Abs(p.Experiment); err != nil {
			return command.Infrastructure(err)
		}
	}
	p.Version, p.Command, p.Started = command.Version(), a.Command(), time.Now().UTC()
	name := experiment.AsName(strings.TrimSuffix(filepath.Base(p.Experiment), filepath.Ext(p.Experiment)))
	return search(a, cmd, r, &bisect.Session{Plan: p, Folder: cmp.Or(r.out, trial.Place("bisections", name, p.Started)), Fresh: true})
}

// search performs a search, and prints what it finds.
func search(a *command.App, cmd *cobra.Command, r *bisectFlags, s *bisect.Session) error {
	s.Parallel, s.Linked, s.Environment, s.View = r.parallel, command.SourceFolder, a.Env, campaignView(a)
	s.Elsewhere = func(ctx context.Context, request revision.Request) error {
		done, err := handOver(ctx, a, request)
		if done && err == nil {
			err = errHandedOver
		}
		return err
	}
	if err := s.Prepare(cmd.Context()); err != nil {
		return err
	}
	found, err := s.Run(cmd.Context())
	if err != nil {
		return err
	}
	if err := a.Result(r.json, found, found.Text); err != nil {
		return err
	}
	if !found.Found {
		return &command.ExitError{Code: command.ExitInconclusive}
	}
	return nil
}

// errHandedOver says that another csiglab has done the command.
var errHandedOver = errors.New("handed over")

// resumeBisection goes on with a search.
func resumeBisection(a *command.App, cmd *cobra.Command, r *bisectFlags) error {
	if r.resume == "" {
		return command.Usage("--resume: name the folder of a search")
	}
	if err := excluded(cmd, "--resume "+r.resume, "the search goes on as it was begun", "resume", "parallel", "json"); err != nil {
		return err
	}
	p, err := bisect.ReadPlan(r.resume)
	if err != nil {
		return comparisonError(err)
	}
	return search(a, cmd, r, &bisect.Session{Plan: p, Folder: r.resume})
}
