package experiments

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// firstExperiment is the experiment that init writes, with NAME in place of its name, and
// firstJob the one of init --job.
//
//go:embed init.yaml
var firstExperiment string

//go:embed job.yaml
var firstJob string

func initCommand(a *command.App) *cobra.Command {
	var job bool
	var from string
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Write NAME.yaml, an experiment to begin with: it runs in seconds, and comments explain each part",
		Long: "Write NAME.yaml, an experiment to begin with. It runs as it is, in seconds and without root: three flows on a\n" +
			"fat tree, two variants and what is expected of them. Comments explain each part. With --job it is a training\n" +
			"job: steps of a 70B model on 64 GPUs, in a fabric whose oversubscription is one line. With --from it is a copy\n" +
			"of an experiment that is built in. A file is never overwritten.",
		Example: "  csiglab init mine\n  csiglab run mine.yaml\n  csiglab init my-job --job\n  csiglab init my-step --from training-step",
		Args:    command.One("a name for the experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if err := checkName(name); err != nil {
				return err
			}
			text, files := strings.ReplaceAll(firstExperiment, "NAME", name), map[string][]byte(nil)
			switch copied := cmd.Flags().Changed("from"); {
			case job && copied:
				return command.Usage("--job and --from exclude each other: each says what the experiment is")
			case job:
				text = strings.ReplaceAll(firstJob, "NAME", name)
			case copied:
				var err error
				if text, files, err = copyOf(from, name); err != nil {
					return err
				}
			}
			file := name + ".yaml"
			if err := createAll(file, text, files); err != nil {
				return err
			}
			wrote := "wrote  " + file + "\n"
			for _, other := range slices.Sorted(maps.Keys(files)) {
				wrote += "       " + other + "\n"
			}
			return a.Print(fmt.Sprintf("%[2]snext   csiglab validate %[1]s\n       csiglab run %[1]s\n", file, wrote))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&job, "job", false, "write a training job")
	f.StringVar(&from, "from", "", "write a copy of `EXPERIMENT`, which is built in; csiglab list experiments names them")
	command.CompleteFlag(cmd, "from", experiment.Names())
	return cmd
}

// nameLine is the line of an experiment that has its name.
var nameLine = regexp.MustCompile(`(?m)^name: [a-z0-9-]+`)

// copyOf returns the text of an embedded experiment under another name, and the files that it
// reads.
func copyOf(from, name string) (text string, files map[string][]byte, err error) {
	if names := experiment.Names(); !slices.Contains(names, from) {
		return "", nil, command.Usage("--from %q: no experiment of this name is built in; those that are: %s%s", from, strings.Join(names, " "), command.DidYouMean(from, names))
	}
	data, files := experiment.Embedded(from)
	return nameLine.ReplaceAllLiteralString(string(data), "name: "+name), files, nil
}

// createAll writes an experiment and the files that it reads. If one of them is there, it writes
// none.
func createAll(file, text string, files map[string][]byte) error {
	for _, name := range append([]string{file}, slices.Sorted(maps.Keys(files))...) {
		if _, err := os.Lstat(name); err == nil {
			return command.Exists(name)
		}
	}
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return command.Usage("%s: %w", filepath.Dir(name), cause.Of(err))
		}
		if err := command.Create(name, string(data)); err != nil {
			return err
		}
	}
	return command.Create(file, text)
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
