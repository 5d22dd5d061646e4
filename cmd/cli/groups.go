package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// groups are the headings of csiglab --help, in its order, with their commands, which it sorts.
var groups = []struct {
	title    string
	commands []string
}{
	{"Experiments:", []string{"demo", "init", "validate", "run", "check", "report", "ui", "list", "schema"}},
	{"Comparisons:", []string{"sweep", "stress", "compare", "regress", "baseline", "bisect"}},
	{"Labs, in real time:", []string{"up", "ps", "inspect", "exec", "top", "down", "clean"}},
	{"Packets, tables and dashboards:", []string{"capture", "dissector", "export", "serve", "grafana", "scrape-config"}},
	{"Fabrics and workloads:", []string{"graph", "topo", "workload", "jobs"}},
	{"csiglab and this machine:", []string{"doctor", "config", "selftest", "build", "image", "version", "completion", "help"}},
}

// group puts the commands of root under the headings, and leaves out headings without any.
func group(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, g := range groups {
		for _, c := range root.Commands() {
			if !slices.Contains(g.commands, c.Name()) {
				continue
			}
			if c.GroupID = g.title; !root.ContainsGroup(g.title) {
				root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
			}
		}
	}
}
