package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) clean() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "clean [LAB]",
		Short: "Remove what labs and runs left behind when they were killed; folders stay",
		Long: "Remove what runs left behind when they were killed: processes, network namespaces, containers and state.\n" +
			"The run's folder stays. LAB is an id, the beginning of one, or an experiment's name. Runs that are still\n" +
			"under way are left alone; --all ends them too.",
		Args:              atMostOne("one run"),
		ValidArgsFunction: a.completeLabs,
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) == 1 {
				if all {
					return usage("run %q and --all exclude each other", args[0])
				}
				id = args[0]
			}
			removed, err := a.lab.clean(cmd.Context(), id, all)
			for _, what := range removed {
				fmt.Fprintln(a.stdout, "removed", what)
			}
			if err != nil {
				return labError(err)
			}
			if len(removed) == 0 {
				fmt.Fprintln(a.stdout, "nothing to remove")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every run, also those under way")
	return cmd
}
