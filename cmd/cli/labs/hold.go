package labs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/holder"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

func holdCommand(a *command.App) *cobra.Command {
	var l labFlags
	cmd := &cobra.Command{
		Use:    command.HoldName,
		Short:  "Hold a lab, for up",
		Hidden: true,
		Args:   command.AtMostOne("an experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := holder.Hold(cmd.Context(), a.Stderr)
			if err != nil {
				return command.Usage("%s is for up, which starts it", command.HoldName)
			}
			defer h.Close()
			set, err := l.load(a, cmd, args)
			if err != nil {
				return err
			}
			cmd.SetContext(h.Context())
			l.Options.Hold, l.Options.Ready = h.Released(), h.Ready
			l.JSON = false // the flag is for the output of up
			err = perform.Run(held(a, h), cmd, set, &l.Flags)
			code, text := command.ExitOK, ""
			if err != nil {
				code = command.ExitCode(err)
				if !command.Printed(err) {
					text = err.Error()
				}
			}
			h.End(code, text)
			return &command.ExitError{Code: code} // up or down prints the error
		},
	}
	l.flags(cmd)
	return cmd
}

// held returns the commands' shared state for a lab that h holds: the report gets what
// the run prints, and the run has the arguments of up.
func held(a *command.App, h *holder.Holder) *command.App {
	inner := *a
	inner.Args = slices.Concat([]string{"up"}, a.Args[1:])
	inner.Stdout, inner.Stderr = h.Output(a.Stdout), h.Errors(a.Stderr)
	inner.Work.Run = func(ctx context.Context, set *experiment.Set, opts campaign.Options) (*campaign.Result, error) {
		opts.Progress = nil // nobody watches
		opts.Writing = func(read, all int64) {
			h.Doing(fmt.Sprintf("%.0f %% of %s are in its tables", 100*float64(read)/float64(max(1, all)), spelling.Plural(int(all), "record")))
		}
		result, err := a.Work.Run(ctx, set, opts)
		h.Doing("its tables are written, the report comes")
		if result != nil {
			said := fabricNotes(set)
			result.Notes = slices.DeleteFunc(result.Notes, func(note string) bool { return slices.Contains(said, note) })
			// csiglab down may run in another directory.
			if folder, err := filepath.Abs(result.Folder); err == nil {
				result.Folder = folder
			}
		}
		return result, err
	}
	return &inner
}
