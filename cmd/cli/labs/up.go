package labs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/holder"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// labFlags are the flags of up and hold.
type labFlags struct {
	perform.Flags
	variant string
}

func (l *labFlags) flags(cmd *cobra.Command) {
	l.Selection.FileFlags(cmd)
	l.MoreFlags(cmd)
	l.ProcessFlags(cmd)
	f := cmd.Flags()
	// Accepted, as by run, but a lab has one clock and is one run.
	f.Lookup("clock").Hidden, f.Lookup("seeds").Hidden = true, true
	f.Lookup("runtime").Usage = "where the nodes run: " + lines.Alternatives(runtimes.Of(runtimes.Wall))
	f.StringVar(&l.Options.Out, "out", "", "the run's folder, new or empty `DIR` (default: runs/NAME-TIME)")
	f.BoolVar(&l.JSON, "json", false, "print what csiglab inspect --json prints")
	l.ForceFlag(cmd)
	f.Var(&choose.Once{Value: &l.variant}, "variant", "variant of the experiment (default: the first)")
}

func upCommand(a *command.App) *cobra.Command {
	var l labFlags
	cmd := &cobra.Command{
		Use:   "up [EXPERIMENT]",
		Short: "Start a lab: an experiment in real time that runs until csiglab down",
		Long: "Start a lab: an experiment in real time that runs until csiglab down, even after its traffic has ended.\n" +
			"It is one run: of one variant, with the first seed or --seed. The experiment's expectations are left out.\n" +
			"EXPERIMENT may be a containerlab topology file (.clab.yml): up then prints the experiment that it stands for.",
		Example: "  csiglab up three-flow --variant csig\n" +
			"  csiglab up mylab.clab.yml\n" +
			"  csiglab exec three-flow h0 -- ip address\n" +
			"  csiglab down three-flow",
		Args:              command.AtMostOne("an experiment"),
		ValidArgsFunction: choose.CompleteExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := l.load(a, cmd, args)
			if err == nil {
				err = l.Check(a, cmd, set)
			}
			if err != nil {
				return err
			}
			choose.SayImplied(a, set, args)
			a.Notes(fabricNotes(set))
			if n := len(set.Base.Variants); n > 1 && l.variant == "" {
				a.Notes([]string{fmt.Sprintf("%s has %d variants; the lab is of %s, --variant chooses another", set.Base.Name, n, set.Variants[0].Name)})
			}
			name, _ := runtimes.Settle(l.Options.Runtime, l.Options.Clock, set.Base.Runtime, set.Base.Clock)
			if err := a.Lacks(runtimes.Get(name).Program); err != nil {
				return err
			}
			id, err := a.Work.Start(cmd.Context(), slices.Concat([]string{command.HoldName}, a.Args[1:]), a.Env, a.Stderr)
			if err != nil {
				return startError(err)
			}
			r, err := choose.Lab(cmd.Context(), a, id)
			if err != nil {
				return err
			}
			if err := sayTwins(cmd.Context(), a, &r); err != nil {
				return err
			}
			if l.JSON {
				return a.PrintJSON(r)
			}
			return a.Print(started(&r))
		},
	}
	l.flags(cmd)
	return cmd
}

// fabricNotes returns what up says of the fabric, before the lab starts. The report of the lab does not
// repeat it.
func fabricNotes(set *experiment.Set) []string {
	fabric, err := set.Variants[0].Experiment.Topology.Build()
	if err != nil {
		return nil // hold refuses it
	}
	return fabric.Notes
}

// load returns the experiment as one run in real time.
func (l *labFlags) load(a *command.App, cmd *cobra.Command, args []string) (*experiment.Set, error) {
	switch {
	case l.Clock != "" && !(runtimes.Way{Clock: l.Clock}).Has(runtimes.RealTime):
		return nil, command.Usage("--clock %s: a lab runs in real time, under clock %s", l.Clock, runtimes.Wall)
	case slices.Contains(runtimes.Names(), l.Runtime) && !(runtimes.Way{Runtime: l.Runtime}).Has(runtimes.RealFrames):
		return nil, command.Usage("--runtime %s: a lab has real nodes; want %s", l.Runtime, lines.Alternatives(runtimes.Of(runtimes.Wall)))
	case cmd.Flags().Changed("seeds") && l.Seeds != 1:
		return nil, command.Usage("--seeds %d: a lab is one run, with the first seed; --seed chooses another", l.Seeds)
	}
	l.Clock, l.Lab = runtimes.Wall, true
	set, err := l.Selection.Load(a, cmd, args)
	if err != nil {
		return nil, err
	}
	return set, l.one(set)
}

// one reduces a set to one run.
func (l *labFlags) one(set *experiment.Set) error {
	i, err := choose.Variant(set, l.variant)
	if err != nil {
		return err
	}
	if len(set.Variants) > 1 { // then a misspelt metric could be one of another variant
		if names, err := measure.NamesOfSet(set); err == nil {
			if err := set.CheckMetrics(names); err != nil {
				return command.Misuse(err)
			}
		}
	}
	set.Single(i)
	return nil
}

// sayTwins says that other runs under way have the name of a lab.
func sayTwins(ctx context.Context, a *command.App, r *runs.Run) error {
	list, err := a.Work.List(ctx)
	if err != nil {
		return command.Infrastructure(err)
	}
	for _, other := range list {
		if other.Name == r.Name && other.ID != r.ID && other.State != runs.Dead {
			since := runs.StartTimes([]runs.Run{*r, other})[1]
			a.Notes([]string{fmt.Sprintf("another %s is under way, since %s: call this one %s and that one %s", r.Name, since, short(r), short(&other))})
		}
	}
	return nil
}

// short returns the beginning of a run's id, as one types it.
func short(r *runs.Run) string { return r.ID[:min(len(r.ID), 6)] }

// startError gives the error of a lab that did not come up its exit code.
func startError(err error) error {
	var start *holder.StartError
	switch {
	case !errors.As(err, &start):
		return command.Infrastructure(err)
	case start.Text == "":
		return &command.ExitError{Code: start.Code}
	}
	return &command.ExitError{Code: start.Code, Err: err}
}

// started returns the description of a lab that is up.
func started(r *runs.Run) string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "lab\t%s\n", r.ID)
	fmt.Fprintf(t, "experiment\t%s\n", r.Name)
	fmt.Fprintf(t, "runtime\t%s, %s, %s\n", r.Runtime, pace(r), spelling.Plural(len(r.Nodes), "node"))
	fmt.Fprintf(t, "folder\t%s\n", r.Folder)
	next := []string{"csiglab inspect " + short(r)}
	if len(r.Nodes) > 0 {
		next = append(next, fmt.Sprintf("csiglab exec %s %s -- ip address", short(r), r.Nodes[0].Name))
	}
	for i, command := range append(next, "csiglab down "+short(r)) {
		label := ""
		if i == 0 {
			label = "next"
		}
		fmt.Fprintf(t, "%s\t%s\n", label, command)
	}
	t.Flush() // cannot fail: text in memory
	return text.String()
}
