package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/csiglab/labs"
	"github.com/csiglab/csiglab/orchestrator/runs"
)

func (a *app) down() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down LAB…",
		Short: "End labs in order: write their results and reports, and print them",
		Long: "End labs in order: write their results and reports, and print them. LAB is an id, the beginning of one,\n" +
			"or an experiment's name. The exit code is the run's. If the process that held a lab has died, what it\n" +
			"left is removed, and the exit code is 3.",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usage("lab %q and --all exclude each other", args[0])
			case !all && len(args) == 0:
				return usage("name a lab, or give --all; csiglab ps lists them")
			}
			return nil
		},
		ValidArgsFunction: a.completeLabs,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := a.labsToEnd(cmd.Context(), args)
			if err != nil {
				return err
			}
			if len(chosen) == 0 {
				fmt.Fprintln(a.stdout, "no lab is up")
			}
			ends := make([]func() int, len(chosen))
			var all sync.WaitGroup
			for i, r := range chosen {
				all.Go(func() { ends[i] = a.end(cmd.Context(), r) })
			}
			all.Wait()
			worst := exitOK
			for _, tell := range ends {
				worst = max(worst, tell())
			}
			if worst != exitOK {
				return &exitError{code: worst}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every lab")
	return cmd
}

// labsToEnd returns the labs that are named, or all without a name.
func (a *app) labsToEnd(ctx context.Context, names []string) ([]runs.Run, error) {
	list, err := a.lab.list(ctx)
	if err != nil {
		return nil, infrastructure(err)
	}
	var chosen []runs.Run
	if len(names) == 0 {
		for _, r := range list {
			if r.Held && r.State != runs.Running {
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
			return nil, labError(err)
		case !r.Held:
			return nil, usage("run %s is no lab and ends by itself; interrupt it, or csiglab clean", r.ID)
		case r.State == runs.Running:
			return nil, usage("lab %s is not up yet; interrupt its csiglab up (process %d) to end it", r.ID, r.PID)
		case !twice[r.ID]:
			twice[r.ID] = true
			chosen = append(chosen, r)
		}
	}
	return chosen, nil
}

// end ends a lab and returns what tells of it, with the exit code.
func (a *app) end(ctx context.Context, r runs.Run) func() int {
	report, err := runs.Report{}, error(runs.ErrHolderDied)
	switch {
	case r.End != nil:
		report, err = *r.End, nil
		report.Errors = fmt.Sprintf("csiglab: lab %s had ended by itself:\n%s", r.ID, report.Errors)
		report.Code = max(report.Code, exitInfrastructure)
		if _, wrong := a.lab.clean(ctx, r.ID, false); wrong != nil {
			err = wrong
		}
	case r.State != runs.Dead:
		report, err = a.lab.down(ctx, r)
	}
	var removed []string
	if errors.Is(err, runs.ErrHolderDied) {
		err = fmt.Errorf("lab %s has no result: %w; %s in %s may say why", r.ID, err, labs.LogFile, r.Folder)
		more, wrong := a.lab.clean(ctx, r.ID, false)
		removed, err = more, errors.Join(err, wrong)
	}
	return func() int {
		io.WriteString(a.stderr, report.Errors)
		io.WriteString(a.stdout, report.Output)
		if err == nil {
			return report.Code
		}
		if errors.Is(err, context.Canceled) {
			err = fmt.Errorf("interrupted; lab %s still goes down", r.ID)
		}
		fmt.Fprintln(a.stderr, "csiglab:", err)
		for _, what := range removed {
			fmt.Fprintln(a.stdout, "removed", what)
		}
		return exitInfrastructure
	}
}
