package cli

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// fabricsCommands returns the commands of this group.
func fabricsCommands(a *command.App) []*cobra.Command {
	return []*cobra.Command{graphCommand(a), topoCommand(a), workloadCommand(a), jobsCommand(a)}
}
