// Package telemetry has the commands that capture packets and give tables to other programs.
package telemetry

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// Commands returns the commands of this group.
func Commands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		captureCommand(a), dissectorCommand(a), exportCommand(a), serveCommand(a), grafanaCommand(a), scrapeConfigCommand(a), conformanceCommand(a),
	}
}
