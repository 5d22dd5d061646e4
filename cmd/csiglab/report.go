package main

import (
	"strings"

	"github.com/csiglab/csiglab/reports"
	"github.com/spf13/cobra"
)

func (a *app) report() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write the report of a run's folder again",
		Args:  one("a run's folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if markdown {
				r, err := buildReport(args[0])
				if err != nil {
					return folderError(err)
				}
				var text strings.Builder
				if err := reports.WriteMarkdown(&text, r); err != nil {
					return infrastructure(err)
				}
				return a.print(text.String())
			}
			file, _, err := a.lab.report(args[0])
			if err != nil {
				return folderError(err)
			}
			return a.print(file + "\n")
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print the report as Markdown instead")
	return cmd
}
