package command

import (
	"io"
)

// Watched is a writer that keeps the first error. Not every command looks at the error
// of each line that it prints.
type Watched struct {
	io.Writer
	Err error
}

func (w *Watched) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil && w.Err == nil {
		w.Err = err
	}
	return n, err
}
