package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
)

// Print writes a result on standard output.
func (a *App) Print(text string) error {
	return a.Write(StdoutName, []byte(text))
}

// PrintJSON writes a result in JSON on standard output.
func (a *App) PrintJSON(v any) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return Infrastructure(err)
	}
	return a.Print(text.String())
}

// Result prints a value as JSON, or else its text.
func (a *App) Result(asJSON bool, v any, text func() string) error {
	if asJSON {
		return a.PrintJSON(v)
	}
	return a.Print(text())
}

// Command returns the command line, for files that say how they were made.
func (a *App) Command() []string { return append([]string{"csiglab"}, a.Args...) }

// Say prints a message that is not part of the result.
func (a *App) Say(text string) { fmt.Fprintln(a.Stderr, text) }

// Notes prints which assumptions were made and which input is not used.
func (a *App) Notes(list []string) {
	for _, n := range list {
		fmt.Fprintln(a.Stderr, "note:", n)
	}
}

// StdoutName stands for standard output.
const StdoutName = "-"

// Output is the target that --out names: standard output, or a file. The file is
// begun at the first write, so that a command that fails before it leaves an older
// file alone; so does one that fails later, as the file gets its name at the end.
type Output struct {
	name string // in messages
	Flag string // that has named it, in messages; "": --out
	// stream: what has been written counts whatever happens then, so it is written under
	// its name at once.
	stream bool
	to     io.Writer
	part   *own.Part // to, if it is a file
	failed error     // the first, with its exit code
}

// Output returns the output of a name.
func (a *App) Output(name string) *Output {
	if name == StdoutName {
		return &Output{name: "standard output", to: a.Stdout}
	}
	return &Output{name: name}
}

// Streamed returns the output of a name for what grows until the user ends it.
func (a *App) Streamed(name string) *Output {
	o := a.Output(name)
	o.stream = true
	return o
}

// Write writes a whole result to the output of a name.
func (a *App) Write(name string, data []byte) error {
	o := a.Output(name)
	_, err := o.Write(data)
	return o.End(err)
}

func (o *Output) Write(data []byte) (n int, err error) {
	if o.to == nil {
		if o.stream {
			o.part, err = own.Output(o.name)
		} else {
			o.part, err = own.Create(o.name, 0o644)
		}
		if err != nil {
			o.failed = Usage("%s %s: %w", cmp.Or(o.Flag, "--out"), o.name, cause.Of(err))
			return 0, o.failed
		}
		o.to, o.name = o.part, cmp.Or(o.Flag, "--out")+" "+o.name
	}
	if n, err = o.to.Write(data); err != nil {
		o.fail(err)
	}
	return n, err
}

// End puts the file in its place, unless err or an error before it says that it is not
// whole. It returns the first error of the output, or else err.
func (o *Output) End(err error) error {
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

func (o *Output) fail(err error) {
	if o.failed == nil {
		o.failed = Infrastructure(fmt.Errorf("%s: %w", o.name, cause.Of(err)))
	}
}

// Exists is the error of a file that is not overwritten.
func Exists(name string) error {
	return Usage("%s is there already and is not overwritten; choose another name, or remove it", name)
}

// Create writes a file that is not there yet.
func Create(name, text string) error {
	file, err := own.CreateNew(name, 0o644)
	if err != nil {
		return Usage("%s: %w", name, cause.Of(err))
	}
	defer file.Discard()
	if _, err = file.Write([]byte(text)); err == nil {
		err = file.Commit()
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return Exists(name)
	case err != nil:
		return Infrastructure(fmt.Errorf("%s: %w", name, cause.Of(err)))
	}
	return nil
}
