package comparisons

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/history"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	show "github.com/csiglab/csiglab/reports/history"
)

// historyFlags are the flags of csiglab history.
type historyFlags struct {
	chosen
	markdown, html string
	asJSON         bool
}

func historyCommand(a *command.App) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history VERDICT|BASELINE.json...",
		Short: "Show how the metrics of a suite went over revisions",
		Long: "Show how the metrics of a suite went over revisions, in order of time: of each the median over the seeds,\n" +
			"where it changed by more than the noise, and the verdicts.\n\n" +
			"A revision is the candidate of a verdict (the folder of csiglab regress, a folder with such folders, or a\n" +
			"verdict.json), or a baseline file (csiglab baseline save). Of a file in git all versions are revisions.\n" +
			"The exit code is 0 whatever came out.",
		Example: "  csiglab history regressions --html history.html\n" +
			"  csiglab history baselines/standard.json --metric 'fct_us.*'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Usage("name folders of csiglab regress, or files of csiglab baseline save; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return showHistory(a, cmd, &f, args) },
	}
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "also write the history as Markdown into `FILE`; - prints it instead")
	cmd.Flags().StringVar(&f.html, "html", "", "also write it as one HTML page into `FILE`, with a figure for each metric")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the history as JSON instead")
	f.metricsFlag(cmd, "show")
	f.deltaFlag(cmd, "what is no change: a `SHARE` of the value before")
	return cmd
}

func showHistory(a *command.App, cmd *cobra.Command, f *historyFlags, args []string) error {
	design, err := f.design()
	if err != nil {
		return err
	}
	taken := f.asJSON
	for _, name := range []string{f.markdown, f.html} {
		if name == command.StdoutName && taken {
			return command.Usage("--json, --markdown - and --html - exclude each other: standard output takes one of them")
		}
		taken = taken || name == command.StdoutName
	}
	var notes []string
	revisions, err := command.Interruptible(cmd.Context(), func() (all []verdict.Revision, err error) {
		all, notes, err = history.Read(cmd.Context(), args)
		return all, err
	})
	if err != nil {
		return comparisonError(err)
	}
	if len(revisions) < 2 {
		return command.Usage("%s: one revision is no history; name the verdicts of several, or a baseline file of which git has several versions%s", strings.Join(args, " "), strings.Join(append([]string{""}, notes...), "; "))
	}
	h, err := command.Interruptible(cmd.Context(), func() (*show.History, error) { return show.New(revisions, notes, design) })
	switch {
	case err != nil:
		return comparedError(err)
	case len(h.Metrics) == 0 && len(f.metrics) > 0:
		return command.Usage("--metric %s: no metric of the revisions matches%s", strings.Join(f.metrics, " "), command.DidYouMean(f.metrics[0], metricsOf(revisions)))
	case len(h.Metrics) == 0:
		return command.Usage("%s: the revisions have no value of a metric", strings.Join(args, " "))
	}
	for _, form := range []struct {
		flag, name string
		write      func(io.Writer) error
	}{{"--markdown", f.markdown, h.WriteMarkdown}, {"--html", f.html, h.WriteHTML}} {
		if form.name == "" {
			continue
		}
		var text bytes.Buffer
		if err := form.write(&text); err != nil {
			return command.Infrastructure(err)
		}
		if err := writeFlag(a, form.flag, form.name, text.Bytes()); err != nil {
			return err
		}
	}
	switch {
	case f.asJSON:
		return a.PrintJSON(h)
	case taken:
		return nil
	}
	more := []string{"csiglab history"}
	for _, argument := range args {
		more = append(more, spelling.ShellWord(argument))
	}
	var text bytes.Buffer
	if err := h.WriteText(&text, strings.Join(append(more, f.given()...), " ")+" --html history.html"); err != nil {
		return command.Infrastructure(err)
	}
	return a.Print(text.String())
}

// metricsOf returns the names of the metrics of revisions, each once.
func metricsOf(revisions []verdict.Revision) []string {
	names := map[string]bool{}
	for _, r := range revisions {
		for _, c := range r.Cells {
			for _, m := range c.Metrics {
				names[m.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
