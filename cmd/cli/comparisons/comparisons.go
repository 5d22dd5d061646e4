// Package comparisons has the commands that run experiments many times and compare the results.
package comparisons

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// Commands returns the commands of this group.
func Commands(a *command.App) []*cobra.Command {
	return []*cobra.Command{
		sweepCommand(a), stressCommand(a), compareCommand(a), whatifCommand(a), regressCommand(a), baselineCommand(a), historyCommand(a), bisectCommand(a), trialCommand(a),
	}
}
