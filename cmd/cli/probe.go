package cli

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/doctor"
)

// probeName is the command that doctor starts in a private network namespace.
const probeName = "probe-private-network"

// probe prints as JSON what doctor.Probe found. Its argument is the network
// namespace of the doctor that started it.
func (a *app) probe() *cobra.Command {
	return &cobra.Command{
		Use:    probeName,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			findings, err := doctor.Probe(args[0])
			if err != nil {
				return usage("%w", err)
			}
			return a.printJSON(findings)
		},
	}
}
