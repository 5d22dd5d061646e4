package fabrics

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

func hostsCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:   "hosts TOPOLOGY",
		Short: "Count the hosts of a topology file",
		Args:  command.One("a topology"),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := experiment.Topology{Spec: experiment.TopologyFile(args[0])}.Build()
			if err != nil {
				return command.Misuse(err)
			}
			return a.Print(fmt.Sprintln(t.Graph.Hosts()))
		},
	}
}
