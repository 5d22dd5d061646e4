package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// firstExperiment is the experiment that init writes, with NAME in place of its name.
//
//go:embed init.yaml
var firstExperiment string

func (a *app) init() *cobra.Command {
	return &cobra.Command{
		Use:   "init NAME",
		Short: "Write NAME.yaml, an experiment to begin with: it runs in seconds, and comments explain each part",
		Long: "Write NAME.yaml, an experiment to begin with. It runs as it is, in seconds and without root: three flows on a\n" +
			"fat tree, two variants and what is expected of them. Comments explain each part. A file is never overwritten.",
		Example: "  csiglab init mine\n  csiglab run mine.yaml",
		Args:    one("a name for the experiment"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if err := checkName(name); err != nil {
				return err
			}
			file := name + ".yaml"
			if err := create(file, strings.ReplaceAll(firstExperiment, "NAME", name)); err != nil {
				return err
			}
			return a.print(fmt.Sprintf("wrote  %[1]s\nnext   csiglab validate %[1]s\n       csiglab run %[1]s\n", file))
		},
	}
}

// checkName refuses what is no name of an experiment.
func checkName(name string) error {
	if slices.Contains(experiment.Names(), name) {
		return usage("%q is the name of an experiment that is built in; choose another", name)
	}
	err := experiment.CheckName(name)
	if err == nil {
		return nil
	}
	hint := ""
	if likely := asName(strings.TrimSuffix(name, ".yaml")); experiment.CheckName(likely) == nil {
		hint = fmt.Sprintf(" (did you mean %q?)", likely)
	}
	return usage("%w%s", err, hint)
}

// create writes a file that is not there yet.
func create(name, text string) error {
	file, err := own.CreateNew(name, 0o644)
	if err != nil {
		return usage("%s: %w", name, cause.Of(err))
	}
	defer file.Discard()
	if _, err = file.Write([]byte(text)); err == nil {
		err = file.Commit()
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return usage("%s is there already and is not overwritten; choose another name, or remove it", name)
	case err != nil:
		return infrastructure(fmt.Errorf("%s: %w", name, cause.Of(err)))
	}
	return nil
}
