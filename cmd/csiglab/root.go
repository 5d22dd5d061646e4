package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/runs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Exit codes (docs/metrics.md#exit-codes). 4, inconclusive, is for comparisons.
const (
	exitOK             = 0 // all expectations held
	exitFailed         = 1 // an expectation failed
	exitUsage          = 2 // usage or configuration
	exitInfrastructure = 3 // the run is invalid, or the infrastructure failed
)

// exitError ends the command with a code. A nil err means that the user has already
// been shown the reason.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// infrastructure gives an error of the machine its exit code.
func infrastructure(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitInfrastructure, err}
}

// app is what the commands share.
type app struct {
	lab            lab
	args           []string // of the command line, without the program
	env            []string
	stdout, stderr io.Writer
}

// execute runs the command line and returns the exit code. Results go to
// stdout, everything else to stderr.
func execute(ctx context.Context, l lab, args, env []string, stdout, stderr io.Writer) int {
	a := &app{lab: l, args: args, env: env, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if !printed(err) {
		fmt.Fprintf(stderr, "csiglab: %v\n", err)
	}
	return exitCode(err)
}

// printed reports whether the user has already been shown the error.
func printed(err error) bool {
	var exit *exitError
	return errors.As(err, &exit) && exit.err == nil
}

// exitCode classifies an error. What nobody classified comes from cobra, which
// checks flags and arguments.
func exitCode(err error) int {
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, context.Canceled):
		return exitInfrastructure // an interrupted run has no result
	}
	return exitUsage
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "csiglab",
		Short: "What does my change do to a training step, on a real topology, with real packets?",
		Long: "csiglab runs experiments with congestion control, load balancing and CSIG on a fabric of\n" +
			"switches and hosts, in virtual time or with real frames, and tells what came of them.\n\n" +
			"Exit codes: 0 all expectations held, 1 an expectation failed, 2 usage or configuration,\n" +
			"3 the run is invalid or the infrastructure failed.",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			return usage("unknown command %q%s; see csiglab --help", args[0], didYouMean(args[0], names))
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.fromEnvironment(cmd) },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		hint := ""
		if name, ok := strings.CutPrefix(err.Error(), "unknown flag: "); ok {
			hint = didYouMean(name, names)
		}
		var value *pflag.InvalidValueError
		if errors.As(err, &value) {
			err = wrongValue(value)
		}
		return usage("%w%s; see %s --help", err, hint, cmd.CommandPath())
	})
	root.AddCommand(a.demo(), a.run(), a.report(), a.validate(), a.graph(), a.topo(), a.list(), a.doctor(), a.probe(), a.capture(), a.dissector(), a.version())
	if a.lab.list != nil {
		root.AddCommand(a.up(), a.hold(), a.down(), a.ps(), a.inspect(), a.exec(), a.clean())
	}
	return root
}

// wrongValue says what a flag wants instead of which function did not parse it.
func wrongValue(err *pflag.InvalidValueError) error {
	want, ok := map[string]string{"int": "a whole number", "bool": "true or false"}[err.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("invalid argument %q for %q flag: want %s", err.GetValue(), "--"+err.GetFlag().Name, want)
}

func didYouMean(text string, known []string) string {
	if near := spelling.Nearest(text, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// settings are the flags that an environment variable can set too, because they
// are about csiglab and not about one experiment: CSIGLAB_OUT and so on.
var settings = []string{"out", "payload", "processes", "parallel"}

// noSetting annotates a flag that has the name of a setting and another meaning.
const noSetting = "no setting"

func variable(flag string) string {
	return "CSIGLAB_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment gives each setting that is not on the command line the value
// of its variable.
func (a *app) fromEnvironment(cmd *cobra.Command) error {
	layers := viper.New()
	for _, pair := range a.env {
		name, value, _ := strings.Cut(pair, "=")
		for _, flag := range settings {
			if name == variable(flag) {
				layers.SetDefault(flag, value)
			}
		}
	}
	for _, name := range settings {
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			continue
		}
		if _, own := flag.Annotations[noSetting]; own {
			continue
		}
		if err := layers.BindPFlag(name, flag); err != nil {
			return fmt.Errorf("flag --%s: %w", name, err)
		}
		value := layers.GetString(name)
		if flag.Changed || value == flag.DefValue || value == "" {
			continue
		}
		if err := flag.Value.Set(value); err != nil {
			return usage("environment variable %s: %q: %w", variable(name), value, err)
		}
	}
	return nil
}

// reserved are the variables that are not an experiment's.
func reserved() []string {
	// The first asks the tests for the slow ones, the others mark what runs in a node.
	names := []string{"CSIGLAB_E2E", runs.EnvironmentRun, runs.EnvironmentNode}
	for _, flag := range settings {
		names = append(names, variable(flag))
	}
	return names
}

// choice checks a flag with a fixed set of values.
func choice(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return usage("--%s %q: want one of %s%s", flag, value, strings.Join(known, ", "), didYouMean(value, known))
}

// folderError gives an error of a run folder its exit code: a name that is no
// run folder is the user's, one that does not hold a whole run is the run's.
func folderError(err error) error {
	damaged := errors.Is(err, runfolder.ErrDamaged) || errors.Is(err, runfolder.ErrIncomplete)
	if !damaged && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, runfolder.ErrForeign) || errors.Is(err, fs.ErrPermission)) {
		return &exitError{exitUsage, err}
	}
	return &exitError{exitInfrastructure, err}
}
