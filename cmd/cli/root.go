package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// app is the state that the commands share.
type app struct {
	linked         Linked
	lab            lab
	args           []string // of the command line, without the program
	env            []string
	called         bool // by csiglab, which has told the user of what it found so far
	stdout, stderr io.Writer
	values         settings.Values // of the command that runs
}

// execute runs the command line and returns the exit code. Results go to
// stdout, everything else to stderr.
func execute(ctx context.Context, linked Linked, l lab, args, env []string, stdout, stderr io.Writer) int {
	results := &watched{Writer: stdout}
	env, called, err := checkCaller(env)
	a := &app{linked: linked, lab: l, args: args, env: env, called: called, stdout: results, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetErr(stderr)
	if err == nil {
		err = checkModules()
	}
	if err == nil {
		err = checkResources()
	}
	if err == nil {
		err = guarded(func() error { return root.ExecuteContext(ctx) })
	}
	var elsewhere *programs.ElsewhereError
	if errors.As(err, &elsewhere) && l.become != nil {
		err = l.become(ctx, a, elsewhere.Program)
	}
	if results.err != nil && (err == nil || exitCode(err) < exitInfrastructure) {
		if err != nil && !printed(err) {
			fmt.Fprintf(stderr, "csiglab: %v\n", err)
		}
		err = infrastructure(fmt.Errorf("standard output: %w", cause.Of(results.err)))
	}
	if err == nil {
		return exitOK
	}
	if !printed(err) {
		fmt.Fprintf(stderr, "csiglab: %v\n", err)
	}
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
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
		Version:       buildVersion(),
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
			return usage("unknown command %q%s; see csiglab --help", args[0], didYouMean(args[0], names))
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			notes, err := a.settle(cmd)
			if !cmd.Hidden && !a.called {
				a.notes(notes)
			}
			if err != nil {
				return err
			}
			return a.elsewhere(cmd)
		},
	}
	root.SetVersionTemplate(versionText())
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
	root.AddCommand(a.demo(), a.init(), a.run(), a.check(), a.report(), a.export(), a.serve(), a.grafana(), a.validate(), a.graph(), a.topo(), a.list(), a.schema(), a.doctor(), a.selftest(), a.probe(), a.shard(), a.measure(), a.capture(), a.dissector(), a.build(), a.workload(), a.jobs(), a.regress(), a.bisect(), a.baseline(), a.sweep(), a.stress(), a.compare(), a.trial(), a.version())
	root.AddCommand(a.image(), a.config(), a.page())
	if a.lab.list != nil {
		root.AddCommand(a.up(), a.hold(), a.down(), a.ps(), a.inspect(), a.exec(), a.top(), a.clean(), a.scrapeConfig(), a.ui())
	}
	completeSettings(root)
	root.SetOut(a.stdout) // the command completion takes it when group makes it
	group(root)
	return root
}

// wrongValue names the values that a flag accepts, in place of the function that
// failed to parse one.
func wrongValue(err *pflag.InvalidValueError) error {
	want, ok := map[string]string{"int": "a whole number", "uint64": "a whole number from 0", "bool": "true or false"}[err.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("invalid argument %q for %q flag: want %s", err.GetValue(), "--"+err.GetFlag().Name, want)
}

func didYouMean(text string, known []string) string {
	return spelling.Hint(spelling.Nearest(text, known))
}
