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
			"samples name, and the fastest flows. BOTTLENECK is the port, a host's NIC as well, that is full and loses\n" +
			"packets, or else full, also in bursts. LAB is an id, the beginning of one, or an experiment's name.\n" +
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
			w := &watching{App: a, run: r, reader: reader, interval: interval}
			out, ok := terminal(a)
			if once || all || !ok {
				size := top.Size{Rows: plainRows}
				if all {
					size.Rows = 0
				}
				return w.print(cmd.Context(), size)
			}
			return w.watch(cmd.Context(), out)
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

// watching is a lab that is looked at.
type watching struct {
	*command.App
	run      runs.Run
	reader   *live.Reader
	interval time.Duration
	before   *top.Moment
}

// errEnded reports that the lab is no longer there.
var errEnded = errors.New("the lab has ended")

// look returns the table of the time since the last look, nil at the first one. The error
// is errEnded, or says that the list of runs cannot be read.
func (w *watching) look(ctx context.Context, size top.Size) ([]string, error) {
	now := top.NewMoment(w.before, w.reader.Read(ctx))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(now.Silent) > 0 {
		if err := w.ended(ctx); err != nil {
			return nil, err
		}
	}
	before := w.before
	w.before = now
	return top.NewView(before, now).Table(w.run.Name+" "+w.run.ID, size), nil
}

// ended returns errEnded if the lab is no longer on the list, or its csiglab is gone.
func (w *watching) ended(ctx context.Context) error {
	list, err := w.Work.List(ctx)
	if err != nil {
		return command.Infrastructure(err)
	}
	for _, r := range list {
		if r.ID == w.run.ID && r.State != runs.Dead && r.End == nil {
			return nil
		}
	}
	return errEnded
}

// print prints the table of one interval.
func (w *watching) print(ctx context.Context, size top.Size) error {
	_, err := w.look(ctx, size)
	if err == nil {
		if err = pause(ctx, w.interval); err == nil {
			var lines []string
			if lines, err = w.look(ctx, size); err == nil {
				return top.Print(w.Stdout, lines)
			}
		}
	}
	return w.end(err)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// watch draws the table on a terminal until the user or the lab ends it.
func (w *watching) watch(ctx context.Context, out *os.File) error {
	screen, err := top.OpenScreen(out, os.Stdin)
	if err != nil {
		return command.Infrastructure(err)
	}
	defer screen.Close()
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	go func() {
		for {
			select {
			case key := <-screen.Keys():
				if top.Quits(key) {
					quit()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		next := time.Now().Add(w.interval)
		lines, err := w.look(ctx, screen.Size())
		if err == nil {
			err = screen.Draw(lines)
		}
		if err == nil {
			err = pause(ctx, time.Until(next))
		}
		if err != nil {
			screen.Close()
			if ctx.Err() != nil { // the user has asked for it
				return nil
			}
			return w.end(err)
		}
	}
}

// end returns the error with which top ends. That the lab has ended is none.
func (w *watching) end(err error) error {
	switch {
	case errors.Is(err, errEnded):
		return w.App.Print(fmt.Sprintf("lab %s %s has ended\n", top.Printable(w.run.Name), w.run.ID))
	case errors.Is(err, context.Canceled):
		return command.Infrastructure(errors.New("interrupted"))
	}
	return err
}
