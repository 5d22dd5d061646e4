package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/csiglab/doctor"
)

func (a *app) doctor() *cobra.Command {
	var asJSON bool
	var out string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine can run; each line that fails says how to fix it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			machine := doctor.Machine{Out: out, Runs: a.lab.list, Probe: probeName}
			findings := machine.Examine(cmd.Context())
			if asJSON {
				if err := a.printJSON(findings); err != nil {
					return err
				}
			} else {
				a.printFindings(findings)
			}
			if !doctor.Healthy(findings) {
				return &exitError{code: exitInfrastructure}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	cmd.Flags().StringVar(&out, "out", "runs", "`DIR` in which runs' folders are created")
	return cmd
}

func (a *app) printFindings(findings []doctor.Finding) {
	for _, f := range findings {
		state := "ok  "
		switch {
		case !f.OK && f.Optional:
			state = "note"
		case !f.OK:
			state = "FAIL"
		}
		fmt.Fprintf(a.stdout, "%s  %s: %s", state, f.Name, f.Detail)
		if f.Fix != "" {
			fmt.Fprintf(a.stdout, "; %s", f.Fix)
		}
		fmt.Fprintln(a.stdout)
	}
}
