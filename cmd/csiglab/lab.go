package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator"
	"github.com/csiglab/csiglab/orchestrator/containers"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/netns"
	"github.com/csiglab/csiglab/reports"
)

// lab is what the commands do through other packages. Tests put a fake in its
// place.
type lab struct {
	run      func(context.Context, *experiment.Set, orchestrator.Options) (*orchestrator.Result, error)
	validate func(*experiment.Set) (*orchestrator.Validation, error)
	report   func(folder string) (file string, findings []string, err error)
	list     func() ([]runInfo, error)
	clean    func(id string, all bool) ([]string, error)
}

func newLab() lab {
	return lab{run: orchestrator.Run, validate: orchestrator.Validate, report: writeReport, list: listRuns, clean: cleanRuns}
}

// listRuns returns the runs of this user's that have processes, now or once.
func listRuns() ([]runInfo, error) {
	found, err := netns.List()
	if err != nil {
		return nil, err
	}
	var runs []runInfo
	for _, r := range found {
		info := runInfo{ID: r.ID, Name: r.Name, Started: r.Started, State: stateRunning}
		if !r.Running {
			info.State = stateLeft
		}
		info.Detail = plural(len(r.Processes), "process")
		if r.Folder != "" {
			info.Detail += ", " + r.Folder
		}
		runs = append(runs, info)
	}
	labs, err := containers.List(context.Background())
	if err != nil {
		return nil, err
	}
	for _, l := range labs {
		info := runInfo{ID: l.ID, Name: l.Name, Started: l.Started, State: stateRunning}
		if !l.Running {
			info.State = stateLeft
		}
		info.Detail = fmt.Sprintf("%s, %s", plural(l.Containers, "container"), cmp.Or(l.Folder, "no folder known"))
		runs = append(runs, info)
	}
	return runs, nil
}

// cleanRuns removes what runs left behind, in network namespaces and in
// containers.
func cleanRuns(id string, all bool) ([]string, error) {
	removed, err := netns.Clean(id, all)
	if err != nil {
		return removed, err
	}
	more, err := containers.Clean(context.Background(), id, all)
	return append(removed, more...), err
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

// writeReport writes the report of a run's folder into it. It returns the
// report's file and what it found.
func writeReport(folder string) (file string, findings []string, err error) {
	r, err := buildReport(folder)
	if err != nil {
		return "", nil, err
	}
	var text bytes.Buffer
	if err := reports.WriteHTML(&text, r); err != nil {
		return "", nil, err
	}
	file = filepath.Join(folder, runfolder.ReportFile)
	if err := replaceFile(file, text.Bytes()); err != nil {
		return "", nil, fmt.Errorf("%s: %w", file, cause(err))
	}
	return file, r.Findings, nil
}

// replaceFile writes a file as a whole: a reader sees the old or the new one.
func replaceFile(name string, data []byte) error {
	fresh, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return err
	}
	_, err = fresh.Write(data)
	if err = cmp.Or(err, fresh.Chmod(0o644), fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), name)
	}
	if err != nil {
		os.Remove(fresh.Name()) // the first error says more
	}
	return err
}

// cause strips the operation and the path, which the message has already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func buildReport(folder string) (*reports.Report, error) {
	f, err := runfolder.Open(folder)
	if err != nil {
		return nil, err
	}
	return reports.Build(f)
}
