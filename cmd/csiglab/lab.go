package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/reports"
)

// lab is what the commands do through other packages. Tests put a fake in its
// place.
type lab struct {
	run      func(context.Context, *experiment.Set, orchestrator.Options) (*orchestrator.Result, error)
	validate func(*experiment.Set) (*orchestrator.Validation, error)
	report   func(folder string) (file string, err error)
	// list and clean are nil where nothing can be left behind; then there is
	// no command for it.
	list  func() ([]runInfo, error)
	clean func(id string, all bool) ([]string, error)
}

func newLab() lab {
	return lab{run: orchestrator.Run, validate: orchestrator.Validate, report: writeReport}
}

// runInfo is a run that is under way, or whose remains are.
type runInfo struct {
	ID      string
	Name    string
	Started time.Time
	State   string // stateRunning or stateLeft
	Detail  string // such as the number of processes and namespaces
}

// States of a run.
const (
	stateRunning = "running"
	stateLeft    = "left over"
)

// writeReport writes the report of a run's folder into it.
func writeReport(folder string) (string, error) {
	r, err := buildReport(folder)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := reports.WriteHTML(&text, r); err != nil {
		return "", err
	}
	file := filepath.Join(folder, runfolder.ReportFile)
	fresh, err := os.CreateTemp(folder, runfolder.ReportFile)
	if err != nil {
		return "", err
	}
	_, err = fresh.Write(text.Bytes())
	err = errors.Join(err, fresh.Chmod(0o644), fresh.Close())
	if err == nil {
		err = os.Rename(fresh.Name(), file)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(fresh.Name()))
	}
	return file, nil
}

func buildReport(folder string) (*reports.Report, error) {
	f, err := runfolder.Open(folder)
	if err != nil {
		return nil, err
	}
	return reports.Build(f)
}
