package cli

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/comparisons"
	"github.com/csiglab/csiglab/cmd/cli/experiments"
	"github.com/csiglab/csiglab/cmd/cli/fabrics"
	"github.com/csiglab/csiglab/cmd/cli/labs"
	"github.com/csiglab/csiglab/cmd/cli/machine"
	"github.com/csiglab/csiglab/cmd/cli/telemetry"
)

// groups are the headings of csiglab --help, in its order, with their commands, which it sorts.
// Those that csiglab starts itself are hidden.
var groups = []struct {
	title    string
	commands func(*command.App) []*cobra.Command
}{
	{"Experiments:", experiments.Commands},
	{"Comparisons:", comparisons.Commands},
	{"Labs, in real time:", labs.Commands},
	{"Packets, tables and dashboards:", telemetry.Commands},
	{"Fabrics and workloads:", fabrics.Commands},
	{machineTitle, machine.Commands},
}

// machineTitle is the heading of the commands that cobra has, too.
const machineTitle = "csiglab and this machine:"

// group adds the commands to root under the headings.
func group(root *cobra.Command, a *command.App) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands(a) {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID(machineTitle)
	root.SetCompletionCommandGroupID(machineTitle)
}
