package fabrics

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

func jobsCommand(a *command.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Training jobs that share links: their communication profiles, and which fit together",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return command.Usage("unknown command %q%s; see csiglab jobs --help", args[0], command.DidYouMean(args[0], []string{"list", "fit", "profile"}))
		},
	}
	cmd.AddCommand(jobsListCommand(a), jobsFitCommand(a), jobsProfileCommand(a))
	return cmd
}
