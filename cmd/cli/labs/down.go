package labs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/holder"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

func downCommand(a *command.App) *cobra.Command {
	var all bool
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "down LAB…",
		Short: "End labs in order: write their results and reports, and print them",
		Long: "End labs in order: write their results and reports, and print them. LAB is an id, the beginning of one,\n" +
			"or an experiment's name. The exit code is the run's. If the process that held a lab has died, its\n" +
			"remains are removed, and the exit code is 3.",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return command.Usage("lab %q and --all exclude each other", args[0])
			case !all && len(args) == 0:
				return command.Usage("name a lab, or give --all; csiglab ps lists them")
			}
			return nil
		},
		ValidArgsFunction: choose.CompleteLabs(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := labsToEnd(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			if len(chosen) == 0 {
				fmt.Fprintln(a.Stdout, "no lab is up")
			}
			ender := holder.Ender{Down: a.Work.Down, Clean: a.Work.Clean, Say: a.Say}
			ends := make([]holder.Ending, len(chosen))
			var all sync.WaitGroup
			for i, r := range chosen {
				all.Go(func() { ends[i] = ender.End(cmd.Context(), r) })
			}
			all.Wait()
			worst := command.ExitOK
			for i, r := range chosen {
				worst = max(worst, printEnding(a, r, ends[i]))
			}
			if worst != command.ExitOK {
				return &command.ExitError{Code: worst}
			}
			return nil
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "every lab")
	return cmd
}

// labsToEnd returns the named labs, or all if there is no name.
func labsToEnd(ctx context.Context, a *command.App, names []string) ([]runs.Run, error) {
	list, err := choose.Labs(ctx, a)
	if err != nil {
		return nil, err
	}
	var chosen []runs.Run
	if len(names) == 0 {
		for _, r := range list {
			if r.Held && (r.State == runs.Held || r.State == runs.Dead) {
				chosen = append(chosen, r)
			}
		}
		return chosen, nil
	}
	twice := map[string]bool{}
	for _, name := range names {
		r, err := runs.Find(list, name)
		switch {
		case err != nil:
			return nil, choose.LabError(err)
		case r.State == runs.Foreign:
			return nil, choose.Foreign(r)
		case !r.Held:
			return nil, command.Usage("run %s is no lab and ends by itself; interrupt it, or csiglab clean", r.ID)
		case r.State == runs.Running:
			return nil, command.Usage("lab %s is not up yet; interrupt its csiglab up (process %d) to end it", r.ID, r.PID)
		case !twice[r.ID]:
			twice[r.ID] = true
			chosen = append(chosen, r)
		}
	}
	return chosen, nil
}

// printEnding prints how a lab ended and returns the exit code.
func printEnding(a *command.App, r runs.Run, end holder.Ending) int {
	report := end.Report
	if end.ByItself {
		report.Errors = fmt.Sprintf("csiglab: lab %s had ended by itself:\n%s", r.ID, report.Errors)
		report.Code = max(report.Code, command.ExitInfrastructure)
	}
	io.WriteString(a.Stderr, report.Errors)
	io.WriteString(a.Stdout, report.Output)
	err := end.Err
	if err == nil {
		return report.Code
	}
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted; lab %s still goes down", r.ID)
	}
	fmt.Fprintln(a.Stderr, "csiglab:", err)
	for _, what := range end.Removed {
		fmt.Fprintln(a.Stdout, "removed", what)
	}
	return command.ExitInfrastructure
}
