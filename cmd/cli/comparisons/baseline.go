package comparisons

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/resources"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
)

func baselineCommand(a *command.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Keep the values of a baseline in a small file, for git",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(baselineSaveCommand(a))
	return cmd
}

func baselineSaveCommand(a *command.App) *cobra.Command {
	r := regressFlags{baseline: regress.SideFlags{Name: "baseline"}, candidate: regress.SideFlags{Name: "candidate", Text: regress.KindSelf}}
	var output string
	cmd := &cobra.Command{
		Use:   "save SUITE -o FILE.json",
		Short: "Run a suite, and write its values into a file that regress compares with",
		Long: "Run a suite under all its seeds, and write the values of its metrics and the trace hashes into a file that\n" +
			"csiglab regress compares with later: small, sorted, and the same text for the same values. It is of this\n" +
			"csiglab, or of the SIDE that --baseline names (see csiglab regress --help).",
		Example:           "  csiglab baseline save standard -o baselines/standard.json\n  csiglab regress standard --baseline baselines/standard.json",
		Args:              command.AtMostOne("a suite"),
		ValidArgsFunction: completeSuites,
		RunE: func(cmd *cobra.Command, args []string) error {
			return saveBaseline(a, cmd, &r, args, output)
		},
	}
	r.suiteFlags(cmd)
	r.oneFlags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write, such as baselines/standard.json")
	return cmd
}

// saveBaseline runs the baseline of a suite and writes its values.
func saveBaseline(a *command.App, cmd *cobra.Command, r *regressFlags, args []string, output string) (err error) {
	if output == "" {
		return command.Usage("-o is missing: the file to write, such as -o baselines/standard.json")
	}
	if info, err := os.Stat(filepath.Dir(output)); err != nil || !info.IsDir() {
		return command.Usage("-o %s: no folder %s", output, filepath.Dir(output))
	}
	if info, err := os.Lstat(output); err == nil && !info.Mode().IsRegular() {
		return command.Usage("-o %s: it is no regular file", output)
	}
	p, err := regressionPlan(a, cmd, r, args)
	if err != nil {
		return err
	}
	if done, err := handOverWith(cmd.Context(), a, p.Baseline.With); done || err != nil {
		return err
	}
	folder, remove, err := resources.TemporaryFolder()
	if err != nil {
		return err
	}
	defer remove()
	p.Candidate = p.Baseline
	g := regressSession(a, r, p, folder, true)
	if err := prepareSession(a, cmd, r, g); err != nil {
		return err
	}
	stored, err := g.Save(cmd.Context())
	if err != nil {
		return comparisonError(err)
	}
	if err := own.WriteFile(output, stored.Text(), 0o644); err != nil {
		return command.Infrastructure(fmt.Errorf("-o %s: %w", output, cause.Of(err)))
	}
	if names := stored.NotDeterministic(); len(names) > 0 {
		a.Notes([]string{fmt.Sprintf("%s: under clock wall, values depend on the machine and its load; a stored baseline is for deterministic clocks, virtual or lockstep", strings.Join(names, ", "))})
	}
	seeds := 0
	for _, cell := range stored.Cells {
		seeds += len(cell.Runs)
	}
	return a.Print(fmt.Sprintf("wrote   %s: %s of %s; %s\n", output, spelling.Plural(seeds, "run"), spelling.Plural(len(stored.Cells), "experiment"), stored.Label))
}
