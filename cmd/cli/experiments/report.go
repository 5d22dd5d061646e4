package experiments

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/nccl"
	"github.com/csiglab/csiglab/reports/sweeps"
)

func reportCommand(a *command.App) *cobra.Command {
	var markdown, asJSON, asCSV, nccl, ncclTable bool
	var variant string
	var figures figureFlags
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write the report of a run's folder again, or the page of a sweep's",
		Args:  command.One("a run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var forms []string
			for _, name := range []string{"markdown", "json", "csv", "nccl-json", "nccl"} {
				if cmd.Flags().Changed(name) {
					forms = append(forms, "--"+name)
				}
			}
			switch {
			case len(forms) > 1:
				return command.Usage("%s exclude each other", strings.Join(forms, " and "))
			case cmd.Flags().Changed("figures") && len(forms) > 0:
				return command.Usage("--figures and %s exclude each other", forms[0])
			case cmd.Flags().Changed("figures") && figures.dir == "":
				return command.Usage("--figures: name a folder")
			case variant != "" && !nccl:
				return command.Usage("--variant needs --nccl-json")
			case figures.dir != "":
				return writeFigures(cmd.Context(), a, args[0], &figures)
			}
			for _, name := range figureOthers {
				if cmd.Flags().Changed(name) {
					return command.Usage("--%s needs --figures", name)
				}
			}
			switch {
			case asCSV:
				return printTable(cmd.Context(), a, args[0])
			case ncclTable:
				return printCollectives(cmd.Context(), a, args[0])
			case compare.IsSweep(args[0]):
				if asJSON || nccl {
					return command.Usage("%s: the folder of a sweep; it has a page, --markdown, --csv and --nccl", args[0])
				}
				return reportSweep(cmd.Context(), a, args[0], markdown)
			case nccl:
				return printNCCL(a, args[0], variant)
			case markdown:
				return printReport(a, args[0], (*reports.Report).WriteMarkdown)
			case asJSON:
				return printReport(a, args[0], (*reports.Report).WriteJSON)
			}
			file, report, err := perform.Report(cmd.Context(), a, args[0])
			if err != nil {
				return command.FolderError(err)
			}
			return cmp.Or(a.Print(file+"\n"), lacking(args[0], report))
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print the report as Markdown instead")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the numbers of the report as JSON instead")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print the metrics of the runs, or the table of the sweep without those of single flows and ports, as CSV instead")
	figures.add(cmd.Flags())
	cmd.Flags().BoolVar(&ncclTable, "nccl", false, "print a table of all collectives as nccl-tests do, also of a sweep: time, algbw and busbw in GB/s")
	cmd.Flags().BoolVar(&nccl, "nccl-json", false, "print the times of jobs of kind collective in the form of nccl-tests' JSON files instead")
	cmd.Flags().StringVar(&variant, "variant", "", "the `VARIANT` of --nccl-json, if there are several")
	return cmd
}

// reportSweep writes the page of a sweep into its folder, or prints it as Markdown.
func reportSweep(ctx context.Context, a *command.App, folder string, markdown bool) error {
	text, err := command.Interruptible(ctx, func() ([]byte, error) {
		s, err := readSweep(folder)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if markdown {
			err = s.WriteMarkdown(&b)
		} else {
			err = s.WriteHTML(&b)
		}
		return b.Bytes(), err
	})
	if err != nil {
		return command.FolderError(err)
	}
	if markdown {
		return a.Print(string(text))
	}
	file := filepath.Join(folder, runfolder.ReportFile)
	if err := own.WriteFile(file, text, 0o644); err != nil {
		return command.Infrastructure(err)
	}
	return a.Print(file + "\n")
}

// readSweep reads the folder of a sweep.
func readSweep(folder string) (*sweeps.Sweep, error) {
	p, err := sweep.WriteTable(folder)
	if err != nil {
		return nil, err
	}
	key := sweep.Key
	if len(p.Metrics) > 0 {
		key = sweep.First
	}
	return sweeps.Read(folder, pagePlan(p), key, measure.Meaning)
}

// pagePlan returns what the page of a sweep needs of its plan.
func pagePlan(p *sweep.Plan) *sweeps.Plan {
	of := &sweeps.Plan{
		Name: p.Name, Version: p.Version, Experiment: p.Experiment, Command: p.Command, Given: p.Given, Started: p.Started,
		Paths: p.Paths, Axes: p.Axes, Variants: p.Variants, Seeds: p.Seeds, Trials: p.Trials(),
	}
	for i := range p.Points {
		of.Points = append(of.Points, p.Points[i].Values)
	}
	if j := p.Judge; j != nil {
		of.Judge = &sweeps.Judge{Between: j.Between, Baseline: j.Baseline, Sides: j.Sides}
		for _, m := range j.Metrics {
			of.Judge.Metrics = append(of.Judge.Metrics, sweeps.Metric(m))
		}
	}
	return of
}

// printCollectives prints the collectives of a run or a sweep as nccl-tests do.
func printCollectives(ctx context.Context, a *command.App, folder string) error {
	text, err := command.Interruptible(ctx, func() (string, error) {
		var b bytes.Buffer
		if compare.IsSweep(folder) {
			t, _, err := openSweepTable(folder)
			if err != nil {
				return "", err
			}
			defer t.Close() // opened for reading
			err = nccl.WriteSweep(&b, folder, t)
			return b.String(), err
		}
		f, err := runfolder.OpenKept(folder)
		if err != nil {
			return "", err
		}
		err = nccl.WriteRun(&b, f)
		return b.String(), err
	})
	if err != nil {
		return command.FolderError(err)
	}
	return a.Print(text)
}

// printNCCL prints the collectives of one variant as nccl-tests do.
func printNCCL(a *command.App, folder, variant string) error {
	f, err := runfolder.OpenKept(folder)
	if err != nil {
		return command.FolderError(err)
	}
	var names []string
	for _, v := range f.Manifest.Variants {
		names = append(names, v.Name)
	}
	switch {
	case variant == "" && len(names) > 1:
		return command.Usage("--nccl-json is of one variant; add --variant with one of: %s", strings.Join(names, " "))
	case variant == "" && len(names) == 1:
		variant = names[0]
	case !slices.Contains(names, variant):
		return command.Usage("unknown variant %q; known: %s", variant, strings.Join(names, " "))
	}
	results, err := nccl.Read(f, variant)
	if err != nil {
		if errors.Is(err, runfolder.ErrDamaged) {
			return command.FolderError(err)
		}
		return command.Usage("%s: %v", folder, err)
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return command.Infrastructure(err)
	}
	var wrong error
	if !f.Manifest.Complete {
		wrong = command.Infrastructure(fmt.Errorf("%s is %s", folder, f.Manifest.Incomplete()))
	}
	return cmp.Or(a.Print(string(text)+"\n"), wrong)
}

// printReport prints the report of a run's folder in another form.
func printReport(a *command.App, folder string, write func(*reports.Report, io.Writer) error) error {
	report, err := perform.Analyse(folder, nil)
	if err != nil {
		return command.FolderError(err)
	}
	var text strings.Builder
	if err := write(report, &text); err != nil {
		return command.Infrastructure(err)
	}
	return cmp.Or(a.Print(text.String()), lacking(folder, report))
}

// lacking returns an error if the folder is incomplete, so that a caller that looks at exit
// codes does not take its report for that of all runs.
func lacking(folder string, report *reports.Report) error {
	i := report.Verdict.Incomplete
	if i == nil {
		return nil
	}
	return command.Infrastructure(fmt.Errorf("%s is incomplete, %s: %d of %d runs are missing; csiglab run --resume %s does them", folder, i.Reason, i.Runs-i.Finished, i.Runs, folder))
}
