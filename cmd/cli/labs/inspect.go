package labs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

func inspectCommand(a *command.App) *cobra.Command {
	var asJSON bool
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "inspect LAB",
		Short: "Show the nodes, interfaces and links of a lab or run that is under way",
		Long: "Show the nodes, interfaces and links of a lab or run that is under way.\n" +
			"LAB is an id, the beginning of one, or an experiment's name.",
		Args:              command.One("a lab"),
		ValidArgsFunction: choose.CompleteLabs(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := choose.Lab(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(r)
			}
			return a.Print(describe(&r))
		},
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one object in JSON")
	return cmd
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
	// The programs of a host have csig0 alone, which is joined to the node and not to a link.
	ofPrograms := func(i runs.Interface) bool { return i.Link == "" }
	partly := slices.ContainsFunc(r.Nodes, func(n runs.Node) bool { return n.Silent })
	if partly {
		head += "\tCSIG"
	}
	apart := slices.ContainsFunc(r.Nodes, func(n runs.Node) bool { return slices.ContainsFunc(n.Interfaces, ofPrograms) })
	if apart {
		head += "\tPROGRAMS SEE"
	}
	contained := slices.ContainsFunc(r.Nodes, func(n runs.Node) bool { return n.Container != "" })
	if contained {
		head += "\tCONTAINER"
	}
	cut := slices.ContainsFunc(r.Nodes, func(n runs.Node) bool { return n.Shard != nil })
	if cut {
		head += "\tSHARD"
	}
	fmt.Fprintln(t, head)
	ends := map[string][]string{} // by link
	for _, n := range r.Nodes {
		var names, seen []string
		for _, i := range n.Interfaces {
			end := n.Name
			if ofPrograms(i) {
				seen = append(seen, i.Name)
				continue
			}
			if i.Name != "" {
				names, end = append(names, i.Name), end+" "+i.Name
			}
			ends[i.Link] = append(ends[i.Link], end)
		}
		kind := n.Kind
		switch {
		case n.Kernel:
			kind = "kernel " + kind
		case n.Foreign:
			kind = "foreign " + kind
		}
		row := fmt.Sprintf("%s\t%s\t%d\t%s\t%s", n.Name, kind, n.PID, strings.Join(n.Addresses, " "), strings.Join(names, " "))
		if len(seen) == 0 {
			seen = names
		}
		if partly {
			row += "\t" + speaks(&n)
		}
		if apart {
			row += "\t" + strings.Join(seen, " ")
		}
		if contained {
			row += strings.TrimRight("\t"+n.Container+" "+n.Application, " ")
		}
		if cut && n.Shard != nil {
			row += strings.TrimRight(fmt.Sprintf("\t%d %s %s", n.Shard.Index, n.Shard.Pod, n.Shard.Machine), " ")
		}
		fmt.Fprintln(t, row)
	}
	t.Flush() // as above
	fmt.Fprintln(t, "\nLINK\tRATE\tDELAY\tENDS")
	for _, l := range r.Links {
		fmt.Fprintf(t, "%s\t%v\t%v\t%s\n", l.Name, units.Rate(l.RateBPS), units.Duration(math.Round(l.DelayUS*float64(units.Microsecond))), strings.Join(ends[l.Name], ", "))
	}
	t.Flush() // as above
	if r.State == runs.Held {
		fmt.Fprintf(&text, "\ncsiglab exec %s NODE -- COMMAND runs a command of this machine in a node\n", short(r))
		if contained {
			fmt.Fprintln(&text, "docker exec finds no command: a container has the node's program alone")
		}
	}
	return text.String()
}

// speaks says whether a switch takes part in CSIG, where some do not.
func speaks(n *runs.Node) string {
	switch {
	case n.Kind == "host":
		return ""
	case n.Silent:
		return "passes"
	}
	return "speaks"
}
