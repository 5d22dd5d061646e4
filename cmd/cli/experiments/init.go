package experiments

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// firstExperiment is the experiment that init writes, with NAME in place of its name.
//
//go:embed init.yaml
var firstExperiment string

func initCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:   "init NAME",
		Short: "Write NAME.yaml, an experiment to begin with: it runs in seconds, and comments explain each part",
		Long: "Write NAME.yaml, an experiment to begin with. It runs as it is, in seconds and without root: three flows on a\n" +
			"fat tree, two variants and what is expected of them. Comments explain each part. A file is never overwritten.",
		Example: "  csiglab init mine\n  csiglab run mine.yaml",
		Args:    command.One("a name for the experiment"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if err := checkName(name); err != nil {
				return err
			}
			file := name + ".yaml"
			if err := command.Create(file, strings.ReplaceAll(firstExperiment, "NAME", name)); err != nil {
				return err
			}
			return a.Print(fmt.Sprintf("wrote  %[1]s\nnext   csiglab validate %[1]s\n       csiglab run %[1]s\n", file))
		},
	}
}

// checkName refuses what is no name of an experiment.
func checkName(name string) error {
	if slices.Contains(experiment.Names(), name) {
		return command.Usage("%q is the name of an experiment that is built in; choose another", name)
	}
	err := experiment.CheckName(name)
	if err == nil {
		return nil
	}
	hint := ""
	if likely := experiment.AsName(strings.TrimSuffix(name, ".yaml")); experiment.CheckName(likely) == nil {
		hint = fmt.Sprintf(" (did you mean %q?)", likely)
	}
	return command.Usage("%w%s", err, hint)
}
