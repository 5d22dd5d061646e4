package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/suites"
)

// regressFlags are the flags of regress and baseline save.
type regressFlags struct {
	baseline, candidate sideFlags
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
	f.StringVar(&r.baseline.text, "baseline", "", "what the candidate is compared with: `SIDE`, see above")
	f.StringArrayVar(&r.baseline.set, "baseline-set", nil, "override a value of the baseline's experiments, as `PATH=VALUE` (repeatable)")
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
	r := regressFlags{baseline: sideFlags{name: "baseline"}, candidate: sideFlags{name: "candidate"}}
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
	f.StringVar(&r.candidate.text, "candidate", regress.KindSelf, "what is compared with the baseline: `SIDE`, see above")
	f.StringArrayVar(&r.candidate.set, "candidate-set", nil, "override a value of the candidate's experiments, as `PATH=VALUE` (repeatable)")
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
	if err := modulesApart(p, modules.Compiled()); err != nil {
		return err
	}
	if done, err := a.handOverWith(cmd.Context(), p.Baseline.With); done || err != nil {
		return err
	}
	p.Started, p.AcceptInconclusive, p.Strict = time.Now().UTC(), r.accept, r.strict
	folder := r.out
	if folder == "" {
		folder = filepath.Join("regressions", fmt.Sprintf("%s-%s-%05x", p.Suite.Name, p.Started.Format("20060102-150405"), p.Started.Nanosecond()&0xfffff))
	}
	g := &comparing{app: a, plan: p, folder: folder, flags: r, fresh: true}
	if err := g.prepare(cmd.Context()); err != nil {
		return err
	}
	if err := g.connect(cmd); err != nil {
		return err
	}
	_, err = os.Lstat(folder)
	g.made = errors.Is(err, os.ErrNotExist)
	if err := emptyFolder(folder); err != nil {
		return err
	}
	return g.run(cmd.Context())
}

// emptyFolder refuses a folder that has something in it, and makes one that is not there.
func emptyFolder(folder string) error {
	root, err := own.Folder(folder)
	if err != nil {
		return usage("--out %s: %w", folder, cause.Of(err))
	}
	defer root.Close() // nothing is written through it
	list, err := os.ReadDir(folder)
	if err != nil {
		return usage("--out %s: %w", folder, cause.Of(err))
	}
	list = slices.DeleteFunc(list, func(entry os.DirEntry) bool { // of a campaign that was killed before it wrote its plan
		info, err := entry.Info()
		return err == nil && entry.Name() == trial.JournalFile && info.Mode().IsRegular() && info.Size() == 0
	})
	if len(list) == 0 {
		return nil
	}
	for _, entry := range list {
		if entry.Name() == regress.PlanFile {
			return usage("--out %s: it has a regression; csiglab regress --resume %[1]s goes on with it", folder)
		}
	}
	return usage("--out %s: the folder is not empty", folder)
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
		if len(r.baseline.set) == 0 && len(r.candidate.set) == 0 && !cmd.Flags().Changed("candidate") && cmd.Name() != "save" {
			return nil, usage("--baseline is missing: what is this csiglab to be compared with? such as --baseline main, or --baseline FILE.json of csiglab baseline save; --baseline-set and --candidate-set compare parameters")
		}
		r.baseline.text = regress.KindSelf
	}
	p := &regress.Plan{Version: buildVersion(), Command: a.command(), Filter: regress.Filter{Only: r.only, Seeds: r.seeds}}
	suite, arguments, err := r.suite(cmd, args)
	if err != nil {
		return nil, err
	}
	with, err := absoluteWith(r.with)
	if err != nil {
		return nil, err
	}
	p.Suite, p.Arguments = *suite, arguments
	for _, w := range r.with {
		p.Arguments = append(p.Arguments, "--with", w)
	}
	if p.Baseline, err = r.baseline.spec(with); err != nil {
		return nil, err
	}
	p.Candidate, err = r.candidate.spec(with)
	return p, err
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
		s, err := readSuite(args[0])
		return s, args, err
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

// readSuite reads a suite: a file, or the name of one that is built in.
func readSuite(nameOrPath string) (*regress.Suite, error) {
	dir := ""
	data, ok := suites.Text(nameOrPath)
	if !ok || !slices.Contains(suites.Names(), nameOrPath) {
		info, err := os.Stat(nameOrPath)
		if err == nil && info.IsDir() {
			return nil, usage("%s: a folder; name a file in it", nameOrPath)
		}
		if errors.Is(err, os.ErrNotExist) && slices.Contains(experiment.Names(), nameOrPath) {
			return nil, notSuite(nameOrPath)
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil, usage("%s: no such file, nor an embedded suite; embedded: %s%s", nameOrPath, strings.Join(suites.Names(), " "), didYouMean(nameOrPath, suites.Names()))
		}
		if data, err = own.ReadFile(nameOrPath, regress.MaxSuite); err != nil {
			return nil, usage("%s: %w", nameOrPath, cause.Of(err))
		}
		if dir, err = filepath.Abs(filepath.Dir(nameOrPath)); err != nil {
			return nil, infrastructure(err)
		}
	}
	s, err := regress.ReadSuite(nameOrPath, dir, data)
	if err != nil && ofExperiment.Match(data) {
		return nil, notSuite(nameOrPath)
	}
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return s, nil
}

// ofExperiment matches keys that an experiment has at its top, and a suite never has.
var ofExperiment = regexp.MustCompile(`(?m)^(topology|workload|jobs)\s*:`)

// notSuite returns the error of an experiment in place of a suite.
func notSuite(name string) error {
	return usage("%s is an experiment and not a suite: csiglab regress --experiment %[1]s --metric METRIC --delta 5%% compares it", name)
}

// withResumeRegression are the flags of regress that go with --resume.
var withResumeRegression = append([]string{"resume", "parallel", "json", "accept-inconclusive", "strict", "help"}, clusterFlagNames...)

// resumeRegression does what a folder lacks.
func (a *app) resumeRegression(cmd *cobra.Command, r *regressFlags, args []string) error {
	if r.resume == "" {
		return usage("--resume: name the folder of a regression")
	}
	if len(args) > 0 {
		return usage("suite %q and --resume %s exclude each other: the regression goes on as it was begun", args[0], r.resume)
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(withResumeRegression, f.Name) {
			err = usage("--%s and --resume %s exclude each other: the regression goes on as it was begun", f.Name, r.resume)
		}
	})
	if err == nil && (r.parallel < 0 || r.parallel == 0 && cmd.Flags().Changed("parallel")) {
		err = usage("--parallel %d: want at least 1", r.parallel)
	}
	if err != nil {
		return err
	}
	p, err := regress.ReadPlan(r.resume)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if done, err := a.handOverWith(cmd.Context(), p.Baseline.With); done || err != nil {
		return err
	}
	if r.accept {
		p.AcceptInconclusive = true
	}
	if r.strict {
		p.Strict = true
	}
	g := &comparing{app: a, plan: p, folder: r.resume, flags: r}
	if err := g.prepare(cmd.Context()); err != nil {
		return err
	}
	if err := g.connect(cmd); err != nil {
		return err
	}
	return g.run(cmd.Context())
}

// parallelism returns how many runs go on at once.
func (r *regressFlags) parallelism() int {
	if r.parallel > 0 {
		return r.parallel
	}
	return runtime.GOMAXPROCS(0)
}
