package perform

import (
	"context"
	"os/exec"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/orchestrator/programs"
)

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
