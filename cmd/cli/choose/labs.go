package choose

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Labs returns the runs on this machine, and tells the user of damaged entries.
func Labs(ctx context.Context, a *command.App) ([]runs.Run, error) {
	list, err := a.Work.List(ctx)
	if err != nil {
		return nil, command.Infrastructure(err)
	}
	damaged, err := a.Work.Damaged()
	if err != nil {
		return nil, command.Infrastructure(err)
	}
	for _, d := range damaged {
		a.Notes([]string{fmt.Sprintf("left out: %v; csiglab clean removes the entry", d)})
	}
	return list, nil
}

// Lab returns the run that an argument names.
func Lab(ctx context.Context, a *command.App, text string) (runs.Run, error) {
	list, err := Labs(ctx, a)
	if err != nil {
		return runs.Run{}, err
	}
	r, err := runs.Find(list, text)
	if err != nil {
		return r, LabError(err)
	}
	return r, nil
}

// CompleteLabs proposes the runs under way as a first argument.
func CompleteLabs(a *command.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if _, err := a.Settle(cmd); err != nil { // they may name the list
			return nil, cobra.ShellCompDirectiveError
		}
		list, err := a.Work.List(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, r := range list {
			names = append(names, cobra.CompletionWithDesc(r.ID, fmt.Sprintf("%s, %s", r.Name, r.State)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteNodes proposes runs, and then nodes of the run that has been chosen.
func CompleteNodes(a *command.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return CompleteLabs(a)(cmd, args, text)
		case 1:
			r, err := Lab(cmd.Context(), a, args[0])
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			var names []string
			for _, n := range r.Nodes {
				names = append(names, cobra.CompletionWithDesc(n.Name, n.Kind))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// Dead returns the error of a run whose csiglab has died.
func Dead(r runs.Run) error {
	return command.Infrastructure(fmt.Errorf("run %s is dead: its csiglab is gone; csiglab clean %s removes the rest", r.ID, r.ID))
}

// Foreign returns the error of a run of another csiglab.
func Foreign(r runs.Run) error {
	return command.Usage("run %s is of another csiglab, which alone knows its nodes and can end it in order", r.ID)
}

// LabError gives an error about a lab its exit code. A wrong name is a mistake of the
// user.
func LabError(err error) error {
	var unknown *runs.UnknownError
	var ambiguous *runs.AmbiguousError
	switch {
	case errors.Is(err, context.Canceled):
		return &command.ExitError{Code: command.ExitInfrastructure, Err: errors.New("interrupted")}
	case errors.As(err, &unknown) || errors.As(err, &ambiguous):
		return command.Misuse(err)
	}
	return command.Infrastructure(err)
}
