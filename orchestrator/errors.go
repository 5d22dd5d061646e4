package orchestrator

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// Classes of error; test with errors.Is. They do not appear in the text.
var (
	// ErrConfiguration is the class of errors that the experiment causes.
	ErrConfiguration = errors.New("configuration")
	// ErrInfrastructure is the class of errors of the machine, not of the
	// experiment: a node died, a frame went missing, the disk is full.
	ErrInfrastructure = errors.New("infrastructure")
)

// classified is an error with a class.
type classified struct {
	error
	class error
}

func (c classified) Is(target error) bool { return target == c.class }
func (c classified) Unwrap() error        { return c.error }

func configuration(err error) error {
	if err == nil {
		return nil
	}
	return classified{err, ErrConfiguration}
}

func infrastructure(err error) error {
	if err == nil {
		return nil
	}
	return classified{err, ErrInfrastructure}
}

// at is a configuration error in the value of a path, or in a value of it that err
// names already.
func at(path string, err error) error {
	var value *experiment.PathError
	if errors.As(err, &value) {
		return configuration(err)
	}
	return configuration(&experiment.PathError{Path: path, Err: err})
}

// atParam places the error of building an algorithm: at the parameter that it is
// about, if any, of the algorithm at path.
func atParam(path string, err error) error {
	var param *algorithm.ParamError
	if errors.As(err, &param) {
		path, err = path+"."+param.Param, param.Err
	}
	return at(path, err)
}

// inVariant says where in a file an error of a variant is, or, if that is no
// single place, which of several variants it is.
func inVariant(set *experiment.Set, variant int, err error) error {
	v := &set.Variants[variant]
	var value *experiment.PathError
	switch {
	case errors.As(err, &value):
		return configuration(v.At(value.Path, value.Err))
	case len(set.Variants) == 1:
		return err
	}
	return fmt.Errorf("variant %s: %w", v.Name, err)
}

// createError is the error of a run folder that cannot be made: the user's, who
// chose its place, unless the machine is at fault.
func createError(folder string, err error) error {
	if errors.Is(err, runfolder.ErrNotEmpty) {
		return configuration(err)
	}
	for _, class := range []error{fs.ErrPermission, fs.ErrNotExist, unix.ENOTDIR, unix.EROFS, unix.ENAMETOOLONG, unix.ELOOP, unix.EINVAL} {
		if errors.Is(err, class) {
			return configuration(fmt.Errorf("run folder %s: %w; choose another with --out", folder, cause.Of(err)))
		}
	}
	return writeError(folder, err)
}

// writeError is the error of a run folder that cannot be written. A full disk
// fails every file of it, which one line tells better.
func writeError(folder string, err error) error {
	var errno unix.Errno
	if diskFull(err) && errors.As(err, &errno) {
		err = fmt.Errorf("run folder %s: %w; make room, or choose another disk with --out", folder, errno)
	}
	return infrastructure(err)
}

func diskFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
