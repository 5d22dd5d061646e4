package machine

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/settings"
)

// ConfigEntry is a setting in the output of config --json.
type ConfigEntry struct {
	Setting string         `json:"setting"`
	Value   string         `json:"value"` // "": there is none
	From    settings.Layer `json:"from"`
	At      string         `json:"at,omitempty"` // the flag, the variable, or the file and its line
}

// ConfigName is the name of csiglab config.
const ConfigName = "config"

func configCommand(a *command.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   ConfigName,
		Short: "Print the settings of this user and machine, and where each comes from",
		Long: "Print the settings of this user and machine, and where each comes from: a flag, an environment variable,\n" +
			"./" + settings.FolderFile + ", $XDG_CONFIG_HOME/csiglab/config.yaml (default: ~/.config), or the default, in this order.\n" +
			"The flags here stand for those of the commands. docs/how-to/config.md has the rest.",
		Example: "  csiglab config\n  csiglab config --json",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	for _, s := range settings.All() {
		f.String(s.Key, s.Default, fmt.Sprintf("%s; variable %s", s.Doc, s.Variable))
		f.Lookup(s.Key).Annotations = map[string][]string{command.NoSetting: nil} // RunE reads it
		if s.Words != nil {
			command.CompleteFlag(cmd, s.Key, s.Words())
		}
	}
	f.BoolVar(&asJSON, "json", false, "print a list in JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		r := settings.Request{Settings: settings.All(), Env: a.Env, Flag: func(s settings.Setting) *pflag.Flag { return f.Lookup(s.Key) }}
		values, notes, err := r.Load()
		if err != nil {
			return command.Misuse(err)
		}
		a.Notes(notes)
		var text strings.Builder
		t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "SETTING\tVALUE\tFROM")
		var entries []ConfigEntry
		for _, s := range settings.All() {
			v := values[s.Key]
			if want := s.Want(v.Text); v.From == settings.Flag && want != "" {
				return command.Usage("%s %q: %s", v.At, settings.Shown(v.Text), want)
			}
			entries = append(entries, ConfigEntry{s.Key, v.Text, v.From, v.At})
			from := string(v.From)
			switch v.From {
			case settings.Flag, settings.Variable:
				from += " " + v.At
			case settings.File:
				from = v.At
			}
			fmt.Fprintf(t, "%s\t%s\t%s\n", s.Key, cmp.Or(v.Text, "("+s.Absent+")"), from)
		}
		if asJSON {
			return a.PrintJSON(entries)
		}
		t.Flush() // cannot fail: text in memory
		return a.Print(text.String())
	}
	return cmd
}
