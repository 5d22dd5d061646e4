package cli

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

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// handOver lets a csiglab with the modules of a request do this command, if this one has
// not got them: experiments name algorithms of the modules, which it does not know. It
// returns whether it has, and then the command's error.
func (a *app) handOver(ctx context.Context, r revision.Request) (done bool, err error) {
	lacks := false
	for _, w := range r.With {
		lacks = lacks || !slices.ContainsFunc(modules.Compiled(), func(m modules.Module) bool { return m.Path == w.Path })
	}
	if !lacks {
		return false, nil
	}
	into, remove, err := builder.Temporary() // after kill -9, clean or the next build removes it
	if err != nil {
		return true, infrastructure(err)
	}
	defer remove()
	r.Into = into
	r.Named, r.Known, r.Linked, r.Say = true, nil, sourceFolder, a.say
	p, err := revision.Build(ctx, r)
	if err != nil {
		return true, comparisonError(revision.Classed(err))
	}
	cmd := exec.CommandContext(ctx, p.File, a.args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.env, os.Stdin, a.stdout, a.stderr
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
		return true, &exitError{code: exit.ExitCode()} // it has said why
	}
	return true, infrastructure(fmt.Errorf("csiglab with the modules: %w", err))
}

// temporaryFolder makes a folder for what a command needs while it runs, beside the builds or,
// where these have none, in the system's. What kill -9 leaves there goes with csiglab clean.
func temporaryFolder() (folder string, remove func(), err error) {
	if folder, remove, err = builder.Temporary(); err == nil {
		return folder, remove, nil
	}
	t, err := own.NewTemporary("", own.Scratch)
	if err != nil {
		return "", nil, infrastructure(err)
	}
	return t.Dir, func() { t.Remove() }, nil
}

// handOverWith is handOver to a csiglab with modules as they stand.
func (a *app) handOverWith(ctx context.Context, with []string) (done bool, err error) {
	r := revision.Request{Ref: revision.Ref{Kind: revision.Self}}
	if r.With, err = builder.ParseWiths(with); err != nil {
		return false, usage("%w", err)
	}
	return a.handOver(ctx, r)
}
