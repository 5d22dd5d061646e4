package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Exit codes (docs/reference/run-folder.md#exit-codes).
const (
	exitOK             = 0 // all expectations held
	exitFailed         = 1 // an expectation failed
	exitUsage          = 2 // usage or configuration
	exitInfrastructure = 3 // the run is invalid, or the infrastructure failed
	exitInconclusive   = 4 // a comparison came to no verdict
)

// exitError ends the command with a code. A nil err means that the user has already
// been shown the reason.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// misuse gives an error of the user its exit code.
func misuse(err error) error { return &exitError{code: exitUsage, err: err} }

// infrastructure gives an error of the machine its exit code.
func infrastructure(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitInfrastructure, err: err}
}

// printed reports whether the user has already been shown the error.
func printed(err error) bool {
	var exit *exitError
	return errors.As(err, &exit) && exit.err == nil
}

// exitCode returns the exit code of an error. An error without a code comes from
// cobra, which checks flags and arguments.
func exitCode(err error) int {
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, context.Canceled):
		return exitInfrastructure // an interrupted run has no result
	}
	return exitUsage
}

// folderError gives an error of a run folder its exit code. A name that is no run
// folder is a mistake of the user; a folder without a whole run is a fault of the run.
func folderError(err error) error {
	if errors.Is(err, runfolder.ErrIncomplete) {
		err = fmt.Errorf("%w; csiglab run --resume RUN does what is missing", err)
	}
	damaged := errors.Is(err, runfolder.ErrDamaged) || errors.Is(err, runfolder.ErrIncomplete)
	if !damaged && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, runfolder.ErrForeign) || errors.Is(err, fs.ErrPermission)) {
		return misuse(err)
	}
	return infrastructure(err)
}

// dead returns the error of a run whose csiglab has died.
func dead(r runs.Run) error {
	return infrastructure(fmt.Errorf("run %s is dead: its csiglab is gone; csiglab clean %s removes the rest", r.ID, r.ID))
}

// foreign returns the error of a run of another csiglab.
func foreign(r runs.Run) error {
	return usage("run %s is of another csiglab, which alone knows its nodes and can end it in order", r.ID)
}

// labError gives an error about a lab its exit code. A wrong name is a mistake of the
// user.
func labError(err error) error {
	var unknown *runs.UnknownError
	var ambiguous *runs.AmbiguousError
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{code: exitInfrastructure, err: errors.New("interrupted")}
	case errors.As(err, &unknown) || errors.As(err, &ambiguous):
		return misuse(err)
	}
	return infrastructure(err)
}
