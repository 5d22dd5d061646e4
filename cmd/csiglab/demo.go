package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/campaign"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

func (a *app) demo() *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the three-flow experiment and compare it with the published figures",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := experiment.Load("three-flow", experiment.Options{
				Env: a.env, Reserved: reserved(), Tables: experiment.StandardTables(),
			})
			if err != nil {
				return &exitError{exitUsage, err}
			}
			fmt.Fprintln(a.stderr, "Three flows on an oversubscribed fat tree: the victim 1->10 crosses two bottlenecks,")
			fmt.Fprintln(a.stderr, "0->2 and 9->10 one each. How many times the victim's rate do they get? Published:")
			fmt.Fprintln(a.stderr, "5:1 with NSCC alone, 2.3:1 when CSIG reports the largest delay on the path to it.")
			return a.perform(cmd, set, &r)
		},
	}
	r.flags(cmd)
	r.options.Payload, r.options.Processes = campaign.PayloadFull, string(backend.ProcessPerNode)
	return cmd
}
