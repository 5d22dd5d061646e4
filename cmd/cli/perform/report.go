package perform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/reading"
)

// WriteReport writes the report of a run's folder into the folder. It returns the
// report's file and the report. progress gets the share of the folder that has been read,
// from another goroutine. It ends as soon as ctx does, with an error that has an exit code.
func WriteReport(ctx context.Context, folder string, progress func(share float64)) (file string, report *reports.Report, err error) {
	var text bytes.Buffer
	report, err = command.Interruptible(ctx, func() (*reports.Report, error) {
		report, err := Analyse(folder, progress)
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

// Analyse reads a run's folder, which may be incomplete. progress may be
// nil.
func Analyse(folder string, progress func(share float64)) (*reports.Report, error) {
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

// Report writes a report and shows the progress.
func Report(ctx context.Context, a *command.App, folder string) (file string, report *reports.Report, err error) {
	p := newReportProgress(a.Stderr, folder)
	defer p.close()
	return a.Work.Report(ctx, folder, p.update)
}
