package cli

import "github.com/spf13/cobra"

func (a *app) jobs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Training jobs that share links: their communication profiles, and which fit together",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage("unknown command %q%s; see csiglab jobs --help", args[0], didYouMean(args[0], []string{"list", "fit", "profile"}))
		},
	}
	cmd.AddCommand(a.jobsList(), a.jobsFit(), a.jobsProfile())
	return cmd
}
