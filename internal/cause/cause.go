// Package cause says why a file cannot be used, for messages that name the file
// already.
package cause

import (
	"errors"
	"io/fs"
)

// Of strips the operation and the path from an error of a file, and returns other
// errors as they are.
func Of(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
