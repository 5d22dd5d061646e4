package comparisons

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics/runfolder"
	changes "github.com/csiglab/csiglab/orchestrator/compare/whatif"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/section/blame"
	"github.com/csiglab/csiglab/reports/waits"
	"github.com/csiglab/csiglab/reports/whatif"
)

// whatifFlags are the flags of csiglab whatif.
type whatifFlags struct {
	perform.Flags
	variant string
}

func whatifCommand(a *command.App) *cobra.Command {
	var f whatifFlags
	cmd := &cobra.Command{
		Use:   "whatif RUN",
		Short: "Repeat a run with one thing changed, and check what was predicted of it",
		Long: "Repeat the experiment of a run's folder with values changed by --set, and compare the two. If the change\n" +
			"is of the rates of links or of the computes of ranks, the records of the first run predict how long the\n" +
			"steps of its jobs take, and the second run checks it.\n\n" +
			"Without --set, list where the steps lost the most time, what removing each would save, and the command\n" +
			"that checks it.\n\n" +
			"The exit code is 0 whatever came out; expectations of the experiment are left out.",
		Example: "  csiglab whatif runs/before\n" +
			"  csiglab whatif runs/before --variant spread --set 'links.rates=[{links: g0.rail0-spine0, rate: 800Gbps}]'\n" +
			"  csiglab whatif runs/before --set hosts.lb=reps --seeds 1 --out runs/reps",
		Args: command.One("a run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error { return runWhatif(cmd, a, args[0], &f) },
	}
	f.AddFlags(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&f.Set, "set", nil, "change a value, as `PATH=VALUE` (repeatable)")
	fl.StringVar(&f.variant, "variant", "", "repeat the variant `NAME` (default: the one whose steps take longest, or the first)")
	fl.IntVar(&f.Seeds, "seeds", 0, "use the first `N` seeds of the run (default: all)")
	return cmd
}

func runWhatif(cmd *cobra.Command, a *command.App, folder string, f *whatifFlags) error {
	ctx := cmd.Context()
	if err := f.check(cmd, a); err != nil {
		return err
	}
	first, err := runfolder.Open(folder)
	if err != nil {
		return command.FolderError(err)
	}
	if len(f.Set) == 0 {
		return listWhatif(ctx, a, first, f)
	}
	if f.variant == "" {
		f.variant = whatif.Longest(first)
	}
	was, err := loadVariant(first, f.variant, nil, 0)
	if err != nil {
		return err
	}
	is, err := loadVariant(first, f.variant, f.Set, f.Seeds)
	if err != nil {
		return err
	}
	between, err := command.Interruptible(ctx, func() (*changes.Change, error) {
		return changes.Between(was.Variants[0].Experiment, is.Variants[0].Experiment)
	})
	switch {
	case err != nil:
		return comparisonError(err)
	case between.Empty():
		return command.Usage("--set %s: it changes nothing of variant %s", strings.Join(f.Set, " --set "), f.variant)
	}
	m := &first.Manifest
	f.Options.Runtime, f.Options.Clock, f.Options.Payload, f.Options.Processes = m.Runtime, m.Clock, m.Options.Payload, m.Options.Processes
	result, err := perform.Do(a, &f.Flags, func() (*campaign.Result, error) { return a.Work.Run(ctx, is, f.Options) })
	if err != nil {
		return err
	}
	report, _, err := perform.Report(ctx, a, result.Folder)
	if err != nil {
		return command.Infrastructure(err)
	}
	asked := whatif.Asked{Variant: f.variant, Set: f.Set, Change: waits.Change{Rates: between.Rates, Computes: between.Computes}, Unknown: between.Unknown}
	checked, err := command.Interruptible(ctx, func() (*whatif.Result, error) { return asked.Check(folder, result.Folder, measure.Meaning) })
	if err != nil {
		return comparedError(err)
	}
	return a.Result(f.JSON, checked, func() string { return checked.Text(report, wholeComparison(folder, result.Folder, f.variant)) })
}

// check refuses values of flags that make no sense.
func (f *whatifFlags) check(cmd *cobra.Command, a *command.App) error {
	if cmd.Flags().Changed("seeds") && f.Seeds < 1 {
		return command.Usage("--seeds %d: want at least 1", f.Seeds)
	}
	if err := a.NoOverrides("it would change the experiment of the run that is repeated; use --set"); err != nil {
		return err
	}
	return f.CheckParallel(cmd)
}

// wholeComparison is the command that shows all metrics of the two runs.
func wholeComparison(first, second, variant string) string {
	return strings.Join([]string{"csiglab compare", spelling.ShellWord(first + ":" + variant), spelling.ShellWord(second + ":" + variant), "--html compare.html"}, " ")
}

// loadVariant returns a variant of the experiment of a folder with some values changed and without
// expectations, which are of the experiment as it is.
func loadVariant(folder *runfolder.Folder, variant string, set []string, seeds int) (*experiment.Set, error) {
	text, err := folder.Experiment()
	if err != nil {
		return nil, command.FolderError(err)
	}
	overrides, err := choose.Overrides(set)
	if err != nil {
		return nil, err
	}
	opts := experiment.Options{Override: overrides, Seeds: seeds, Variants: []string{variant}, Tables: experiment.StandardTables()}
	s, err := experiment.Parse(filepath.Join(folder.Dir, runfolder.ExperimentFile), folder.Dir, text, opts)
	if err != nil {
		return nil, command.Misuse(err)
	}
	s.Notes = nil
	for _, e := range []*experiment.Experiment{s.Base, s.Variants[0].Experiment} {
		e.Expect, e.Robust, e.Published = nil, nil, nil
	}
	return s, nil
}

// listWhatif prints what the removal of the first blames of a run would save, and the commands that
// check it.
func listWhatif(ctx context.Context, a *command.App, first *runfolder.Folder, f *whatifFlags) error {
	report, err := command.Interruptible(ctx, func() (*reports.Report, error) { return perform.Analyse(first.Dir, nil) })
	if err != nil {
		return command.FolderError(err)
	}
	if f.variant == "" {
		f.variant = report.Told
	}
	s, err := loadVariant(first, f.variant, nil, 0)
	if err != nil {
		return err
	}
	e := s.Variants[0].Experiment
	section, ok := reports.Of[*blame.Section](report)
	if !ok {
		return command.Infrastructure(errors.New("the report has no section on where time was lost"))
	}
	rows := []whatif.Row{}
	for _, b := range section.First(f.variant) {
		row := whatif.Row{Removals: []whatif.Removal{}}
		row.What, row.Place = b.Words()
		add := func(what, set string, predicted *float64) {
			if set != "" {
				command := strings.Join([]string{"csiglab whatif", spelling.ShellWord(first.Dir), "--variant", f.variant, "--set", spelling.ShellWord(set)}, " ")
				row.Removals = append(row.Removals, whatif.Removal{What: what, Predicted: predicted, Command: command})
			}
		}
		if b.Link == "" {
			add("the rank as fast as the others", changes.Hasten(e, b.Job, b.Rank), b.Saves)
		}
		for _, links := range []struct {
			pattern string
			saves   *float64
		}{{b.Link, b.Saves}, {b.Alike, b.SavesAlike}} {
			if links.pattern == "" {
				continue
			}
			set, err := changes.Faster(e, links.pattern, blame.Relief)
			if err != nil {
				return comparisonError(err)
			}
			add(fmt.Sprintf("%s at %d times its rate", links.pattern, blame.Relief), set, links.saves)
		}
		rows = append(rows, row)
	}
	return a.Result(f.JSON, rows, func() string { return whatif.Text(f.variant, rows) })
}
