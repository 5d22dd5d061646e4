// Package labs has the commands about labs: experiments in real time that outlive their command.
package labs

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// Commands returns the commands of this group.
func Commands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		upCommand(a), holdCommand(a), psCommand(a), inspectCommand(a), execCommand(a), topCommand(a), downCommand(a), cleanCommand(a),
	}
}
