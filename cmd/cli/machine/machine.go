// Package machine has the commands about csiglab itself and this machine.
package machine

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// Commands returns the commands of this group.
func Commands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		doctorCommand(a), probeCommand(a), configCommand(a), selftestCommand(a), buildCommand(a), imageCommand(a), versionCommand(a),
	}
}
