package containers

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Exec runs a command in the container of a host's programs with this process's
// input, output and signals, and returns its exit code (see
// containerlab.Engine.Exec). The container ends it at the end of the run.
func Exec(ctx context.Context, r *runs.Run, n runs.Node, command []string) (code int, err error) {
	engine, err := open(ctx)
	if err != nil {
		return 0, err
	}
	defer engine.Close()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGWINCH)
	defer signal.Stop(signals)
	env := []string{runs.EnvironmentRun + "=" + r.ID, runs.EnvironmentNode + "=" + n.Name}
	return engine.Exec(ctx, n.Application, command, env, signals)
}
