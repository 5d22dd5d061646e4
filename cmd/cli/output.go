package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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

// result prints a value as JSON, or else its text.
func (a *app) result(asJSON bool, v any, text func() string) error {
	if asJSON {
		return a.printJSON(v)
	}
	return a.print(text())
}

// command returns the command line, for files that say how they were made.
func (a *app) command() []string { return append([]string{"csiglab"}, a.args...) }

// say prints a message that is not part of the result.
func (a *app) say(text string) { fmt.Fprintln(a.stderr, text) }

// notes prints which assumptions were made and which input is not used.
func (a *app) notes(list []string) {
	for _, n := range list {
		fmt.Fprintln(a.stderr, "note:", n)
	}
}

// stdoutName stands for standard output.
const stdoutName = "-"

// output is the target that --out names: standard output, or a file. The file is
// begun at the first write, so that a command that fails before it leaves an older
// file alone; so does one that fails later, as the file gets its name at the end.
type output struct {
	name string // in messages
	flag string // that has named it, in messages; "": --out
	// stream: what has been written counts whatever happens then, so it is written under
	// its name at once.
	stream bool
	to     io.Writer
	part   *own.Part // to, if it is a file
	failed error     // the first, with its exit code
}

// output returns the output of a name.
func (a *app) output(name string) *output {
	if name == stdoutName {
		return &output{name: "standard output", to: a.stdout}
	}
	return &output{name: name}
}

// streamed returns the output of a name for what grows until the user ends it.
func (a *app) streamed(name string) *output {
	o := a.output(name)
	o.stream = true
	return o
}

// write writes a whole result to the output of a name.
func (a *app) write(name string, data []byte) error {
	o := a.output(name)
	_, err := o.Write(data)
	return o.end(err)
}

func (o *output) Write(data []byte) (n int, err error) {
	if o.to == nil {
		if o.stream {
			o.part, err = own.Output(o.name)
		} else {
			o.part, err = own.Create(o.name, 0o644)
		}
		if err != nil {
			o.failed = usage("%s %s: %w", cmp.Or(o.flag, "--out"), o.name, cause.Of(err))
			return 0, o.failed
		}
		o.to, o.name = o.part, cmp.Or(o.flag, "--out")+" "+o.name
	}
	if n, err = o.to.Write(data); err != nil {
		o.fail(err)
	}
	return n, err
}

// end puts the file in its place, unless err or an error before it says that it is not
// whole. It returns the first error of the output, or else err.
func (o *output) end(err error) error {
	if o.part != nil {
		if o.stream || o.failed == nil && err == nil {
			if err := o.part.Commit(); err != nil {
				o.fail(err)
			}
		}
		o.part.Discard()
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
