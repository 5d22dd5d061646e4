package machine

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/cmd/cli/resources"
	"github.com/csiglab/csiglab/orchestrator/selftest"
)

func selftestCommand(a *command.App) *cobra.Command {
	var o selftest.Options
	var asJSON, sources bool
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Check csiglab itself: do its numbers follow what arithmetic says?",
		Long: "Check csiglab itself, with small experiments of its own. A changed rate, delay, buffer, load or number of\n" +
			"senders must move the metrics by as much as a closed form says, and what does not matter must move nothing.\n" +
			"No packet may be lost in the books, real frames must leave the trace of virtual time, and equal runs must be\n" +
			"equal. Checks that this machine or user cannot run are listed with the reason.\n\n" +
			"Exit codes: 0 nothing failed, 1 a check failed, 2 usage, 3 the machine failed or Ctrl-C.",
		Example: "  csiglab selftest\n" +
			"  csiglab selftest --sources          # with the formula and the source of each prediction\n" +
			"  csiglab selftest --only sensitivity\n" +
			"  csiglab selftest --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, remove, err := resources.TemporaryFolder()
			if err != nil {
				return err
			}
			defer remove()
			o.Version, o.Folder = command.Version(), folder
			bar := perform.NewProgress(a.Stderr)
			o.Progress = bar.Step
			report, err := selftest.Run(cmd.Context(), o)
			bar.Close()
			var unknown *selftest.UnknownError
			switch {
			case errors.As(err, &unknown):
				return command.Usage("--only: %w; see csiglab selftest --help", err)
			case err != nil && cmd.Context().Err() != nil:
				return command.Infrastructure(errors.New("interrupted"))
			case err != nil:
				return command.Infrastructure(err)
			}
			if asJSON {
				err = a.PrintJSON(report)
			} else {
				err = a.Print(report.Text(sources))
			}
			switch {
			case err != nil:
				return err
			case report.Count(selftest.Broken) > 0:
				return &command.ExitError{Code: command.ExitInfrastructure}
			case !report.OK:
				return &command.ExitError{Code: command.ExitFailed}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	f.BoolVar(&sources, "sources", false, "print the formula and the source of each prediction")
	f.StringArrayVar(&o.Only, "only", nil, "run the check, or the checks of the kind, `NAME` alone (repeatable)")
	command.CompleteFlag(cmd, "only", selftest.Names())
	return cmd
}
