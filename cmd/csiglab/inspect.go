package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/runs"
	"github.com/csiglab/csiglab/units"
)

func (a *app) inspect() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect LAB",
		Short: "Show the nodes, interfaces and links of a lab or run that is under way",
		Long: "Show the nodes, interfaces and links of a lab or run that is under way.\n" +
			"LAB is an id, the beginning of one, or an experiment's name.",
		Args:              one("a lab"),
		ValidArgsFunction: a.completeLabs,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(r)
			}
			return a.print(describe(&r))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one object in JSON")
	return cmd
}

// one wants one argument.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("want %s, got %d: %q; see %s --help", what, len(args), args, cmd.CommandPath())
		}
		return nil
	}
}

// find returns the run that an argument stands for.
func (a *app) find(ctx context.Context, text string) (runs.Run, error) {
	list, err := a.lab.list(ctx)
	if err != nil {
		return runs.Run{}, infrastructure(err)
	}
	r, err := runs.Find(list, text)
	if err != nil {
		return r, labError(err)
	}
	return r, nil
}

// dead says that a run's csiglab is gone.
func dead(r runs.Run) error {
	return infrastructure(fmt.Errorf("run %s is dead: its csiglab is gone; csiglab clean %s removes the rest", r.ID, r.ID))
}

// labError gives an error about a lab its exit code: a wrong name is the user's.
func labError(err error) error {
	var unknown *runs.UnknownError
	var ambiguous *runs.AmbiguousError
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{exitInfrastructure, errors.New("interrupted")}
	case errors.As(err, &unknown) || errors.As(err, &ambiguous):
		return &exitError{exitUsage, err}
	}
	return infrastructure(err)
}

// completeLabs proposes the runs under way as a first argument.
func (a *app) completeLabs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
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

// pace returns a run's clock and, of clock wall, its dilation.
func pace(r *runs.Run) string {
	if r.Dilation == 0 {
		return "clock " + r.Clock
	}
	return "clock " + r.Clock + ", dilation " + strconv.FormatFloat(r.Dilation, 'g', -1, 64)
}

// describe returns a run as text.
func describe(r *runs.Run) string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"run", r.ID}, {"experiment", r.Name}, {"runtime", r.Runtime + ", " + pace(r)},
		{"state", fmt.Sprintf("%s, started %s", r.State, r.Started.Format(time.DateTime))},
		{"process", strconv.Itoa(r.PID)}, {"folder", r.Folder},
	} {
		if row[1] != "" {
			fmt.Fprintf(t, "%s\t%s\n", row[0], row[1])
		}
	}
	t.Flush() // cannot fail: text in memory
	if len(r.Nodes) == 0 {
		return text.String()
	}
	head := "\nNODE\tKIND\tPID\tADDRESS\tINTERFACES"
	contained := slices.ContainsFunc(r.Nodes, func(n runs.Node) bool { return n.Container != "" })
	if contained {
		head += "\tCONTAINER"
	}
	fmt.Fprintln(t, head)
	ends := map[string][]string{} // by link
	for _, n := range r.Nodes {
		var names []string
		for _, i := range n.Interfaces {
			end := n.Name
			if i.Name != "" {
				names, end = append(names, i.Name), end+" "+i.Name
			}
			ends[i.Link] = append(ends[i.Link], end)
		}
		row := fmt.Sprintf("%s\t%s\t%d\t%s\t%s", n.Name, n.Kind, n.PID, strings.Join(n.Addresses, " "), strings.Join(names, " "))
		if contained {
			row += strings.TrimRight("\t"+n.Container+" "+n.Application, " ")
		}
		fmt.Fprintln(t, row)
	}
	t.Flush() // as above
	fmt.Fprintln(t, "\nLINK\tRATE\tDELAY\tENDS")
	for _, l := range r.Links {
		fmt.Fprintf(t, "%s\t%v\t%v\t%s\n", l.Name, units.Rate(l.RateBPS), units.Duration(math.Round(l.DelayUS*float64(units.Microsecond))), strings.Join(ends[l.Name], ", "))
	}
	t.Flush() // as above
	return text.String()
}
