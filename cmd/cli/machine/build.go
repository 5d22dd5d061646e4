package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

func buildCommand(a *command.App) *cobra.Command {
	var with, also []string
	var source, output string
	cmd := &cobra.Command{
		Use:   "build --with MODULE[=FOLDER]... [-o FILE]",
		Short: "Build a csiglab with algorithms of your own, from Go modules that register them",
		Long: "Build csiglab and the node programs with Go modules that register algorithms (cc, lb, aqm), topologies or\n" +
			"workloads under new names; docs/how-to/extend.md has an example. It needs a Go toolchain. MODULE is of a folder with\n" +
			"=FOLDER, or else of a version, as in MODULE@v1.2.3. The new csiglab is FILE; its node programs are in\n" +
			"FILE" + builder.ProgramsFolder("") + ". --also adds what containers, a cluster or serve need. What was built before\n" +
			"from the same source comes from the cache.",
		Example: "  csiglab build --with example.com/relay=./relay -o bin/csiglab-relay\n  bin/csiglab-relay list cc",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := builder.Request{Also: slices.Compact(slices.Sorted(slices.Values(also))), Source: source, Linked: command.SourceFolder, Say: a.Say}
			if len(with) == 0 {
				return command.Usage("--with is missing: it names a Go module that registers algorithms; see csiglab build --help")
			}
			for _, text := range with {
				w, err := builder.ParseWith(text)
				if err != nil {
					return command.Usage("--with %s: %w", text, err)
				}
				r.With = append(r.With, w)
			}
			for _, name := range also {
				if !slices.Contains(programs.Siblings, name) {
					return command.Usage("--also %s: want one of %s%s", name, strings.Join(programs.Siblings, ", "), command.DidYouMean(name, programs.Siblings))
				}
			}
			var err error
			if r.Output, err = outputFile(output); err != nil {
				return err
			}
			result, err := builder.Build(cmd.Context(), r)
			if err != nil {
				return buildError(err)
			}
			return a.Print(builtText(result))
		},
	}
	cmd.Flags().StringArrayVar(&with, "with", nil, "Go module to compile in: `MODULE[=FOLDER]` or MODULE@VERSION; may be repeated")
	cmd.Flags().StringArrayVar(&also, "also", nil, "a `PROGRAM` to build too: "+strings.Join(programs.Siblings, ", ")+"; may be repeated")
	cmd.Flags().StringVarP(&output, "output", "o", "csiglab", "`file` to write, or a folder for a file csiglab")
	cmd.Flags().StringVar(&source, "csiglab", "", "csiglab's own source: a folder, or a `version`; default: what this csiglab was built from")
	return cmd
}

// outputFile returns the absolute name of the file to write.
func outputFile(name string) (string, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "csiglab")
	}
	if info, err := os.Stat(filepath.Dir(name)); name == "" || err != nil || !info.IsDir() {
		return "", command.Usage("-o %s: no folder %s", name, filepath.Dir(name))
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() && info.Mode()&os.ModeSymlink == 0 {
		return "", command.Usage("-o %s: it is no regular file", name)
	}
	return filepath.Abs(name)
}

// buildError gives an error of the builder its exit code.
func buildError(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return command.Infrastructure(errors.New("interrupted; what was begun is removed"))
	case errors.Is(err, builder.ErrInput):
		return command.Misuse(err)
	}
	return command.Infrastructure(err)
}

// builtText says what was built.
func builtText(r *builder.Result) string {
	how := "compiled in " + r.Took.Round(100*time.Millisecond).String()
	if r.Cached {
		how = "from the cache"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "wrote   %s, %s\n        %s\nsource  %s\n%s", r.Output, how, r.Programs, r.Source, modulesText(r.Modules))
	return text.String()
}

// modulesText lists modules and what they register.
func modulesText(list []builder.Described) string {
	var text strings.Builder
	for _, m := range list {
		fmt.Fprintf(&text, "module  %s\n", m.Module)
		for _, e := range m.Registers {
			fmt.Fprintf(&text, "        %s %s\n", e.Kind, e.Name)
		}
	}
	return text.String()
}
