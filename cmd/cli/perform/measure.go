package perform

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// measureName is the command that a prediction starts to measure what runs cost on this
// machine. It is a process of its own because it must be small (see predict.Measure).
const measureName = "measure-costs"

func MeasureCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:    measureName,
		Short:  "Measure what runs cost on this machine, for predictions",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			costs, err := predict.Measure(cmd.Context(), Self)
			if err != nil {
				return command.Infrastructure(err)
			}
			return a.PrintJSON(costs)
		},
	}
}

// Self returns csiglab as another process.
func Self(ctx context.Context, args ...string) *exec.Cmd {
	file, err := programs.Core()
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Args[0] = "csiglab"
	if err != nil {
		cmd.Err = err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it removes what it made
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Predicted CPU times from which on the machine is measured, which takes some seconds: of a
// user who asks for a prediction, and of one who wants a run.
const (
	WorthForPrediction = time.Second
	worthForRun        = time.Minute
)

// Meter returns what knows or measures the costs of this machine, for runs of at least
// worth. began is called when it begins to measure.
func Meter(a *command.App, worth time.Duration, began func()) *predict.Meter {
	m := &predict.Meter{Version: command.Version(), Worth: worth}
	if a.Work.Self != nil {
		m.Measure = func(ctx context.Context, args ...string) *exec.Cmd {
			began()
			return a.Work.Self(ctx, append([]string{measureName}, args...)...)
		}
	}
	if f, ok := a.Stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		m.Say = a.Say
	}
	return m
}
