package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/csiglab/csiglab/metrics/runfolder"
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
			folder, err := runfolder.Open(args[0])
			if err != nil {
				return folderError(err)
			}
			r, err := reports.Build(folder)
			if err != nil {
				return folderError(err)
			}
			var text bytes.Buffer
			if markdown {
				if err := reports.WriteMarkdown(&text, r); err != nil {
					return &exitError{exitInfrastructure, err}
				}
				_, err := a.stdout.Write(text.Bytes())
				return err
			}
			if err := reports.WriteHTML(&text, r); err != nil {
				return &exitError{exitInfrastructure, err}
			}
			name := filepath.Join(args[0], "report.html")
			if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
				return &exitError{exitInfrastructure, err}
			}
			fmt.Fprintln(a.stdout, name)
			return nil
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print the report as Markdown instead")
	return cmd
}
