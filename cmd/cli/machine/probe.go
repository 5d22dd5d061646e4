package machine

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/doctor"
)

// ProbeName is the command that doctor starts in a private network namespace.
const ProbeName = "probe-private-network"

// probeCommand prints as JSON what doctor.Probe found. Its argument is the network
// namespace of the doctor that started it.
func probeCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:    ProbeName,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			findings, err := doctor.Probe(args[0])
			if err != nil {
				return command.Usage("%w", err)
			}
			return a.PrintJSON(findings)
		},
	}
}
