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
	commands := map[string][]*cobra.Command{} // those of a group that do something
	for _, cmd := range root(&command.App{}).Commands() {
		for _, c := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
			if c.Runnable() && !c.Hidden && c.Name() != "help" && !c.HasSubCommands() {
				commands[cmd.GroupID] = append(commands[cmd.GroupID], c)
			}
		}
	}
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| csiglab | does | flags |\n|---|---|---|\n", strings.TrimSuffix(g.title, ":"))
		for _, c := range commands[g.title] {
			use := strings.TrimSuffix(strings.TrimPrefix(c.UseLine(), "csiglab "), " [flags]")
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(use, "|", "\\|"), strings.TrimSuffix(c.Short, "."), flags(c))
		}
	}
	checkout.Written(t, "reference/commands.md", b.String(), *update)
}

// flags returns the flags of a command, with what they take and their defaults.
func flags(c *cobra.Command) string {
	var list []string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		text := "--" + f.Name
		if kind, _ := pflag.UnquoteUsage(f); kind != "" {
			text += " " + kind
		}
		if text = "`" + text + "`"; !slices.Contains([]string{"", "false", "[]", "0", "0s"}, f.DefValue) {
			text += " (" + f.DefValue + ")"
		}
		list = append(list, text)
	})
	return strings.ReplaceAll(strings.Join(list, ", "), "|", "\\|")
}
