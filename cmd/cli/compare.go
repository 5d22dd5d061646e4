package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/compare"
)

// compareFlags are the flags of csiglab compare.
type compareFlags struct {
	markdown, html string
	asJSON, single bool
	metrics        []string
	delta          string
}

const defaultDelta = "1%"

func compareCommand(a *command.App) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A[:VARIANT] B[:VARIANT]",
		Short: "Compare the metrics of two run folders, or of two sweeps",
		Long: "Compare the metrics of two run folders, or of two sweeps. Of each metric it prints by how much B is\n" +
			"greater than A, an interval, and one of better, worse, same and inconclusive; changed, of metrics\n" +
			"without a direction. Variants of one name are compared, or those that are named. Seeds that both\n" +
			"have are compared in pairs.\n\n" +
			"The exit code is 0 whatever came out; csiglab regress gives verdicts.",
		Example: "  csiglab compare runs/before runs/after\n" +
			"  csiglab compare runs/a:baseline runs/a:csig --html compare.html",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return command.Usage("want two run folders, got %d: %q; see %s --help", len(args), args, cmd.CommandPath())
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
	cmd.Flags().StringArrayVar(&f.metrics, "metric", nil, "compare the metrics that a `PATTERN` matches, such as 'fct_us.*', in place of all; may be repeated")
	cmd.Flags().BoolVar(&f.single, "single", false, "compare the metrics of single flows and ports too")
	cmd.Flags().StringVar(&f.delta, "delta", defaultDelta, "what is no difference: a `SHARE` of A's value")
	return cmd
}

// design returns how folders are compared.
func (f *compareFlags) design() (compare.Design, error) {
	d := compare.Design{Meaning: measure.Meaning, Confidence: 0.95, Single: f.single}
	share, err := strconv.ParseFloat(strings.TrimSuffix(f.delta, "%"), 64)
	if err != nil || !strings.HasSuffix(f.delta, "%") || !(share >= 0 && share < 100) {
		return d, command.Usage("--delta %q: want a share from 0%% to below 100%%, such as 1%%", f.delta)
	}
	d.Delta = share / 100
	if len(f.metrics) > 0 {
		d.Only = func(metric string) bool {
			return slices.ContainsFunc(f.metrics, func(pattern string) bool { return wildcard.Match(pattern, metric) })
		}
	}
	return d, nil
}

// whole returns the command that shows all of what the text has a screen of.
func (f *compareFlags) whole(args []string) string {
	parts := []string{"csiglab compare", regress.ShellWord(args[0]), regress.ShellWord(args[1])}
	for _, pattern := range f.metrics {
		parts = append(parts, "--metric", regress.ShellWord(pattern))
	}
	if f.single {
		parts = append(parts, "--single")
	}
	if f.delta != defaultDelta {
		parts = append(parts, "--delta", regress.ShellWord(f.delta))
	}
	return strings.Join(append(parts, "--html compare.html"), " ")
}

// comparedFolder is one argument of csiglab compare.
type comparedFolder struct {
	name, variant string
	folder        *runfolder.Folder // nil: of a sweep
	measured      *compare.Measured
}

// openCompared opens a folder. A name that is a file is taken as it is; otherwise a variant
// may follow the last colon.
func openCompared(side, argument string, only func(metric string) bool) (*comparedFolder, error) {
	c := &comparedFolder{name: argument}
	if _, err := os.Stat(argument); errors.Is(err, fs.ErrNotExist) {
		if at := strings.LastIndexByte(argument, ':'); at > 0 {
			c.name, c.variant = argument[:at], argument[at+1:]
			if c.variant == "" {
				return nil, command.Usage("%s: name a variant after the colon", argument)
			}
		}
	}
	if compare.IsSweep(c.name) {
		var err error
		if c.measured, err = compare.MeasureSweep(c.name, measure.Meaning, only); err != nil {
			return nil, comparedSweepError(c.name, err)
		}
		return c, nil
	}
	folder, err := runfolder.Open(c.name)
	if err != nil {
		return nil, command.FolderError(err)
	}
	if s := &folder.Summary; !s.Valid {
		return nil, command.Infrastructure(fmt.Errorf("%s: %s is not valid, and its figures say nothing: %s", side, c.name, strings.Join(s.Reasons, "; ")))
	}
	c.folder, c.measured = folder, compare.Measure(folder)
	return c, nil
}

// comparedSweepError gives an error of the folder of a sweep its exit code.
func comparedSweepError(name string, err error) error {
	switch {
	case errors.Is(err, compare.ErrNoSweep), errors.Is(err, compare.ErrTooMany):
		return command.Misuse(err)
	case errors.Is(err, compare.ErrSweepIncomplete):
		err = fmt.Errorf("%w; csiglab sweep --resume %s does what is missing", err, name)
	}
	return command.Infrastructure(err)
}

func compareFolders(ctx context.Context, a *command.App, args []string, f *compareFlags) error {
	design, err := f.design()
	if err != nil {
		return err
	}
	taken := f.asJSON // standard output has one form
	for _, name := range []string{f.markdown, f.html} {
		if name == command.StdoutName && taken {
			return command.Usage("--json, --markdown - and --html - exclude each other: standard output takes one of them")
		}
		taken = taken || name == command.StdoutName
	}
	sides, err := command.Interruptible(ctx, func() (both [2]*comparedFolder, err error) {
		for i, side := range []string{"A", "B"} {
			if both[i], err = openCompared(side, args[i], design.Only); err != nil {
				return both, err
			}
		}
		return both, nil
	})
	if err != nil {
		return err
	}
	if a, b := sides[0], sides[1]; a.measured.Sweep != b.measured.Sweep {
		return command.Usage("%s and %s: one is the folder of a sweep, and the other one of a run; compare two of one kind", a.name, b.name)
	}
	design.VariantA, design.VariantB = sides[0].variant, sides[1].variant
	c, err := command.Interruptible(ctx, func() (*compare.Comparison, error) {
		return compare.Folders(sides[0].measured, sides[1].measured, design)
	})
	var none *compare.VariantError
	switch {
	case errors.As(err, &none):
		return command.Usage("%w", err)
	case err != nil:
		return err
	case len(f.metrics) > 0 && !slices.ContainsFunc(c.Cases, func(one compare.CaseComparison) bool { return len(one.Metrics) > 0 }):
		return command.Usage("--metric %s: no metric that both have matches%s", strings.Join(f.metrics, " "), command.DidYouMean(f.metrics[0], sides[0].measured.Metrics()))
	}
	if err := writeCompared(ctx, a, c, sides, f); err != nil {
		return err
	}
	if f.asJSON {
		return a.PrintJSON(c)
	}
	if taken {
		return nil
	}
	var text bytes.Buffer
	if err := compare.WriteText(&text, c, f.whole(args)); err != nil {
		return command.Infrastructure(err)
	}
	return a.Print(text.String())
}

// writeCompared writes the files that flags ask for.
func writeCompared(ctx context.Context, a *command.App, c *compare.Comparison, sides [2]*comparedFolder, f *compareFlags) error {
	if f.markdown != "" {
		var text bytes.Buffer
		if err := compare.WriteMarkdown(&text, c); err != nil {
			return command.Infrastructure(err)
		}
		if err := writeFlag(a, "--markdown", f.markdown, text.Bytes()); err != nil {
			return err
		}
	}
	if f.html == "" {
		return nil
	}
	page, err := command.Interruptible(ctx, func() ([]byte, error) {
		var overlays []compare.Overlay
		if sides[0].folder != nil && sides[1].folder != nil {
			var err error
			if overlays, err = compare.ReadOverlays(sides[0].folder, sides[1].folder, measure.Meaning, overlaid(c)); err != nil {
				return nil, command.FolderError(err)
			}
		}
		var page bytes.Buffer
		if err := compare.WriteHTML(&page, c, overlays); err != nil {
			return nil, command.Infrastructure(err)
		}
		return page.Bytes(), nil
	})
	if err != nil {
		return err
	}
	return writeFlag(a, "--html", f.html, page)
}

// overlaid names the variants whose figures are laid over each other.
func overlaid(c *compare.Comparison) (pairs []compare.VariantPair) {
	for i := range c.Cases {
		one := &c.Cases[i]
		p := compare.VariantPair{A: one.VariantA, B: one.VariantB, LabelA: "A", LabelB: "B"}
		if p.A != p.B {
			p.LabelA, p.LabelB = "A: "+p.A, "B: "+p.B
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// writeFlag writes a whole result to the file that a flag names.
func writeFlag(a *command.App, flag, name string, data []byte) error {
	o := a.Output(name)
	o.Flag = flag
	_, err := o.Write(data)
	return o.End(err)
}
