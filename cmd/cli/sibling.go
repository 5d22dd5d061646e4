package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// callerVariable is the environment variable by which csiglab tells the program that takes
// its place what build it is.
const callerVariable = "CSIGLAB_CALLER"

// buildName identifies a build: programs of one are of the same version, with the same modules.
func buildName() string { return strings.TrimSpace(command.Version() + " " + modules.Build()) }

// become puts a sibling in the place of this process, with the same arguments, standard
// streams and signals, so that its exit code is that of this command. It returns only if
// that fails.
func become(ctx context.Context, a *command.App, program string) error {
	if err := ctx.Err(); err != nil {
		return command.Infrastructure(errors.New("interrupted"))
	}
	file, err := programs.Find(program)
	if err != nil {
		return command.Infrastructure(err)
	}
	env := append(slices.Clone(a.Env), callerVariable+"="+buildName())
	err = unix.Exec(file, append([]string{os.Args[0]}, a.Args...), env)
	return command.Infrastructure(fmt.Errorf("start %s: %w", file, cause.Of(err)))
}

// checkCaller refuses to take the place of a csiglab of another build. It removes the
// caller's variable from the environment, and returns the environment without it and whether
// it was there.
func checkCaller(env []string) (rest []string, called bool, err error) {
	caller, called := os.LookupEnv(callerVariable)
	os.Unsetenv(callerVariable) //nolint:errcheck // the name is valid
	rest = slices.DeleteFunc(slices.Clone(env), func(pair string) bool { return strings.HasPrefix(pair, callerVariable+"=") })
	const unknown = "unknown" // of programs that make build has not made, such as tests
	if !called || caller == buildName() || caller == unknown || buildName() == unknown {
		return rest, called, nil
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return rest, called, command.Infrastructure(fmt.Errorf("%s is of version %s, and the csiglab that started it of version %s: make build makes them together", self, buildName(), caller))
}
