package stress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// Session stresses experiments, one after the other.
type Session struct {
	Folder string        // for the sweeps and the tables
	Began  time.Time     // when the caller began
	Limit  time.Duration // after Began no further run begins; 0: none
	// Alone refuses or mends Work.Parallel for a clock under which runs disturb each other.
	Alone func(clock string) error
	Work  *sweep.Work

	plans []*Plan
}

// Results are those of all experiments; they are stress.json.
type Results struct {
	Schema      int       `json:"schema"`
	Seconds     float64   `json:"seconds"` // of the session
	Experiments []*Result `json:"experiments"`
}

// Files of a session's folder, beside the sweeps.
const (
	ResultFile = "stress.json"
	TableFile  = "stress.md"
)

// Plan plans experiments and orders them: those that take less time go first. Of all embedded
// ones (all), it leaves out those whose runs cannot go on side by side.
func (s *Session) Plan(ctx context.Context, r Request, experiments []string, all bool) error {
	for _, name := range experiments {
		r.Experiment = name
		p, err := r.Plan(ctx)
		switch {
		case err != nil && len(experiments) > 1:
			return fmt.Errorf("%s: %w", name, err)
		case err != nil:
			return err
		}
		if all && !(runtimes.Way{Clock: p.Clock()}).Has(runtimes.SideBySide) {
			s.Work.Say(fmt.Sprintf("%s is left out: its clock is %s", name, p.Clock()))
			continue
		}
		if err := s.Alone(p.Clock()); err != nil {
			return err
		}
		if slices.ContainsFunc(s.plans, func(other *Plan) bool { return other.Name() == p.Name() }) {
			return failure.Configuration(fmt.Errorf("%s: another experiment is called %s, too; stress one at a time", name, p.Name()))
		}
		s.plans = append(s.plans, p)
	}
	slices.SortStableFunc(s.plans, func(x, y *Plan) int { return int(min(max(x.Weight()-y.Weight(), -1), 1)) })
	return nil
}

// Run performs the runs that the folder lacks, judges, and writes the tables.
func (s *Session) Run(ctx context.Context) (*Results, error) {
	if s.Limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, s.Began.Add(s.Limit))
		defer stop()
	}
	results := &Results{Schema: 1, Experiments: []*Result{}}
	for _, p := range s.plans {
		r, err := s.one(ctx, p)
		if err != nil {
			return nil, err
		}
		results.Experiments = append(results.Experiments, r)
	}
	results.Seconds = time.Since(s.Began).Seconds()
	return results, sweep.PlaceError(s.write(results))
}

// one performs the runs that the folder of an experiment lacks until the time is over, and judges.
func (s *Session) one(ctx context.Context, p *Plan) (*Result, error) {
	if p.Sweep == nil {
		return p.Judge(nil)
	}
	sw, err := sweep.Create(filepath.Join(s.Folder, p.Name()), p.Sweep)
	if err != nil {
		return nil, sweep.PlaceError(err)
	}
	defer sw.Close() // the journal is on the disk
	if ctx.Err() == nil {
		err := sw.PerformAs(ctx, *s.Work, sweep.Words{
			Head: p.Name(), Noun: "run", Whole: "the stress of " + p.Name(), Rest: fmt.Sprintf("; the same command with --out %s does the rest", s.Folder),
		})
		if err != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return nil, err
		}
	}
	if _, err := sw.Finish(func([]string) []string { return nil }); err != nil {
		return nil, err
	}
	return p.Judge(sw)
}

// write writes the tables.
func (s *Session) write(results *Results) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err == nil {
		err = os.MkdirAll(s.Folder, 0o755) // no sweep has made it if there was nothing to run
	}
	if err != nil {
		return err
	}
	return errors.Join(own.WriteFile(filepath.Join(s.Folder, ResultFile), append(text, '\n'), 0o644),
		own.WriteFile(filepath.Join(s.Folder, TableFile), []byte(results.Markdown()), 0o644))
}

// Promise returns what became of the promises of all experiments.
func (r *Results) Promise() (worst Promise) {
	for _, one := range r.Experiments {
		worst = max(worst, one.Promise())
	}
	return worst
}
