package orchestrator

import "errors"

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
