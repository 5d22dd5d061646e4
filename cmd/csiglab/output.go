package main

import (
	"fmt"
	"io"
	"os"

	"github.com/csiglab/csiglab/internal/cause"
)

// stdoutName stands for standard output.
const stdoutName = "-"

// output is what --out names: standard output, or a file that is created when
// there is something to write, so that what cannot begin leaves what was there.
type output struct {
	name   string // as messages have it
	to     io.Writer
	file   *os.File // to, if it is to be closed
	failed error    // the first, with its exit code
}

// output returns the output of a name.
func (a *app) output(name string) *output {
	if name == stdoutName {
		return &output{name: "standard output", to: a.stdout}
	}
	return &output{name: name}
}

// write writes what is whole.
func (a *app) write(name string, data []byte) error {
	o := a.output(name)
	_, err := o.Write(data)
	return o.end(err)
}

func (o *output) Write(data []byte) (n int, err error) {
	if o.to == nil {
		if o.file, err = os.Create(o.name); err != nil {
			o.file, o.failed = nil, usage("--out %s: %w", o.name, cause.Of(err))
			return 0, o.failed
		}
		o.to, o.name = o.file, "--out "+o.name
	}
	if n, err = o.to.Write(data); err != nil {
		o.fail(err)
	}
	return n, err
}

// end closes the file. It returns what was wrong with it, or else err.
func (o *output) end(err error) error {
	if o.file != nil {
		if err := o.file.Close(); err != nil {
			o.fail(err)
		}
	}
	if o.failed != nil {
		return o.failed
	}
	return err
}

func (o *output) fail(err error) {
	if o.failed == nil {
		o.failed = infrastructure(fmt.Errorf("%s: %w", o.name, cause.Of(err)))
	}
}
