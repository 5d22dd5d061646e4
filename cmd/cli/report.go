package cli

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

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/nccl"
	"github.com/csiglab/csiglab/reports/reading"
)

// writeReport writes the report of a run's folder into the folder. It returns the
// report's file and the report. progress gets the share of the folder that has been read,
// from another goroutine. It ends as soon as ctx does, with an error that has an exit code.
func writeReport(ctx context.Context, folder string, progress func(share float64)) (file string, report *reports.Report, err error) {
	var text bytes.Buffer
	report, err = interruptible(ctx, func() (*reports.Report, error) {
		report, err := analyse(folder, progress)
		if err == nil {
			err = report.WriteHTML(&text)
		}
		return report, err
	})
	if err != nil {
		return "", nil, err
	}
	file = filepath.Join(folder, runfolder.ReportFile)
	if err := own.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return "", nil, fmt.Errorf("%s: %w", file, cause.Of(err))
	}
	return file, report, nil
}

// analyse reads a run's folder, which may be incomplete. progress may be
// nil.
func analyse(folder string, progress func(share float64)) (*reports.Report, error) {
	f, err := runfolder.OpenKept(folder)
	if errors.Is(err, runfolder.ErrIncomplete) && runfolder.Salvage(folder) == nil {
		f, err = runfolder.OpenKept(folder) // of a csiglab that was killed
	}
	if err != nil {
		return nil, err
	}
	if rows := reading.Rows(f); progress != nil && rows > 0 {
		read := 0
		f.OnRows = func(more int) {
			read += more
			progress(min(1, float64(read)/float64(rows)))
		}
		defer func() { progress(1) }() // the number of rows is an estimate
	}
	return reports.Read(f, measure.Meaning)
}

// writeReport writes a report and shows the progress.
func (a *app) writeReport(ctx context.Context, folder string) (file string, report *reports.Report, err error) {
	p := newReportProgress(a.stderr, folder)
	defer p.close()
	return a.lab.report(ctx, folder, p.update)
}

func (a *app) report() *cobra.Command {
	var markdown, asJSON, nccl bool
	var variant string
	var figures figureFlags
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write the report of a run's folder again",
		Args:  one("a run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case markdown && asJSON:
				return usage("--markdown and --json exclude each other")
			case nccl && (markdown || asJSON):
				return usage("--nccl-json excludes --markdown and --json")
			case cmd.Flags().Changed("figures") && (markdown || asJSON || nccl):
				return usage("--figures excludes --markdown, --json and --nccl-json")
			case cmd.Flags().Changed("figures") && figures.dir == "":
				return usage("--figures: name a folder")
			case variant != "" && !nccl:
				return usage("--variant needs --nccl-json")
			case figures.dir != "":
				return a.writeFigures(cmd.Context(), args[0], &figures)
			}
			for _, name := range figureOthers {
				if cmd.Flags().Changed(name) {
					return usage("--%s needs --figures", name)
				}
			}
			switch {
			case nccl:
				return a.printNCCL(args[0], variant)
			case markdown:
				return a.printReport(args[0], (*reports.Report).WriteMarkdown)
			case asJSON:
				return a.printReport(args[0], (*reports.Report).WriteJSON)
			}
			file, report, err := a.writeReport(cmd.Context(), args[0])
			if err != nil {
				return folderError(err)
			}
			return cmp.Or(a.print(file+"\n"), lacking(args[0], report))
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print the report as Markdown instead")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the numbers of the report as JSON instead")
	figures.add(cmd.Flags())
	cmd.Flags().BoolVar(&nccl, "nccl-json", false, "print the times of jobs of kind collective in the form of nccl-tests' JSON files instead")
	cmd.Flags().StringVar(&variant, "variant", "", "the `VARIANT` of --nccl-json, if there are several")
	return cmd
}

// printNCCL prints the collectives of one variant as nccl-tests do.
func (a *app) printNCCL(folder, variant string) error {
	f, err := runfolder.OpenKept(folder)
	if err != nil {
		return folderError(err)
	}
	var names []string
	for _, v := range f.Manifest.Variants {
		names = append(names, v.Name)
	}
	switch {
	case variant == "" && len(names) > 1:
		return usage("--nccl-json is of one variant; add --variant with one of: %s", strings.Join(names, " "))
	case variant == "" && len(names) == 1:
		variant = names[0]
	case !slices.Contains(names, variant):
		return usage("unknown variant %q; known: %s", variant, strings.Join(names, " "))
	}
	results, err := nccl.Read(f, variant)
	if err != nil {
		if errors.Is(err, runfolder.ErrDamaged) {
			return folderError(err)
		}
		return usage("%s: %v", folder, err)
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return infrastructure(err)
	}
	var wrong error
	if !f.Manifest.Complete {
		wrong = infrastructure(fmt.Errorf("%s is %s", folder, f.Manifest.Incomplete()))
	}
	return cmp.Or(a.print(string(text)+"\n"), wrong)
}

// printReport prints the report of a run's folder in another form.
func (a *app) printReport(folder string, write func(*reports.Report, io.Writer) error) error {
	report, err := analyse(folder, nil)
	if err != nil {
		return folderError(err)
	}
	var text strings.Builder
	if err := write(report, &text); err != nil {
		return infrastructure(err)
	}
	return cmp.Or(a.print(text.String()), lacking(folder, report))
}

// lacking returns an error if the folder is incomplete, so that a caller that looks at exit
// codes does not take its report for that of all runs.
func lacking(folder string, report *reports.Report) error {
	i := report.Verdict.Incomplete
	if i == nil {
		return nil
	}
	return infrastructure(fmt.Errorf("%s is incomplete, %s: %d of %d runs are missing; csiglab run --resume %s does them", folder, i.Reason, i.Runs-i.Finished, i.Runs, folder))
}
