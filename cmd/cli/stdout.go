package cli

import (
	"io"
)

// watched is a writer that keeps the first error. Not every command looks at the error
// of each line that it prints.
type watched struct {
	io.Writer
	err error
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}
