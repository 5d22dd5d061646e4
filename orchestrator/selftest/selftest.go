// Package selftest checks csiglab itself: that each knob moves the metrics by as much as
// arithmetic says, that what does not matter moves nothing, that no packet is lost in the
// books, that real frames leave the trace of virtual time, and that equal runs are equal.
// It runs small experiments of its own by package campaign and compares what they measure
// with closed forms. The command csiglab selftest drives it.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// Schema is the version of a Report as JSON.
const Schema = 1

// Kinds of checks.
const (
	Sensitivity  = "sensitivity"  // a change moves a metric by as much as predicted
	Independence = "independence" // what does not matter moves nothing
	Conservation = "conservation" // no packet appears or vanishes, and a loss is noticed
	Parity       = "parity"       // real frames leave the trace of virtual time
	Repetition   = "a-a"          // equal runs are equal, and the statistics see no difference where there is none
)

// Outcome of a check.
type Outcome string

// Outcomes.
const (
	OK     Outcome = "ok"
	Failed Outcome = "failed"
	NotRun Outcome = "not run" // this machine or user cannot run it
	Broken Outcome = "broken"  // the machine failed while it ran
)

// Report is what all checks came to.
type Report struct {
	Schema  int      `json:"schema"`
	Version string   `json:"version"` // of csiglab
	OK      bool     `json:"ok"`      // no check failed or broke; checks that were not run do not count
	Seconds float64  `json:"seconds"` // of the wall clock
	Checks  []Result `json:"checks"`
}

// Count returns how many checks have an outcome.
func (r *Report) Count(o Outcome) (n int) {
	for _, c := range r.Checks {
		if c.Outcome == o {
			n++
		}
	}
	return n
}

// Result is what one check came to.
type Result struct {
	Name    string  `json:"name"`
	Kind    string  `json:"kind"`
	Changed string  `json:"changed"` // what was done, in words
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"` // of an outcome other than OK
	Claims  []Claim `json:"claims,omitempty"` // what was predicted and measured; none if it was not run
	Seconds float64 `json:"seconds"`
}

// Options say what to check.
type Options struct {
	// Folder is where the temporary folder is made; empty: that of the system.
	Folder   string
	Only     []string // names or kinds of checks; empty: all
	Version  string   // of csiglab, for the report and for run folders
	Parallel int      // runs at once in virtual time; 0: one per core
	// Progress is called before each check with its name and place, from 0, and with an
	// empty name at the end. It may be nil.
	Progress func(name string, done, total int)
}

// UnknownError reports a name in Options.Only that is none of a check or a kind.
type UnknownError struct {
	Name    string
	Nearest string // "" if none is near
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no check or kind of check is called %q%s", e.Name, spelling.Hint(e.Nearest))
}

// Names returns the names of all checks and kinds, in the order of the checks, each kind
// before its checks.
func Names() []string { return names(checks) }

func names(of []test) (list []string) {
	for _, c := range of {
		if !slices.Contains(list, c.kind) {
			list = append(list, c.kind)
		}
		list = append(list, c.name)
	}
	return list
}

// Run performs the checks one after the other. What they make is in a temporary folder,
// which is gone when Run returns. The error is an *UnknownError, the context's, or of a
// machine on which nothing can be run; the report then has the checks that ended.
func Run(ctx context.Context, o Options) (*Report, error) { return run(ctx, checks, o) }

func run(ctx context.Context, all []test, o Options) (report *Report, err error) {
	chosen, err := choose(all, o.Only)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(o.Folder, "csiglab-selftest-*")
	if err != nil {
		return nil, failure.Infrastructure(fmt.Errorf("temporary folder: %w", err))
	}
	defer func() {
		if wrong := os.RemoveAll(folder); err == nil && wrong != nil {
			err = failure.Infrastructure(wrong)
		}
	}()
	b := &bench{folder: folder, version: o.Version, parallel: o.Parallel}
	start := time.Now()
	report = &Report{Schema: Schema, Version: o.Version, OK: true, Checks: []Result{}}
	for i, c := range chosen {
		if o.Progress != nil {
			o.Progress(c.name, i, len(chosen))
		}
		result, err := c.perform(ctx, b)
		if err != nil {
			return report, err
		}
		report.Checks = append(report.Checks, result)
		report.OK = report.OK && (result.Outcome == OK || result.Outcome == NotRun)
		report.Seconds = time.Since(start).Seconds()
	}
	if o.Progress != nil {
		o.Progress("", len(chosen), len(chosen))
	}
	return report, nil
}

// choose returns the checks that names, of checks or kinds, choose, in the order of all.
func choose(all []test, only []string) ([]test, error) {
	known := names(all)
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, &UnknownError{name, spelling.Nearest(name, known)}
		}
	}
	if len(only) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(c test) bool {
		return !slices.Contains(only, c.name) && !slices.Contains(only, c.kind)
	}), nil
}

// test is one check.
type test struct {
	name, kind, changed string
	// claims runs what is needed and returns what was predicted and measured.
	claims func(ctx context.Context, b *bench) ([]Claim, error)
}

// perform runs a check. Its error is that of ctx, or of a full disk.
func (c test) perform(ctx context.Context, b *bench) (Result, error) {
	start := time.Now()
	r := Result{Name: c.name, Kind: c.kind, Changed: c.changed, Outcome: OK}
	claims, err := c.claims(ctx, b)
	r.Claims, r.Seconds = claims, time.Since(start).Seconds()
	var invalid *invalidError
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case errors.Is(err, backend.ErrUnavailable):
		r.Outcome, r.Reason = NotRun, err.Error()
	case failure.DiskFull(err):
		return r, err
	case errors.As(err, &invalid):
		r.Outcome, r.Reason = Failed, err.Error()
	case errors.Is(err, failure.ErrInfrastructure):
		r.Outcome, r.Reason = Broken, err.Error()
	case err != nil: // an experiment of selftest is refused: csiglab is at fault
		r.Outcome, r.Reason = Failed, err.Error()
	case len(claims) == 0:
		r.Outcome, r.Reason = Failed, "the check predicts nothing"
	}
	for _, claim := range claims {
		if !claim.OK && r.Outcome == OK {
			r.Outcome, r.Reason = Failed, claim.fault()
		}
	}
	return r, nil
}
