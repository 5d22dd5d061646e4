package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

	// A suite of one experiment.
	experiment        string
	variants, set     []string
	metrics           []string
	delta, of, better string
}

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
	f.StringVar(&r.experiment, "experiment", "", "instead of a suite: compare one `EXPERIMENT`, with --metric and --delta")
	completeFlag(cmd, "experiment", experiment.Names())
	f.StringArrayVar(&r.variants, "variant", nil, "the `NAME` of a variant, with --experiment (repeatable; default: all)")
	f.StringArrayVar(&r.set, "set", nil, "override a value on both sides, as `PATH=VALUE`, with --experiment (repeatable)")
	f.StringArrayVar(&r.metrics, "metric", nil, "a `METRIC` that must not get worse, with --experiment (repeatable)")
	f.StringVar(&r.delta, "delta", "", "the smallest effect that matters, with --experiment: a `SHARE` of the baseline's value such as 5%, or a number in the metric's unit")
	f.StringVar(&r.of, "of", "median", "which `QUANTILE` over the seeds is compared, with --experiment: median, or p1 to p99")
	f.StringVar(&r.better, "better", "", "which `DIRECTION` is better, lower or higher, for a metric that csiglab does not know, with --experiment")
}

func (a *app) regress() *cobra.Command {
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
		Args:              atMostOne("a suite"),
		ValidArgsFunction: completeSuites,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("resume") {
				return a.resumeRegression(cmd, &r, args)
			}
			return a.newRegression(cmd, &r, args)
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
func (a *app) newRegression(cmd *cobra.Command, r *regressFlags, args []string) error {
	p, err := a.regressionPlan(cmd, r, args)
	if err != nil {
		return err
	}
	if err := regress.ModulesApart(p, modules.Compiled()); err != nil {
		return comparisonError(err)
	}
	if done, err := a.handOverWith(cmd.Context(), p.Baseline.With); done || err != nil {
		return err
	}
	p.Started, p.AcceptInconclusive, p.Strict = time.Now().UTC(), r.accept, r.strict
	return a.runRegression(cmd, r, a.session(r, p, cmp.Or(r.out, trial.Place("regressions", p.Suite.Name, p.Started)), true))
}

// session returns the session of a plan in a folder.
func (a *app) session(r *regressFlags, p *regress.Plan, folder string, fresh bool) *regress.Session {
	return &regress.Session{Plan: p, Folder: folder, Fresh: fresh, Baseline: r.baseline, Candidate: r.candidate, Parallel: r.parallel,
		Version: buildVersion(), Builds: a.builds(), Say: a.say, Forms: regression.Files}
}

// prepare checks what a session is to do, and connects to the cluster that flags name.
func (a *app) prepare(cmd *cobra.Command, r *regressFlags, s *regress.Session) error {
	_, err := interruptible(cmd.Context(), func() (struct{}, error) { return struct{}{}, s.Prepare() })
	if err != nil {
		return comparisonError(err)
	}
	s.Work, err = a.campaignWork(cmd, r, s.Plan.Suite.Name)
	return err
}

// runRegression performs a regression, and prints the verdict.
func (a *app) runRegression(cmd *cobra.Command, r *regressFlags, s *regress.Session) error {
	if err := a.prepare(cmd, r, s); err != nil {
		return err
	}
	d, err := s.Run(cmd.Context())
	if err != nil {
		return comparisonError(err)
	}
	err = a.result(r.json, d, func() string {
		var text strings.Builder
		regression.Text(&text, d)
		fmt.Fprintf(&text, "\nverdict %s\n", filepath.Join(s.Folder, "verdict.html"))
		return text.String()
	})
	code := map[verdict.Outcome]int{verdict.Pass: exitOK, verdict.Fail: exitFailed, verdict.Inconclusive: exitInconclusive, verdict.Invalid: exitInfrastructure}[d.Outcome]
	switch {
	case err != nil:
		return err
	case code == exitOK || code == exitInconclusive && s.Plan.AcceptInconclusive:
		return nil
	}
	return &exitError{code: code}
}

// regressionPlan checks the command line and returns the plan that it asks for.
func (a *app) regressionPlan(cmd *cobra.Command, r *regressFlags, args []string) (*regress.Plan, error) {
	if err := a.noOverrides("it would change the experiments of both sides; use --baseline-set and --candidate-set"); err != nil {
		return nil, err
	}
	switch {
	case cmd.Flags().Changed("seeds") && r.seeds < 1:
		return nil, usage("--seeds %d: want at least 1", r.seeds)
	case r.parallel < 0 || r.parallel == 0 && cmd.Flags().Changed("parallel"):
		return nil, usage("--parallel %d: want at least 1", r.parallel)
	}
	if !cmd.Flags().Changed("baseline") {
		if len(r.baseline.Set) == 0 && len(r.candidate.Set) == 0 && !cmd.Flags().Changed("candidate") && cmd.Name() != "save" {
			return nil, usage("--baseline is missing: what is this csiglab to be compared with? such as --baseline main, or --baseline FILE.json of csiglab baseline save; --baseline-set and --candidate-set compare parameters")
		}
		r.baseline.Text = regress.KindSelf
	}
	p := &regress.Plan{Version: buildVersion(), Command: a.command(), Filter: regress.Filter{Only: r.only, Seeds: r.seeds}}
	suite, arguments, err := r.suite(cmd, args)
	if err != nil {
		return nil, err
	}
	with, err := builder.Absolute(r.with)
	if err != nil {
		return nil, usage("%w", err)
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
	if r.experiment == "" {
		for _, flag := range []string{"variant", "set", "metric", "delta", "of", "better"} {
			if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
				return nil, nil, usage("--%s goes with --experiment; a suite has its own", flag)
			}
		}
		if len(args) == 0 {
			return nil, nil, usage("name a suite, or give --experiment with --metric and --delta; embedded: %s", strings.Join(suites.Names(), " "))
		}
		s, err := regress.FindSuite(args[0])
		return s, args, comparisonError(err)
	}
	switch {
	case len(args) > 0:
		return nil, nil, usage("suite %q and --experiment %s exclude each other", args[0], r.experiment)
	case len(r.metrics) == 0:
		return nil, nil, usage("--experiment %s: --metric is missing, such as --metric fct_us.p99", r.experiment)
	case r.delta == "":
		return nil, nil, usage("--experiment %s: --delta is missing: the smallest effect that matters, such as --delta 5%%", r.experiment)
	case len(r.only) > 0:
		return nil, nil, usage("--only %s goes with a suite; --variant chooses variants", r.only[0])
	}
	delta, absolute, err := regress.ParseDelta(r.delta)
	if err != nil {
		return nil, nil, usage("--delta: %w", err)
	}
	if err := regress.ParseOf(r.of); err != nil {
		return nil, nil, usage("--of: %w", err)
	}
	rule := regress.Rule{Delta: delta, Absolute: absolute, Of: r.of}
	if r.better != "" {
		if rule.Better, err = regress.ParseBetter(r.better); err != nil {
			return nil, nil, usage("--better: %w", err)
		}
	}
	if _, err := overrides(r.set); err != nil {
		return nil, nil, err
	}
	var rules []regress.Rule
	for _, metric := range r.metrics {
		if slices.ContainsFunc(rules, func(other regress.Rule) bool { return other.Metric == metric }) {
			return nil, nil, usage("--metric %s is given twice", metric)
		}
		rule.Metric = metric
		rules = append(rules, rule)
	}
	name := r.experiment
	if !slices.Contains(experiment.Names(), name) {
		if name, err = filepath.Abs(name); err != nil {
			return nil, nil, infrastructure(err)
		}
	}
	var arguments []string
	for _, flag := range []string{"experiment", "variant", "set", "metric", "delta", "of", "better"} {
		f := cmd.Flags().Lookup(flag)
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, value := range list.GetSlice() {
				arguments = append(arguments, "--"+flag, value)
			}
		} else if f.Changed {
			arguments = append(arguments, "--"+flag, f.Value.String())
		}
	}
	one := regress.One(name, r.variants, r.set, regress.DefaultSeeds, rules)
	if len(r.set) > 0 {
		if one.Entries[0].Dir, err = os.Getwd(); err != nil {
			return nil, nil, infrastructure(err)
		}
	}
	return one, arguments, nil
}

// resumeRegression does what a folder lacks.
func (a *app) resumeRegression(cmd *cobra.Command, r *regressFlags, args []string) error {
	if r.resume == "" {
		return usage("--resume: name the folder of a regression")
	}
	if len(args) > 0 {
		return usage("suite %q and --resume %s exclude each other: the regression goes on as it was begun", args[0], r.resume)
	}
	if err := excluded(cmd, "--resume "+r.resume, "the regression goes on as it was begun", append([]string{"resume", "parallel", "json", "accept-inconclusive", "strict"}, clusterFlagNames...)...); err != nil {
		return err
	}
	if r.parallel < 0 || r.parallel == 0 && cmd.Flags().Changed("parallel") {
		return usage("--parallel %d: want at least 1", r.parallel)
	}
	p, err := regress.ReadPlan(r.resume)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if done, err := a.handOverWith(cmd.Context(), p.Baseline.With); done || err != nil {
		return err
	}
	p.AcceptInconclusive, p.Strict = p.AcceptInconclusive || r.accept, p.Strict || r.strict
	return a.runRegression(cmd, r, a.session(r, p, r.resume, false))
}
