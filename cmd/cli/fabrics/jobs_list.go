package fabrics

import (
	"bytes"
	"cmp"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/fit"
)

func jobsListCommand(a *command.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the presets of published training jobs, with what is published of them and what is derived",
		Long: "List the presets of published training jobs: computing and communication of a step, and what of that is published\n" +
			"and what is derived (docs/how-to/jobs.md). A job without computing is for experiments that give it.",
		Example: "  csiglab jobs list\n  csiglab jobs list --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all := fit.Presets()
			if asJSON {
				return a.PrintJSON(all)
			}
			var text bytes.Buffer
			t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "preset\tperiod\tcomputes\tcommunicates\tbytes")
			for _, p := range all {
				if p.Period == 0 {
					fmt.Fprintf(t, "%s\tnot known\tnot known\t%v\t%v\n", p.Name, p.Communicate, p.Bytes)
					continue
				}
				fmt.Fprintf(t, "%s\t%v\t%v\t%v\t%v\n", p.Name, p.Period, p.Compute, p.Communicate, p.Bytes)
			}
			t.Flush()
			fmt.Fprintln(&text)
			for _, p := range all {
				fmt.Fprintf(&text, "%s\n  published: %s\n  derived: %s\n", p.Name, cmp.Or(p.Published, "nothing"), cmp.Or(p.Derived, "nothing"))
			}
			return a.Print(text.String())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}
