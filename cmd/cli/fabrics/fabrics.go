// Package fabrics has the commands about fabrics, workloads and jobs, which run nothing.
package fabrics

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// Commands returns the commands of this group.
func Commands(a *command.App) []*cobra.Command {
	return []*cobra.Command{graphCommand(a), topoCommand(a), workloadCommand(a), jobsCommand(a)}
}
