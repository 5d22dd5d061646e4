package campaign

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/units"
)

// newRun returns the run of a plan with real nodes. Its Folder and Wall are set when
// it is executed.
func newRun(name, variant string, p *plan.Plan, disk units.Size, opts Options) (*backend.Run, error) {
	r := &backend.Run{
		Name: name, Plan: p, About: variant, Processes: backend.Processes(opts.Processes), Elide: opts.Payload == PayloadElide, Held: opts.Hold != nil,
		Shards: opts.Shards, Remote: opts.Remote, Identity: opts.Identity,
	}
	for _, text := range opts.Inject {
		i, err := emu.ParseInjection(text, p.Graph)
		if err != nil {
			return nil, failure.Configuration(fmt.Errorf("--inject: %w", err))
		}
		r.Inject = append(r.Inject, i)
	}
	if r.Held {
		r.DiskLimit = disk
	}
	r.Outputs = make([]string, len(p.Programs))
	return r, nil
}

// guessedProgram is the assumed duration of a program, for the progress bar.
const guessedProgram = 10 * units.Second

// bound returns an estimate of the length of a run, for the progress and the
// patience. The true length is not known before the end; the fluid bound is close
// where a link is the bottleneck.
func bound(p *plan.Plan) units.Duration {
	length := estimate.Of(p, nil).ModelTime
	if len(p.Programs) > 0 {
		length = max(length, units.Duration(min(p.End, p.LastStart().Add(guessedProgram))))
	}
	return length
}

// Limits of a run in real time that falls behind: it may take leastPatience plus
// patienceTimes its expected length.
const (
	leastPatience = time.Minute
	patienceTimes = 20
)

// runReal runs a plan with real nodes.
func (s *session) runReal(ctx context.Context, j job, pcap *packets.File, records *measure.Records, fraction func(float64)) (*backend.Outcome, error) {
	r, length := j.run, bound(j.plan)
	r.Folder = s.writer.Dir()
	if folder, err := filepath.Abs(r.Folder); err == nil {
		r.Folder = folder
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := backend.Control{
		Progress: func(now units.Time, _ float64) {
			fraction(min(float64(now)/float64(max(length, 1)), 0.99))
			if records.Err() != nil {
				cancel() // a run whose records cannot be written need not go on
			}
		},
		Records: records,
		Note:    s.journal.note,
		Waiting: s.announce,
	}
	nodeFolder := s.mode.backend.NodeFolder(r.Folder)
	if s.mode.Has(runtimes.RealTime) {
		r.Wall, r.Series.Runtime, r.Lateness = s.mode.wall, s.mode.Runtime, s.mode.budget.Lateness
		r.Patience = leastPatience + patienceTimes*r.Wall.At(units.Time(length))
		for i, p := range j.plan.Programs {
			r.Outputs[i] = filepath.Join(programsFolder(r.Folder, j), fmt.Sprintf("%s-%d.txt", j.plan.Graph.Nodes[p.Host].Name, i))
		}
		c.Hold = s.opts.Hold
		c.Started = func() {
			s.journal.log.Info("started", "id", r.ID)
			if s.opts.Ready != nil {
				s.opts.Ready(Started{ID: r.ID, Folder: r.Folder})
			}
		}
		defer spool.RemovePipes(nodeFolder)
	}
	spools := r.Spools(nodeFolder)
	defer packets.RemoveSpools(spools)
	out, err := backend.Perform(ctx, s.mode.backend, r, c)
	if err == nil && pcap != nil {
		if err := pcap.Merge(spools); err != nil {
			return nil, writeError(r.Folder, err)
		}
	}
	return out, err
}
