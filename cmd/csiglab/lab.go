package main

import (
	"context"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// lab is what the commands need of package orchestrator. Tests put a fake in
// its place.
type lab struct {
	run      func(ctx context.Context, set *experiment.Set, opts runOptions) (*runResult, error)
	validate func(set *experiment.Set) (*forecast, error)
	list     func() ([]runInfo, error)
	clean    func(id string, all bool) ([]string, error)
}

// runOptions are how an experiment is run, not what is run.
type runOptions struct {
	Out         string // folder in which the run's folder is made
	Payload     string // full | elide
	Processes   string // many | one
	CheckParity bool
	Inject      []string // faults of the emulator's links, for tests
	Parallel    int      // runs at a time; 0: as many as there are cores
	Progress    func(progress)
	Version     string
	Command     []string
}

// progress is how far the runs are.
type progress struct {
	Done, Total int // runs
	Variant     string
	Seed        uint64
	Fraction    float64 // of all the work, 0 to 1
	ETA         time.Duration
}

// runResult is what a run left.
type runResult struct {
	Folder, Report string
	Summary        *runfolder.Summary
}

// forecast is what is known of an experiment before it is run.
type forecast struct {
	Hosts, Switches, Links, Flows int
	Bytes                         int64
	Seconds                       float64 // predicted wall time of all runs
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
