// Package experiments has the commands that check and run one experiment and show its results.
package experiments

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
)

// Commands returns the commands of this group.
func Commands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		demoCommand(a), initCommand(a), validateCommand(a), runCommand(a), checkCommand(a), reportCommand(a), uiCommand(a), listCommand(a),
		schemaCommand(a), shardCommand(a), pageCommand(a), perform.MeasureCommand(a),
	}
}
