package comparisons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/compare"
)

// compareFlags are the flags of csiglab compare.
type compareFlags struct {
	chosen
	markdown, html string
	asJSON, asCSV  bool
	single         bool
}

// chosen are the flags that say which metrics are compared, and what is no difference.
type chosen struct {
	metrics []string
	delta   string
}

func (f *chosen) metricsFlag(cmd *cobra.Command, do string) {
	cmd.Flags().StringArrayVar(&f.metrics, "metric", nil, do+" the metrics that a `PATTERN` matches, such as 'fct_us.*', in place of all; may be repeated")
}

func (f *chosen) deltaFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.delta, "delta", defaultDelta, usage)
}

// design returns how values are compared.
func (f *chosen) design() (compare.Design, error) {
	d := compare.NewDesign(measure.Meaning)
	share, err := strconv.ParseFloat(strings.TrimSuffix(f.delta, "%"), 64)
	if err != nil || !strings.HasSuffix(f.delta, "%") || !(share >= 0 && share < 100) {
		return d, command.Usage("--delta %q: want a share from 0%% to below 100%%, such as 1%%", f.delta)
	}
	d.Delta = share / 100
	if len(f.metrics) > 0 {
		d.Named = f.metrics
		d.Only = func(metric string) bool {
			return slices.ContainsFunc(f.metrics, func(pattern string) bool { return wildcard.Match(pattern, metric) })
		}
	}
	return d, nil
}

// given returns the flags as words of a command.
func (f *chosen) given() (words []string) {
	for _, pattern := range f.metrics {
		words = append(words, "--metric", spelling.ShellWord(pattern))
	}
	if f.delta != defaultDelta {
		words = append(words, "--delta", spelling.ShellWord(f.delta))
	}
	return words
}

var defaultDelta = fmt.Sprintf("%g%%", 100*compare.DefaultDelta)

func compareCommand(a *command.App) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A[:VARIANT] [B[:VARIANT]]...",
		Short: "Compare the metrics of run folders, or of sweeps, with those of the first",
		Long: "Compare the metrics of run folders, or of sweeps, with those of the first. Of each metric it prints by\n" +
			"how much B is greater than A, an interval, and one of better, worse, same and inconclusive; changed, of\n" +
			"metrics without a direction. Variants of one name are compared, or those that are named; of one folder\n" +
			"alone, its variants with the first. Seeds that both have are compared in pairs. A CSV file with the\n" +
			"columns metric, seed, value and, if there are several, variant stands for runs of another program.\n\n" +
			"The exit code is 0 whatever came out; csiglab regress gives verdicts.",
		Example: "  csiglab compare runs/before runs/after\n" +
			"  csiglab compare runs/a:baseline runs/a:csig --html compare.html\n" +
			"  csiglab compare runs/a:baseline runs/a:csig runs/b:csig\n" +
			"  csiglab compare runs/a\n" +
			"  csiglab compare htsim.csv runs/a:baseline",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Usage("name run folders to compare; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return compareFolders(cmd.Context(), a, args, &f)
		},
	}
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "also write the comparison as Markdown into `FILE`; - prints it instead")
	cmd.Flags().StringVar(&f.html, "html", "", "also write it as one HTML page into `FILE`, with figures over each other and heatmaps of differences")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the comparison as JSON instead")
	cmd.Flags().BoolVar(&f.asCSV, "csv", false, "print a row for each metric as CSV instead")
	f.metricsFlag(cmd, "compare")
	cmd.Flags().BoolVar(&f.single, "single", false, "compare the metrics of single flows and ports too")
	f.deltaFlag(cmd, "what is no difference: a `SHARE` of A's value")
	return cmd
}

// whole returns the command that shows all of what the text has a screen of.
func (f *compareFlags) whole(args []string) string {
	parts := []string{"csiglab compare"}
	for _, side := range args {
		parts = append(parts, spelling.ShellWord(side))
	}
	parts = append(parts, f.given()...)
	if f.single {
		parts = append(parts, "--single")
	}
	return strings.Join(append(parts, "--html compare.html"), " ")
}

// comparedError gives an error of two folders its exit code.
func comparedError(err error) error {
	var exit *command.ExitError
	var wrong *compare.Error
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case !errors.As(err, &wrong):
		return command.FolderError(err)
	case wrong.Misuse:
		return command.Misuse(err)
	}
	return command.Infrastructure(err)
}

func compareFolders(ctx context.Context, a *command.App, args []string, f *compareFlags) error {
	design, err := f.design()
	if err != nil {
		return err
	}
	design.Single = f.single
	taken := f.asJSON || f.asCSV // standard output has one form
	if f.asJSON && f.asCSV {
		return command.Usage("--json and --csv exclude each other")
	}
	for _, name := range []string{f.markdown, f.html} {
		if name == command.StdoutName && taken {
			return command.Usage("--json, --csv, --markdown - and --html - exclude each other: standard output takes one of them")
		}
		taken = taken || name == command.StdoutName
	}
	sides, err := command.Interruptible(ctx, func() (*compare.Sides, error) { return compare.Open(args, design) })
	if err != nil {
		return comparedError(err)
	}
	c, err := command.Interruptible(ctx, sides.Result)
	switch {
	case err != nil:
		return comparedError(err)
	case len(f.metrics) > 0 && !c.Any():
		return command.Usage("--metric %s: no metric that both have matches%s", strings.Join(f.metrics, " "), command.DidYouMean(f.metrics[0], sides.Metrics()))
	}
	if f.markdown != "" {
		var text bytes.Buffer
		if err := c.WriteMarkdown(&text); err != nil {
			return command.Infrastructure(err)
		}
		if err := writeFlag(a, "--markdown", f.markdown, text.Bytes()); err != nil {
			return err
		}
	}
	if f.html != "" {
		page, err := command.Interruptible(ctx, func() ([]byte, error) {
			var page bytes.Buffer
			err := sides.WriteHTML(&page, c)
			return page.Bytes(), err
		})
		if err != nil {
			return comparedError(err)
		}
		if err := writeFlag(a, "--html", f.html, page); err != nil {
			return err
		}
	}
	switch {
	case f.asJSON:
		return a.PrintJSON(c)
	case f.asCSV:
		var text bytes.Buffer
		if err := c.WriteCSV(&text); err != nil {
			return command.Infrastructure(err)
		}
		return a.Print(text.String())
	}
	if taken {
		return nil
	}
	var text bytes.Buffer
	if err := c.WriteText(&text, f.whole(args)); err != nil {
		return command.Infrastructure(err)
	}
	return a.Print(text.String())
}

// writeFlag writes a whole result to the file that a flag names.
func writeFlag(a *command.App, flag, name string, data []byte) error {
	o := a.Output(name)
	o.Flag = flag
	_, err := o.Write(data)
	return o.End(err)
}
