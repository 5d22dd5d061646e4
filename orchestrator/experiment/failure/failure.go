// Package failure holds the classes of the orchestrator's errors: those that the
// experiment causes and those of the machine. It also holds the place of an error
// in the experiment. The classes do not appear in an error's text; commands turn
// them into exit codes.
package failure

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// Classes of error; test with errors.Is.
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

// Configuration gives an error the class ErrConfiguration; nil stays nil.
func Configuration(err error) error { return classify(err, ErrConfiguration) }

// Infrastructure gives an error the class ErrInfrastructure; nil stays nil.
func Infrastructure(err error) error { return classify(err, ErrInfrastructure) }

func classify(err, class error) error {
	if err == nil {
		return nil
	}
	return classified{err, class}
}

// At returns a configuration error in the value of a path, such as
// "workload.control_delay". A place that err has already is kept.
func At(path string, err error) error {
	var value *experiment.PathError
	if errors.As(err, &value) {
		return Configuration(err)
	}
	return Configuration(&experiment.PathError{Path: path, Err: err})
}

// AtParam places the error of building an algorithm: at the parameter that it is
// about, if any, of the algorithm at path.
func AtParam(path string, err error) error {
	var param *algorithm.ParamError
	if errors.As(err, &param) {
		path, err = path+"."+param.Param, param.Err
	}
	return At(path, err)
}

// WithoutPlace returns the error that At was given, if err has a place, or err.
func WithoutPlace(err error) (cause error, hadPlace bool) {
	var value *experiment.PathError
	if errors.As(err, &value) {
		return value.Err, true
	}
	return err, false
}

// InVariant adds to an error of a variant its place in the file. If it has none,
// and there are several variants, it names the variant.
func InVariant(set *experiment.Set, variant int, err error) error {
	v := &set.Variants[variant]
	var value *experiment.PathError
	switch {
	case errors.As(err, &value):
		return Configuration(v.At(value.Path, value.Err))
	case len(set.Variants) == 1:
		return err
	}
	return fmt.Errorf("variant %s: %w", v.Name, err)
}

// DiskFull reports whether an error says that a disk or a quota is full.
func DiskFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
