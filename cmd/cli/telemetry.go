package cli

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// telemetryCommands returns the commands of this group.
func telemetryCommands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		captureCommand(a), dissectorCommand(a), exportCommand(a), serveCommand(a), grafanaCommand(a), scrapeConfigCommand(a),
	}
}
