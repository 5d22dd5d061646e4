package experiments

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
)

// seedsCommand prints the seeds of an experiment. It stands for a new command.
func seedsCommand(a *command.App) *cobra.Command {
	var s choose.Selection
	cmd := &cobra.Command{
		Use:   "seeds EXPERIMENT",
		Short: "Print the seeds of an experiment",
		Args:  command.One("an experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := s.Load(a, cmd, args)
			if err != nil {
				return err
			}
			return a.Print(fmt.Sprintln(set.Base.Seeds))
		},
	}
	s.SeedFlags(cmd)
	return cmd
}
