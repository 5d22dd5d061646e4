package orchestrator

import (
	"context"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// outcome is what a backend returns of one run.
type outcome struct {
	results []metrics.NodeTotals // in node order
	cc      *ccSums
	paths   *pathSums
	dropped int64      // records that are in no table
	end     units.Time // of the model
	drained bool       // ended because nothing was due, not because of Plan.End
	wall    time.Duration
	cpu     time.Duration // of the event loop with its records
	checks  []check

	fidelity *runfolder.Fidelity // of a run in real time
	programs []runfolder.Program
}

// trusted tells whether nothing speaks against the run.
func (o *outcome) trusted() bool {
	return !slices.ContainsFunc(o.checks, func(c check) bool { return !c.ok })
}

// virtual runs a plan in virtual time. fraction, which may be nil, is told the
// share of the payload that has been delivered; pcap, which may be nil too, what
// the plan captures; to, which may be nil too, takes the records.
func virtual(ctx context.Context, p *Plan, fraction func(float64), pcap *capturing, to keeper) (*outcome, error) {
	pool := new(wire.Pool)
	records := newGathering(p, to)
	sinks := make([]*metrics.Batcher, len(p.Graph.Nodes))
	for i := range sinks {
		sinks[i] = metrics.NewBatcher(i, batchRecords, records)
	}
	cfg := sim.Config{TieSeed: p.TieSeed, End: p.End}
	hosts := make([]*host.Host, len(p.Hosts))
	for i, c := range p.Hosts {
		h, err := host.New(c, pool, sinks[i])
		if err != nil {
			return nil, configuration(err)
		}
		hosts[i] = h
		cfg.Nodes = append(cfg.Nodes, sim.Node{Machine: h, Ports: 1 + c.Control, Sink: sinks[i]})
	}
	for i, c := range p.Switches {
		sink := sinks[len(p.Hosts)+i]
		s, err := dataplane.New(c, pool, sink)
		if err != nil {
			return nil, configuration(err)
		}
		cfg.Nodes = append(cfg.Nodes, sim.Node{Machine: s, Ports: len(c.Ports), Sink: sink})
	}
	if pcap != nil {
		for i := range cfg.Nodes {
			cfg.Nodes[i].Tap = pcap.Tap(i)
		}
	}
	for _, l := range p.Graph.Links {
		cfg.Links = append(cfg.Links, sim.Link{A: l.A, B: l.B, Delay: l.Delay})
	}
	for _, l := range p.Control {
		cfg.Links = append(cfg.Links, sim.Link{A: l.A, B: l.B, Delay: l.Delay})
	}
	total := float64(p.Workload.Bytes())
	cfg.Progress = func(units.Time) bool {
		if fraction != nil {
			var delivered int64
			for _, h := range hosts {
				delivered += h.Delivered()
			}
			fraction(float64(delivered) / total)
		}
		return ctx.Err() == nil && !pcap.failed() && records.err() == nil
	}
	s := sim.New(cfg)

	// CPU time is the thread's, so that runs on other cores do not count.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start, cpu := time.Now(), threadCPU()
	if !s.Run() && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := &outcome{wall: time.Since(start), cpu: threadCPU() - cpu, end: s.Now()}
	s.Close()
	for _, sink := range sinks {
		sink.Flush()
	}
	records.into(out)
	out.drained = s.Drained()
	return out, nil
}

// batchRecords is how many records of a node are handed on at a time.
const batchRecords = 16

func threadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
