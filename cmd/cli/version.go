package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

func versionCommand(a *command.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the modules that csiglab build has compiled in",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.PrintJSON(struct {
					Version string              `json:"version"`
					Go      string              `json:"go"`
					Modules []builder.Described `json:"modules"`
				}{command.Version(), runtime.Version(), builder.Contents()})
			}
			return a.Print(versionText())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}

// versionText is what csiglab version and csiglab --version print.
func versionText() string {
	return fmt.Sprintf("csiglab %s, %s %s/%s\n%s", command.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, modulesText(builder.Contents()))
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
