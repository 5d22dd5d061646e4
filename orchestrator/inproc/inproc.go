// Package inproc is the backend that runs plans in virtual time, in the calling
// process: no privileges, no frames, as fast as the processor allows.
package inproc

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/orchestrator/runs"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Runtime is this process as a runtime.
var Runtime = backend.Runtime{Runtime: runtimes.Get(runtimes.Inproc), Backend: Backend{}}

// Backend runs plans in virtual time. The zero value is ready to use.
type Backend struct{}

// Check implements backend.Backend: every machine can run in virtual time.
func (Backend) Check(context.Context, *backend.Run) error { return nil }

// NodeFolder implements backend.Backend: nodes write nothing there.
func (Backend) NodeFolder(runFolder string) string { return runFolder }

// Find implements runs.Finder: runs in virtual time are not on the list.
func (Backend) Find(_ context.Context, list []runs.Run) ([]runs.Run, error) { return list, nil }

// Remove implements runs.Finder: of a run in virtual time nothing remains.
func (Backend) Remove(context.Context, runs.Run) ([]string, error) { return nil, nil }

// batchRecords is how many records of a node are passed on at a time.
const batchRecords = 16

// Run implements backend.Backend. It uses the plan, Control.Progress,
// Control.Tap and Control.Records, and nothing else. When ctx ends, the error is ctx's.
func (Backend) Run(ctx context.Context, r *backend.Run, c backend.Control) (*backend.Outcome, error) {
	var cpu atomic.Int64 // ns, of all workers
	s, sinks, err := build(ctx, r, c, &cpu)
	if err != nil {
		return nil, failure.Configuration(err)
	}
	start := time.Now()
	if !s.Run() && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := &backend.Outcome{Wall: time.Since(start), CPU: time.Duration(cpu.Load()), End: s.Now(), Drained: s.Drained()}
	s.Close()
	for _, sink := range sinks {
		sink.Flush()
	}
	return out, nil
}

// build builds the machines of a plan and joins them.
func build(ctx context.Context, r *backend.Run, c backend.Control, cpu *atomic.Int64) (*sim.Sim, []*metrics.Batcher, error) {
	p := r.Plan
	shards, count := []int(nil), 1
	if c.Tap == nil { // taps may write one file, in order of time
		shards, count = split(p, r.Workers)
	}
	pools := make([]*wire.Pool, count)
	for i := range pools {
		pools[i] = new(wire.Pool)
	}
	sinks := make([]*metrics.Batcher, len(p.Nodes))
	cfg := sim.Config{TieSeed: p.TieSeed, End: p.End, Ordered: c.Tap != nil, Between: func() { wire.Balance(pools) }}
	cfg.Worker = func(run func()) {
		// CPU time is the thread's, so that runs on other cores do not count.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		start := threadCPU()
		run()
		cpu.Add(int64(threadCPU() - start))
	}
	var hosts []*host.Host
	for i, spec := range p.Nodes {
		sinks[i] = metrics.NewBatcher(i, batchRecords, c.Consumer())
		shard := 0
		if shards != nil {
			shard = shards[i]
		}
		m, err := spec.New(pools[shard], sinks[i])
		if err != nil {
			return nil, nil, err
		}
		if h, ok := m.(*host.Host); ok {
			hosts = append(hosts, h)
		}
		n := sim.Station{Machine: m, Ports: spec.Ports(), Sink: sinks[i], Shard: shard}
		if c.Tap != nil {
			n.Tap = c.Tap(i)
		}
		cfg.Nodes = append(cfg.Nodes, n)
	}
	for _, l := range p.Links {
		cfg.Links = append(cfg.Links, topologies.Link{A: l.A, B: l.B, Delay: l.Delay})
	}
	total := float64(p.Bytes())
	cfg.Progress = func(now units.Time) bool {
		if c.Progress != nil {
			var delivered int64
			for _, h := range hosts {
				delivered += h.Delivered()
			}
			c.Progress(now, float64(delivered)/max(1, total))
		}
		return ctx.Err() == nil
	}
	return sim.New(cfg), sinks, nil
}

func threadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
