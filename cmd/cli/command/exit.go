package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Exit codes (docs/reference/run-folder.md#exit-codes).
const (
	ExitOK             = 0 // all expectations held
	ExitFailed         = 1 // an expectation failed
	ExitUsage          = 2 // usage or configuration
	ExitInfrastructure = 3 // the run is invalid, or the infrastructure failed
	ExitInconclusive   = 4 // a comparison came to no verdict
	// ExitPipe: the reader of standard output has gone, as head does, which is no fault. It is
	// what a shell says of a program that SIGPIPE ended.
	ExitPipe = 128 + int(syscall.SIGPIPE)
)

// ExitError ends the command with a code. A nil err means that the user has already
// been shown the reason.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usage returns an error of the user, with its exit code.
func Usage(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Misuse gives an error of the user its exit code.
func Misuse(err error) error { return &ExitError{Code: ExitUsage, Err: err} }

// Infrastructure gives an error of the machine its exit code.
func Infrastructure(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Code: ExitInfrastructure, Err: err}
}

// Printed reports whether the user has already been shown the error.
func Printed(err error) bool {
	var exit *ExitError
	return errors.As(err, &exit) && exit.Err == nil
}

// ExitCode returns the exit code of an error. An error without a code comes from
// cobra, which checks flags and arguments.
func ExitCode(err error) int {
	var exit *ExitError
	switch {
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, context.Canceled):
		return ExitInfrastructure // an interrupted run has no result
	}
	return ExitUsage
}

// FolderError gives an error of a run folder its exit code. A name that is no run
// folder is a mistake of the user; a folder without a whole run is a fault of the run.
func FolderError(err error) error {
	if errors.Is(err, runfolder.ErrIncomplete) && !errors.Is(err, runfolder.ErrLab) {
		err = fmt.Errorf("%w; csiglab run --resume RUN does what is missing", err)
	}
	damaged := errors.Is(err, runfolder.ErrDamaged) || errors.Is(err, runfolder.ErrIncomplete)
	if !damaged && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, runfolder.ErrForeign) || errors.Is(err, fs.ErrPermission)) {
		return Misuse(err)
	}
	return Infrastructure(err)
}
