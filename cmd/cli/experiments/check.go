package experiments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// CheckedRun is what check --json prints.
type CheckedRun struct {
	Valid        bool                    `json:"valid"`
	Reasons      []string                `json:"reasons"`
	Expectations []runfolder.Expectation `json:"expectations"`
}

func checkCommand(a *command.App) *cobra.Command {
	var expect, derived []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check RUN",
		Short: "Evaluate the expectations of a run's folder again, or others",
		Long: "Evaluate the expectations of a run's folder again, from the folder alone; --expect gives others in their place.\n" +
			"The exit code is as that of csiglab run; the folder is not changed.",
		Example: "  csiglab check runs/mine --expect 'run[\"fct_us.p99\"] < 1000'\n" +
			"  csiglab check runs/mine --derived 'fairness=jain(\"goodput_gbps.*\")' --expect 'every_seed(run.fairness > 0.9)'",
		Args: command.One("a run's folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			again := campaign.Again{Folder: args[0], Expect: expect}
			for _, text := range derived {
				name, of, found := strings.Cut(text, "=")
				if !found {
					return command.Usage("--derived %s: want NAME=EXPRESSION, such as fairness=jain(\"goodput_gbps.*\")", text)
				}
				again.Derive = append(again.Derive, experiment.Derived{Name: strings.TrimSpace(name), Expr: strings.TrimSpace(of)})
			}
			out, err := again.Evaluate()
			switch {
			case errors.Is(err, failure.ErrConfiguration):
				return command.Misuse(err)
			case err != nil:
				return command.FolderError(err)
			}
			if err := printChecked(a, out, asJSON); err != nil {
				return err
			}
			return perform.Outcome(&runfolder.Summary{Valid: out.Valid, Expectations: out.Expectations})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&expect, "expect", nil, "an `EXPRESSION` to evaluate in place of the folder's (repeatable)")
	f.StringArrayVar(&derived, "derived", nil, "a further derived metric, as `NAME=EXPRESSION` (repeatable)")
	f.BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}

func printChecked(a *command.App, out *campaign.Evaluated, asJSON bool) error {
	if asJSON {
		c := CheckedRun{out.Valid, out.Reasons, out.Expectations}
		if c.Reasons == nil {
			c.Reasons = []string{}
		}
		return a.PrintJSON(c)
	}
	var text strings.Builder
	perform.WriteExpectations(&text, out.Expectations)
	if len(out.Expectations) == 0 {
		a.Notes([]string{"the folder has no expectations; --expect gives some"})
	}
	if !out.Valid {
		fmt.Fprintln(&text, "INVALID: do not use these figures.")
		for _, reason := range out.Reasons {
			fmt.Fprintln(&text, "  "+reason)
		}
	}
	return a.Print(text.String())
}
