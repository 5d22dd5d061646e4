package comparisons

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
	"github.com/csiglab/csiglab/reports/regression"
	"github.com/csiglab/csiglab/suites"
)

// regressFlags are the flags of regress and baseline save.
type regressFlags struct {
	baseline, candidate regress.SideFlags
	with                []string
	only                []string
	seeds, parallel     int
	out, resume         string
	json, accept        bool
	strict              bool
	cluster             clusterFlags

	one regress.OneFlags // a suite of one experiment
}

// oneFlagNames are those of a suite of one experiment.
var oneFlagNames = []string{"experiment", "variant", "set", "metric", "delta", "of", "better"}

func (r *regressFlags) suiteFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.baseline.Text, "baseline", "", "what the candidate is compared with: `SIDE`, see above")
	f.StringArrayVar(&r.baseline.Set, "baseline-set", nil, "override a value of the baseline's experiments, as `PATH=VALUE` (repeatable)")
	f.StringArrayVar(&r.with, "with", nil, "Go module to compile in, `MODULE[=FOLDER]` or MODULE@VERSION (repeatable); git:REV and folder:DIR are of the first with a folder")
	f.StringArrayVar(&r.only, "only", nil, "leave out all but `NAME[/VARIANT]` of the suite (repeatable)")
	f.IntVar(&r.seeds, "seeds", 0, "run at most `N` seeds of each experiment (default: those of the suite)")
	f.IntVar(&r.parallel, "parallel", 0, "`N` runs side by side under clock virtual (default: the cores); 1 under others")
	r.cluster.flags(cmd)
}

func (r *regressFlags) oneFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.one.Experiment, "experiment", "", "instead of a suite: compare one `EXPERIMENT`, with --metric and --delta")
	command.CompleteFlag(cmd, "experiment", experiment.Names())
	f.StringArrayVar(&r.one.Variants, "variant", nil, "the `NAME` of a variant, with --experiment (repeatable; default: all)")
	f.StringArrayVar(&r.one.Set, "set", nil, "override a value on both sides, as `PATH=VALUE`, with --experiment (repeatable)")
	f.StringArrayVar(&r.one.Metrics, "metric", nil, "a `METRIC` that must not get worse, with --experiment (repeatable)")
	f.StringVar(&r.one.Delta, "delta", "", "the smallest effect that matters, with --experiment: a `SHARE` of the baseline's value such as 5%, or a number in the metric's unit such as 5us")
	f.StringVar(&r.one.Of, "of", "median", "which `QUANTILE` over the seeds is compared, with --experiment: median, or p1 to p99")
	f.StringVar(&r.one.Better, "better", "", "which `DIRECTION` is better, lower or higher, for a metric that csiglab does not know, or same for one that has no reason to move, with --experiment")
}

func regressCommand(a *command.App) *cobra.Command {
	r := regressFlags{baseline: regress.SideFlags{Name: "baseline"}, candidate: regress.SideFlags{Name: "candidate"}}
	cmd := &cobra.Command{
		Use:   "regress [SUITE]",
		Short: "Compare a candidate with a baseline over a suite of experiments, and say pass or fail",
		Long: "Compare a candidate with a baseline over a suite of experiments: a file, or the name of one that is built in\n" +
			"(" + strings.Join(suites.Names(), " ") + "). --experiment with --metric and --delta stands for a suite of one.\n\n" +
			"A SIDE is self (this csiglab), git:REV (a revision of csiglab, or with --with of the module's repository),\n" +
			"folder:DIR (source code), program:FILE (a csiglab), file:EXPERIMENT (for a suite of one) or stored:FILE (csiglab\n" +
			"baseline save). Without a prefix, an existing .json file is stored, and anything else a git revision.\n\n" +
			"pass: no worse than the suite's limit, with 95 % confidence. fail: worse than it, or changed with --strict.\n" +
			"Exit codes: 0 all pass, 1 one fails, 2 usage or configuration, 3 a run is invalid or the infrastructure failed,\n" +
			"4 neither pass nor fail.",
		Example: "  csiglab regress standard --baseline main\n" +
			"  csiglab regress standard --baseline baselines/standard.json\n" +
			"  csiglab regress standard --only incast --candidate-set hosts.cc=dcqcn\n" +
			"  csiglab regress --experiment incast --metric fct_us.p99 --delta 5% --candidate program:./csiglab-new\n" +
			"  csiglab regress --resume regressions/standard-20260501-100000-00000",
		Args:              command.AtMostOne("a suite"),
		ValidArgsFunction: completeSuites,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("resume") {
				return resumeRegression(a, cmd, &r, args)
			}
			return newRegression(a, cmd, &r, args)
		},
	}
	r.suiteFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.candidate.Text, "candidate", regress.KindSelf, "what is compared with the baseline: `SIDE`, see above")
	f.StringArrayVar(&r.candidate.Set, "candidate-set", nil, "override a value of the candidate's experiments, as `PATH=VALUE` (repeatable)")
	r.oneFlags(cmd)
	f.StringVar(&r.out, "out", "", "the folder of the verdict, new or empty `DIR` (default: regressions/NAME-TIME)")
	f.StringVar(&r.resume, "resume", "", "do what is missing in `DIR`, the folder of a regression that was interrupted or killed")
	f.BoolVar(&r.json, "json", false, "print verdict.json on standard output and nothing else there")
	f.BoolVar(&r.strict, "strict", false, "fail where anything has changed, also if nothing got worse: a refactoring keeps all traces and values")
	f.BoolVar(&r.accept, "accept-inconclusive", false, "exit with 0 where nothing fails but something is inconclusive")
	return cmd
}

// completeSuites proposes the embedded suites, and files.
func completeSuites(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return suites.Names(), cobra.ShellCompDirectiveDefault
}

// newRegression begins a regression.
func newRegression(a *command.App, cmd *cobra.Command, r *regressFlags, args []string) error {
	p, err := regressionPlan(a, cmd, r, args)
	if err != nil {
		return err
	}
	if err := regress.ModulesApart(p, modules.Compiled()); err != nil {
		return comparisonError(err)
	}
	if done, err := handOverWith(cmd.Context(), a, p.Baseline.With); done || err != nil {
		return err
	}
	p.Started, p.AcceptInconclusive, p.Strict = time.Now().UTC(), r.accept, r.strict
	return runRegression(a, cmd, r, regressSession(a, r, p, cmp.Or(r.out, trial.Place("regressions", p.Suite.Name, p.Started)), true))
}

// regressSession returns the session of a plan in a folder.
func regressSession(a *command.App, r *regressFlags, p *regress.Plan, folder string, fresh bool) *regress.Session {
	return &regress.Session{Plan: p, Folder: folder, Fresh: fresh, Baseline: r.baseline, Candidate: r.candidate, Parallel: r.parallel,
		Version: command.Version(), Builds: builds(a), Say: a.Say, Forms: regression.Files}
}

// prepareSession checks what a session is to do, and connects to the cluster that flags name.
func prepareSession(a *command.App, cmd *cobra.Command, r *regressFlags, s *regress.Session) error {
	_, err := command.Interruptible(cmd.Context(), func() (struct{}, error) { return struct{}{}, s.Prepare() })
	if err != nil {
		return comparisonError(err)
	}
	s.Work, err = campaignWork(a, cmd, r, s.Plan.Suite.Name)
	return err
}

// runRegression performs a regression, and prints the verdict.
func runRegression(a *command.App, cmd *cobra.Command, r *regressFlags, s *regress.Session) error {
	if err := prepareSession(a, cmd, r, s); err != nil {
		return err
	}
	d, err := s.Run(cmd.Context())
	if err != nil {
		return comparisonError(err)
	}
	err = a.Result(r.json, d, func() string {
		var text strings.Builder
		regression.Text(&text, d)
		fmt.Fprintf(&text, "\nverdict %s\n", filepath.Join(s.Folder, "verdict.html"))
		return text.String()
	})
	code := map[verdict.Outcome]int{verdict.Pass: command.ExitOK, verdict.Fail: command.ExitFailed, verdict.Inconclusive: command.ExitInconclusive, verdict.Invalid: command.ExitInfrastructure}[d.Outcome]
	switch {
	case err != nil:
		return err
	case code == command.ExitOK || code == command.ExitInconclusive && s.Plan.AcceptInconclusive:
		return nil
	}
	return &command.ExitError{Code: code}
}

// regressionPlan checks the command line and returns the plan that it asks for.
func regressionPlan(a *command.App, cmd *cobra.Command, r *regressFlags, args []string) (*regress.Plan, error) {
	if err := a.NoOverrides("it would change the experiments of both sides; use --baseline-set and --candidate-set"); err != nil {
		return nil, err
	}
	switch {
	case cmd.Flags().Changed("seeds") && r.seeds < 1:
		return nil, command.Usage("--seeds %d: want at least 1", r.seeds)
	case r.parallel < 0 || r.parallel == 0 && cmd.Flags().Changed("parallel"):
		return nil, command.Usage("--parallel %d: want at least 1", r.parallel)
	}
	if !cmd.Flags().Changed("baseline") {
		if len(r.baseline.Set) == 0 && len(r.candidate.Set) == 0 && !cmd.Flags().Changed("candidate") && cmd.Name() != "save" {
			return nil, command.Usage("--baseline is missing: what is this csiglab to be compared with? such as --baseline main, or --baseline FILE.json of csiglab baseline save; --baseline-set and --candidate-set compare parameters")
		}
		r.baseline.Text = regress.KindSelf
	}
	p := &regress.Plan{Version: command.Version(), Command: a.Command(), Filter: regress.Filter{Only: r.only, Seeds: r.seeds}}
	suite, arguments, err := r.suite(cmd, args)
	if err != nil {
		return nil, err
	}
	with, err := builder.Absolute(r.with)
	if err != nil {
		return nil, command.Usage("%w", err)
	}
	p.Suite, p.Arguments = *suite, arguments
	for _, w := range r.with {
		p.Arguments = append(p.Arguments, "--with", w)
	}
	if p.Baseline, err = r.baseline.Spec(with); err == nil {
		p.Candidate, err = r.candidate.Spec(with)
	}
	return p, comparisonError(err)
}

// suite returns the suite that the command line names, and the arguments that name it
// again.
func (r *regressFlags) suite(cmd *cobra.Command, args []string) (*regress.Suite, []string, error) {
	if r.one.Experiment == "" {
		for _, flag := range oneFlagNames {
			if f := cmd.Flags().Lookup(flag); f != nil && f.Changed && flag != "experiment" {
				return nil, nil, command.Usage("--%s goes with --experiment; a suite has its own", flag)
			}
		}
		if len(args) == 0 {
			return nil, nil, command.Usage("name a suite, or give --experiment with --metric and --delta; embedded: %s", strings.Join(suites.Names(), " "))
		}
		s, err := regress.FindSuite(args[0])
		return s, args, comparisonError(err)
	}
	switch {
	case len(args) > 0:
		return nil, nil, command.Usage("suite %q and --experiment %s exclude each other", args[0], r.one.Experiment)
	case len(r.only) > 0:
		return nil, nil, command.Usage("--only %s goes with a suite; --variant chooses variants", r.only[0])
	}
	one, err := r.one.Suite()
	if err != nil {
		return nil, nil, comparisonError(err)
	}
	var arguments []string
	for _, flag := range oneFlagNames {
		f := cmd.Flags().Lookup(flag)
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, value := range list.GetSlice() {
				arguments = append(arguments, "--"+flag, value)
			}
		} else if f.Changed {
			arguments = append(arguments, "--"+flag, f.Value.String())
		}
	}
	return one, arguments, nil
}

// resumeRegression does what a folder lacks.
func resumeRegression(a *command.App, cmd *cobra.Command, r *regressFlags, args []string) error {
	if r.resume == "" {
		return command.Usage("--resume: name the folder of a regression")
	}
	if len(args) > 0 {
		return command.Usage("suite %q and --resume %s exclude each other: the regression goes on as it was begun", args[0], r.resume)
	}
	if err := excluded(cmd, "--resume "+r.resume, "the regression goes on as it was begun", append([]string{"resume", "parallel", "json", "accept-inconclusive", "strict"}, clusterFlagNames...)...); err != nil {
		return err
	}
	if r.parallel < 0 || r.parallel == 0 && cmd.Flags().Changed("parallel") {
		return command.Usage("--parallel %d: want at least 1", r.parallel)
	}
	p, err := regress.ReadPlan(r.resume)
	if err != nil {
		return comparisonError(err)
	}
	if done, err := handOverWith(cmd.Context(), a, p.Baseline.With); done || err != nil {
		return err
	}
	p.AcceptInconclusive, p.Strict = p.AcceptInconclusive || r.accept, p.Strict || r.strict
	return runRegression(a, cmd, r, regressSession(a, r, p, r.resume, false))
}
