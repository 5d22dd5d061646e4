package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// trialsCommand is the command of the processes that trial.Local starts for several trials.
func trialsCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:    trial.TurnsCommand,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := trial.Turns(os.Stdin, a.Stdout, func(args []string, stdout io.Writer) int {
				return Execute(cmd.Context(), a.Linked, args, a.Env, stdout, io.Discard)
			})
			if err != nil {
				return command.Infrastructure(err)
			}
			return nil
		},
	}
}
