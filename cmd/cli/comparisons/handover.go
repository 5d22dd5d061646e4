package comparisons

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// handOver lets a csiglab with the modules of a request do this command, if this one has
// not got them: experiments name algorithms of the modules, which it does not know. It
// returns whether it has, and then the command's error.
func handOver(ctx context.Context, a *command.App, r revision.Request) (done bool, err error) {
	lacks := false
	for _, w := range r.With {
		lacks = lacks || !slices.ContainsFunc(modules.Compiled(), func(m modules.Module) bool { return m.Path == w.Path })
	}
	if !lacks {
		return false, nil
	}
	into, remove, err := builder.Temporary() // after kill -9, clean or the next build removes it
	if err != nil {
		return true, command.Infrastructure(err)
	}
	defer remove()
	r.Into = into
	r.Named, r.Known, r.Linked, r.Say = true, nil, command.SourceFolder, a.Say
	p, err := revision.Build(ctx, r)
	if err != nil {
		return true, comparisonError(revision.Classed(err))
	}
	cmd := exec.CommandContext(ctx, p.File, a.Args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Env, os.Stdin, a.Stdout, a.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends in order
	cmd.WaitDelay = time.Minute
	runtime.LockOSThread() // Pdeathsig is about the thread
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &exit) && exit.Exited():
		return true, &command.ExitError{Code: exit.ExitCode()} // it has said why
	}
	return true, command.Infrastructure(fmt.Errorf("csiglab with the modules: %w", err))
}

// handOverWith is handOver to a csiglab with modules as they stand.
func handOverWith(ctx context.Context, a *command.App, with []string) (done bool, err error) {
	r := revision.Request{Ref: revision.Ref{Kind: revision.Self}}
	if r.With, err = builder.ParseWiths(with); err != nil {
		return false, command.Usage("%w", err)
	}
	return handOver(ctx, a, r)
}
