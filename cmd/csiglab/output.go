package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
)

// print writes a result on standard output.
func (a *app) print(text string) error {
	return a.write(stdoutName, []byte(text))
}

func (a *app) printJSON(v any) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return infrastructure(err)
	}
	return a.print(text.String())
}

// say prints a message that is not part of the result.
func (a *app) say(text string) { fmt.Fprintln(a.stderr, text) }

// notes prints which assumptions were made and which input is not used.
func (a *app) notes(list []string) {
	for _, n := range list {
		fmt.Fprintln(a.stderr, "note:", n)
	}
}

// replaceFile writes a file atomically: a reader sees the old or the new one.
func replaceFile(name string, data []byte) error {
	fresh, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return err
	}
	if _, err = fresh.Write(data); err == nil {
		err = moveTo(name, fresh)
	}
	if err != nil {
		fresh.Close()
		os.Remove(fresh.Name()) // the first error is the cause
	}
	return err
}

// moveTo closes a file and gives it another name.
func moveTo(name string, file *os.File) error {
	if err := cmp.Or(file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// stdoutName stands for standard output.
const stdoutName = "-"

// output is the target that --out names: standard output, or a file. The file is
// created at the first write, so that a command that fails before it leaves an older
// file alone.
type output struct {
	name   string // in messages
	flag   string // that has named it, in messages; "": --out
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

// write writes a whole result to the output of a name.
func (a *app) write(name string, data []byte) error {
	o := a.output(name)
	_, err := o.Write(data)
	return o.end(err)
}

func (o *output) Write(data []byte) (n int, err error) {
	if o.to == nil {
		if o.file, err = own.Output(o.name); err != nil {
			o.file, o.failed = nil, usage("%s %s: %w", cmp.Or(o.flag, "--out"), o.name, cause.Of(err))
			return 0, o.failed
		}
		o.to, o.name = o.file, cmp.Or(o.flag, "--out")+" "+o.name
	}
	if n, err = o.to.Write(data); err != nil {
		o.fail(err)
	}
	return n, err
}

// end closes the file. It returns the first error of the output, or else err.
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
