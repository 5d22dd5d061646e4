package cli

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/labs"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// holdName is the command that up starts as a process of its own, the holder of the
// lab.
const holdName = "hold"

func (a *app) hold() *cobra.Command {
	var l labFlags
	cmd := &cobra.Command{
		Use:    holdName,
		Short:  "Hold a lab, for up",
		Hidden: true,
		Args:   atMostOne("an experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := labs.Hold(cmd.Context(), a.stderr)
			if err != nil {
				return usage("%s is for up, which starts it", holdName)
			}
			defer h.Close()
			set, err := l.load(a, cmd, args)
			if err != nil {
				return err
			}
			cmd.SetContext(h.Context())
			l.options.Hold, l.options.Ready = h.Released(), h.Ready
			l.json = false // the flag is for the output of up
			err = a.held(h).perform(cmd, set, &l.runFlags)
			code, text := exitOK, ""
			if err != nil {
				code = exitCode(err)
				if !printed(err) {
					text = err.Error()
				}
			}
			h.End(code, text)
			return &exitError{code: code} // up or down prints the error
		},
	}
	l.flags(cmd)
	return cmd
}

// held returns the commands' shared state for a lab that h holds: the report gets what
// the run prints, and the run has the arguments of up.
func (a *app) held(h *labs.Holder) *app {
	inner := *a
	inner.args = slices.Concat([]string{"up"}, a.args[1:])
	inner.stdout, inner.stderr = h.Output(a.stdout), h.Errors(a.stderr)
	inner.lab.run = func(ctx context.Context, set *experiment.Set, opts campaign.Options) (*campaign.Result, error) {
		opts.Progress = nil // nobody watches
		result, err := a.lab.run(ctx, set, opts)
		if result != nil { // csiglab down may run in another directory
			if folder, err := filepath.Abs(result.Folder); err == nil {
				result.Folder = folder
			}
		}
		return result, err
	}
	return &inner
}
