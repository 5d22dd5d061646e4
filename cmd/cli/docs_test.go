package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

var update = flag.Bool("update", false, "write docs/reference/commands.md from the help of the commands")

// TestReference holds that docs/reference/commands.md has every command with its flags.
func TestReference(t *testing.T) {
	root := root(&command.App{})
	commands := map[string][]*cobra.Command{} // those of a group that do something
	owners := map[string][]string{}           // the commands that have a flag, by its row
	for _, cmd := range root.Commands() {
		all := append([]*cobra.Command{cmd}, cmd.Commands()...)
		for _, c := range all {
			if !c.Runnable() || c.Hidden || c.Name() == "help" || c.HasSubCommands() {
				continue
			}
			commands[cmd.GroupID] = append(commands[cmd.GroupID], c)
			for _, row := range flags(c) {
				owners[row] = append(owners[row], "`"+strings.TrimPrefix(c.CommandPath(), "csiglab ")+"`")
			}
		}
	}
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(g.title, ":"))
		for _, c := range commands[g.title] {
			fmt.Fprintf(&b, "\n**`%s`**: %s\n", strings.TrimSuffix(c.UseLine(), " [flags]"), strings.TrimSuffix(c.Short, "."))
			own := slices.DeleteFunc(flags(c), func(row string) bool { return len(owners[row]) > 1 })
			if len(own) > 0 {
				fmt.Fprintf(&b, "\n| flag | meaning |\n|---|---|\n%s", strings.Join(own, ""))
			}
		}
	}
	b.WriteString("\n## Flags of several commands\n\n| flag | meaning | of |\n|---|---|---|\n")
	var shared []string
	for row, of := range owners {
		if len(of) > 1 {
			shared = append(shared, strings.TrimSuffix(row, "\n")+" "+strings.Join(of, " ")+" |\n")
		}
	}
	slices.Sort(shared)
	b.WriteString(strings.Join(shared, ""))
	checkout.Written(t, "reference/commands.md", b.String(), *update)
}

// flags returns a row for each flag of a command.
func flags(c *cobra.Command) (rows []string) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		if !slices.Contains([]string{"", "false", "[]", "0", "0s"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", name, strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(usage)))
	})
	return rows
}
