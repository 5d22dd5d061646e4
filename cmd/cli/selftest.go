package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/selftest"
)

func (a *app) selftest() *cobra.Command {
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
			folder, remove, err := temporaryFolder()
			if err != nil {
				return err
			}
			defer remove()
			o.Version, o.Folder = buildVersion(), folder
			bar := newProgress(a.stderr)
			o.Progress = bar.step
			report, err := selftest.Run(cmd.Context(), o)
			bar.close()
			var unknown *selftest.UnknownError
			switch {
			case errors.As(err, &unknown):
				return usage("--only: %w; see csiglab selftest --help", err)
			case err != nil && cmd.Context().Err() != nil:
				return infrastructure(errors.New("interrupted"))
			case err != nil:
				return infrastructure(err)
			}
			if asJSON {
				err = a.printJSON(report)
			} else {
				err = a.print(report.Text(sources))
			}
			switch {
			case err != nil:
				return err
			case report.Count(selftest.Broken) > 0:
				return &exitError{code: exitInfrastructure}
			case !report.OK:
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	f.BoolVar(&sources, "sources", false, "print the formula and the source of each prediction")
	f.StringArrayVar(&o.Only, "only", nil, "run the check, or the checks of the kind, `NAME` alone (repeatable)")
	completeFlag(cmd, "only", selftest.Names())
	return cmd
}

// step shows which of several steps is next: on a terminal in a bar, elsewhere as a line.
// An empty name is the end.
func (p *progressView) step(name string, done, total int) {
	switch {
	case name == "":
	case p.bar != nil:
		p.bar.Describe(fmt.Sprintf("%d of %d: %s", done+1, total, name))
		p.bar.Set(done * barSteps / total) // a bar that cannot be drawn is no error
	default:
		fmt.Fprintf(p.w, "%d of %d: %s\n", done+1, total, name)
	}
}
