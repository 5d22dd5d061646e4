package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) ps() *cobra.Command {
	return &cobra.Command{
		Use:   "ps",
		Short: "List runs that are under way, and those that left something behind",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			runs, err := a.lab.list()
			if err != nil {
				return infrastructure(err)
			}
			t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "RUN\tEXPERIMENT\tSTATE\tSTARTED\tDETAIL")
			for _, r := range runs {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Name, r.State, r.Started.Format(time.DateTime), r.Detail)
			}
			return t.Flush()
		},
	}
}
