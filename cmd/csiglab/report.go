package main

import (
	"fmt"

	"github.com/csiglab/csiglab/reports"
	"github.com/spf13/cobra"
)

func (a *app) report() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write the report of a run's folder again",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one run's folder; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if markdown {
				r, err := buildReport(args[0])
				if err != nil {
					return folderError(err)
				}
				return infrastructure(reports.WriteMarkdown(a.stdout, r))
			}
			file, err := a.lab.report(args[0])
			if err != nil {
				return folderError(err)
			}
			_, err = fmt.Fprintln(a.stdout, file)
			return infrastructure(err)
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print the report as Markdown instead")
	return cmd
}
