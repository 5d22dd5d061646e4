// Package command is what all commands of csiglab share: streams, settings, exit codes, errors of
// the user and of the infrastructure, and what other programs are linked with. It has no command.
package command

import (
	"io"

	"github.com/csiglab/csiglab/cmd/cli/settings"
)

// App is the state that the commands share. A command is a function of it.
type App struct {
	Linked         Linked
	Work           Work
	Args           []string // of the command line, without the program
	Env            []string
	Called         bool // by csiglab, which has told the user of what it found so far
	Stdout, Stderr io.Writer
	Values         settings.Values // of the command that runs
}
