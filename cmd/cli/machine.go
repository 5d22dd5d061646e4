package cli

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// machineCommands returns the commands of this group.
func machineCommands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		doctorCommand(a), probeCommand(a), configCommand(a), selftestCommand(a), buildCommand(a), imageCommand(a), versionCommand(a),
	}
}
