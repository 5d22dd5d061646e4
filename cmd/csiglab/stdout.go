package main

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// stdoutAtEntry is what fcntl(2) said of standard output before Go's own start: an error
// number below 0, or the descriptor's flags. It is notRecorded in a program that was
// linked without the entry point.
var stdoutAtEntry int64 = notRecorded

const notRecorded = 1 << 62

// standardOutput returns the writer for results. If the caller has closed standard
// output, it is one that fails.
func standardOutput() io.Writer {
	if stdoutAtEntry == -int64(syscall.EBADF) {
		return closedOutput{}
	}
	return os.Stdout
}

// closedOutput is an output that the caller has closed.
type closedOutput struct{}

func (closedOutput) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.EBADF}
}

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
