package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/machine"
	"github.com/csiglab/csiglab/cmd/cli/resources"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// execute runs the command line and returns the exit code. Results go to
// stdout, everything else to stderr.
func execute(ctx context.Context, linked command.Linked, l command.Work, args, env []string, stdout, stderr io.Writer) int {
	results := &command.Watched{Writer: stdout}
	env, called, err := checkCaller(env)
	a := &command.App{Linked: linked, Work: l, Args: args, Env: env, Called: called, Stdout: results, Stderr: stderr}
	root := root(a)
	root.SetArgs(args)
	root.SetErr(stderr)
	if err == nil {
		err = checkModules()
	}
	if err == nil {
		err = resources.Check()
	}
	if err == nil {
		err = guarded(func() error { return root.ExecuteContext(ctx) })
	}
	var elsewhere *programs.ElsewhereError
	if errors.As(err, &elsewhere) && l.Become != nil {
		err = l.Become(ctx, a, elsewhere.Program)
	}
	if errors.Is(results.Err, syscall.EPIPE) {
		if err != nil && !command.Printed(err) && !errors.Is(err, syscall.EPIPE) {
			fmt.Fprintf(stderr, "csiglab: %v\n", err)
		}
		return command.ExitPipe
	}
	if results.Err != nil && (err == nil || command.ExitCode(err) < command.ExitInfrastructure) {
		if err != nil && !command.Printed(err) {
			fmt.Fprintf(stderr, "csiglab: %v\n", err)
		}
		err = command.Infrastructure(fmt.Errorf("standard output: %w", cause.Of(results.Err)))
	}
	if err == nil {
		return command.ExitOK
	}
	if !command.Printed(err) {
		fmt.Fprintf(stderr, "csiglab: %v\n", err)
	}
	return command.ExitCode(err)
}

func root(a *command.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "csiglab",
		Short: "What does my change do to a training step, on a real topology, with real packets?",
		Long: "csiglab runs experiments with congestion control, load balancing and CSIG on a fabric of\n" +
			"switches and hosts, in virtual time or with real frames, and reports the results.\n\n" +
			"Exit codes: 0 all expectations held, or nothing has become worse; 1 an expectation failed, or something has\n" +
			"become worse; 2 usage or configuration; 3 the run is invalid or the infrastructure failed; 4 a comparison\n" +
			"is inconclusive.",
		Example: "  csiglab demo                # a first experiment\n" +
			"  csiglab init mine           # writes mine.yaml, an experiment with comments\n" +
			"  csiglab run mine.yaml\n" +
			"  csiglab regress standard --baseline git:main   # has a change made something worse?\n" +
			"  source <(csiglab completion bash)",
		Version:       command.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			return command.Usage("unknown command %q%s; see csiglab --help", args[0], command.DidYouMean(args[0], names))
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			notes, err := a.Settle(cmd)
			if !cmd.Hidden && !a.Called {
				a.Notes(notes)
			}
			if err != nil {
				return err
			}
			return a.Elsewhere(cmd)
		},
	}
	root.SetVersionTemplate(machine.VersionText())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		hint := ""
		if name, ok := strings.CutPrefix(err.Error(), "unknown flag: "); ok {
			hint = command.DidYouMean(name, names)
		}
		var value *pflag.InvalidValueError
		if errors.As(err, &value) {
			err = wrongValue(value)
		}
		return command.Usage("%w%s; see %s --help", err, hint, cmd.CommandPath())
	})
	group(root, a)
	root.AddCommand(trialsCommand(a))
	command.CompleteSettings(root)
	root.SetOut(a.Stdout)
	return root
}

// wrongValue names the values that a flag accepts, in place of the function that
// failed to parse one.
func wrongValue(err *pflag.InvalidValueError) error {
	want, ok := map[string]string{"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false"}[err.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("invalid argument %q for %q flag: want %s", err.GetValue(), "--"+err.GetFlag().Name, want)
}

// checkModules refuses to start with a module whose algorithms cannot be used.
func checkModules() error {
	if err := modules.Check(); err != nil {
		return command.Misuse(err)
	}
	return nil
}

// guarded calls a command. With modules, it ends with an error when one of their
// algorithms panics or does not return.
func guarded(call func() error) error {
	if len(modules.Compiled()) == 0 {
		return call()
	}
	var err error
	if fault := watchdog.RunAll(func() { err = call() }); fault != nil {
		return command.Infrastructure(fault) // err belongs to the command, which may go on
	}
	return err
}
