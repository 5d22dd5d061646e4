package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// choice checks a flag with a fixed set of values.
func choice(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return usage("--%s %q: want one of %s%s", flag, value, strings.Join(known, ", "), didYouMean(value, known))
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage("want %s, got %d: %q; see %s --help", what, len(args), args, cmd.CommandPath())
		}
		return nil
	}
}

// one requires exactly one argument.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("want %s, got %d: %q; see %s --help", what, len(args), args, cmd.CommandPath())
		}
		return nil
	}
}

// runs returns the runs on this machine, and tells the user of damaged entries.
func (a *app) runs(ctx context.Context) ([]runs.Run, error) {
	list, err := a.lab.list(ctx)
	if err != nil {
		return nil, infrastructure(err)
	}
	damaged, err := a.lab.damaged()
	if err != nil {
		return nil, infrastructure(err)
	}
	for _, d := range damaged {
		a.notes([]string{fmt.Sprintf("left out: %v; csiglab clean removes the entry", d)})
	}
	return list, nil
}

// find returns the run that an argument names.
func (a *app) find(ctx context.Context, text string) (runs.Run, error) {
	list, err := a.runs(ctx)
	if err != nil {
		return runs.Run{}, err
	}
	r, err := runs.Find(list, text)
	if err != nil {
		return r, labError(err)
	}
	return r, nil
}

// completeLabs proposes the runs under way as a first argument.
func (a *app) completeLabs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if _, err := a.settle(cmd); err != nil { // they may name the list
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := a.lab.list(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, r := range list {
		names = append(names, cobra.CompletionWithDesc(r.ID, fmt.Sprintf("%s, %s", r.Name, r.State)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeNodes proposes runs, and then nodes of the run that has been chosen.
func (a *app) completeNodes(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.completeLabs(cmd, args, text)
	case 1:
		r, err := a.find(cmd.Context(), args[0])
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

// completeFlag proposes words as the values of a flag, and files.
func completeFlag(cmd *cobra.Command, flag string, words []string) {
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveDefault)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic("csiglab: " + err.Error()) // there is no such flag, or it has a completion
	}
}

// completeExperiments proposes the embedded experiments, and files.
func completeExperiments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return experiment.Names(), cobra.ShellCompDirectiveDefault
}
