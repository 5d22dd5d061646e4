package labs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/top"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Bounds of the time between two looks at a lab.
const (
	leastInterval = 100 * time.Millisecond
	mostInterval  = time.Hour
)

// plainRows is how many rows the table has at most where there is no terminal.
const plainRows = 60

func topCommand(a *command.App) *cobra.Command {
	interval, once, all := time.Second, false, false
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "top LAB",
		Short: "Show the ports, bottlenecks and flows of a lab while it runs",
		Long: "Show the ports, bottlenecks and flows of a lab while it runs: the busiest ports, the ports that CSIG\n" +
			"samples name, and the fastest flows. BOTTLENECK is the port, a host's NIC as well, that is busy\n" +
			"for 90 % of the time and loses packets, or else busy for 90 % of it; without one, the line names the port that was\n" +
			"full in bursts or lost packets. LAB is an id, the beginning of one, or an experiment's name.\n" +
			"BUSY is the mean of all telemetry windows since the last look, PEAK≤ and QUEUE≤ bound the greatest of\n" +
			"them. On a terminal the table is drawn again every interval until q or Ctrl-C; elsewhere, and with\n" +
			"--once, it is printed once, of one interval.",
		Example:           "  csiglab top three-flow\n  csiglab top 3f2a --once --interval 5s",
		Args:              command.One("a lab"),
		ValidArgsFunction: choose.CompleteLabs(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if interval < leastInterval || interval > mostInterval {
				return command.Usage("--interval %v: want %v to %v", interval, leastInterval, mostInterval)
			}
			r, err := choose.Lab(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			switch {
			case r.State == runs.Dead:
				return choose.Dead(r)
			case r.State == runs.Foreign && len(r.Nodes) == 0:
				return choose.Foreign(r)
			}
			reader, err := live.NewReader(&r)
			if err != nil {
				return command.Usage("%w", err)
			}
			defer reader.Close()
			w := &top.Watch{Run: &r, Reader: reader, Interval: interval, List: a.Work.List}
			switch out, ok := terminal(a); {
			case all:
				err = w.Print(cmd.Context(), a.Stdout, top.Size{})
			case once || !ok:
				err = w.Print(cmd.Context(), a.Stdout, top.Size{Rows: plainRows})
			default:
				err = w.Draw(cmd.Context(), out, os.Stdin)
			}
			switch {
			case errors.Is(err, top.ErrEnded):
				return a.Print(fmt.Sprintf("lab %s %s has ended\n", top.Printable(r.Name), r.ID))
			case errors.Is(err, context.Canceled):
				err = errors.New("interrupted")
			}
			return command.Infrastructure(err)
		},
	})
	cmd.Flags().DurationVar(&interval, "interval", interval, "time between two looks")
	cmd.Flags().BoolVar(&once, "once", false, "print the table of one interval and end")
	cmd.Flags().BoolVar(&all, "all", false, "the same with all ports and flows, however many")
	return cmd
}

// terminal returns standard output if it is a terminal that can be drawn on.
func terminal(a *command.App) (*os.File, bool) {
	w, ok := a.Stdout.(*command.Watched)
	if !ok {
		return nil, false
	}
	f, ok := w.Writer.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
