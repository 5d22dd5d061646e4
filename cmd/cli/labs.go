package cli

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// labsCommands returns the commands of this group.
func labsCommands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		upCommand(a), holdCommand(a), psCommand(a), inspectCommand(a), execCommand(a), topCommand(a), downCommand(a), cleanCommand(a),
	}
}
