package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/campaign"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/packets"
	"github.com/csiglab/csiglab/orchestrator/predict"
	"github.com/csiglab/csiglab/orchestrator/runs"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/analysis"
)

// lab is what the commands do through other packages. Tests put a fake in its
// place.
type lab struct {
	run      func(context.Context, *experiment.Set, campaign.Options) (*campaign.Result, error)
	validate func(*experiment.Set) (*predict.Validation, error)
	report   func(folder string) (file string, numbers *analysis.Result, err error)
	list     func(context.Context) ([]runs.Run, error)
	clean    func(ctx context.Context, which string, all bool) ([]string, error)
	enter    func(r *runs.Run, n runs.Node, command, env []string) error
	start    func(ctx context.Context, args, env []string, stderr io.Writer) (id string, err error)
	down     func(context.Context, runs.Run) (runs.Report, error)

	recapture func(packets.Recapture, context.Context, io.Writer) error
	live      func(packets.Live, context.Context, io.Writer) (*packets.Captured, error)
}

func newLab() lab {
	return lab{run: campaign.Run, validate: predict.Validate, report: writeReport, list: listRuns, clean: cleanRuns, enter: enterNode,
		start: startLab, down: runs.Down,
		recapture: packets.Recapture.Write, live: packets.Live.Write}
}

// finders find what runs have on this machine.
var finders = campaign.Finders()

// listRuns returns the runs of this user's that are under way or have left
// something.
func listRuns(ctx context.Context) ([]runs.Run, error) { return runs.List(ctx, finders...) }

// cleanRuns removes what runs left behind, in network namespaces and in
// containers.
func cleanRuns(ctx context.Context, which string, all bool) ([]string, error) {
	return runs.Clean(ctx, which, all, finders...)
}

// writeReport writes the report of a run's folder into the folder. It returns the
// report's file and its numbers.
func writeReport(folder string) (file string, numbers *analysis.Result, err error) {
	numbers, err = analyse(folder)
	if err != nil {
		return "", nil, err
	}
	var text bytes.Buffer
	if err := reports.WriteHTML(&text, numbers); err != nil {
		return "", nil, err
	}
	file = filepath.Join(folder, runfolder.ReportFile)
	if err := replaceFile(file, text.Bytes()); err != nil {
		return "", nil, fmt.Errorf("%s: %w", file, cause.Of(err))
	}
	return file, numbers, nil
}

// replaceFile writes a file as a whole: a reader sees the old or the new one.
func replaceFile(name string, data []byte) error {
	fresh, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return err
	}
	if _, err = fresh.Write(data); err == nil {
		err = moveTo(name, fresh)
	}
	if err != nil {
		fresh.Close()
		os.Remove(fresh.Name()) // the first error says more
	}
	return err
}

// moveTo closes a file and gives it another name.
func moveTo(name string, file *os.File) error {
	if err := cmp.Or(file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// analyse returns the numbers of a run's folder.
func analyse(folder string) (*analysis.Result, error) {
	f, err := runfolder.Open(folder)
	if err != nil {
		return nil, err
	}
	return analysis.Read(f)
}
