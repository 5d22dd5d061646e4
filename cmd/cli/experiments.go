package cli

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// experimentsCommands returns the commands of this group.
func experimentsCommands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		demoCommand(a), initCommand(a), validateCommand(a), runCommand(a), checkCommand(a), reportCommand(a), uiCommand(a), listCommand(a),
		schemaCommand(a), shardCommand(a), pageCommand(a),
	}
}
