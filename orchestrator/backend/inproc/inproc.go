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
	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/topologies"
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

// Run implements backend.Backend. It uses the plan, Workers, Control.Progress,
// Control.Tap and Control.Records, and nothing else. When ctx ends, the error is ctx's.
func (Backend) Run(ctx context.Context, r *backend.Run, c backend.Control) (*backend.Outcome, error) {
	var out *backend.Outcome
	var err error
	if fault := watchdog.RunOne(watchdog.Patience, func(g *watchdog.Guard) { out, err = run(ctx, r, c, g) }); fault != nil {
		return nil, failure.Infrastructure(fault) // out and err belong to run, which may go on
	}
	return out, err
}

func run(ctx context.Context, r *backend.Run, c backend.Control, g *watchdog.Guard) (*backend.Outcome, error) {
	defer boundHeap(len(r.Plan.Nodes))()
	a, err := assemble(ctx, r, c)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, failure.Configuration(err)
	}
	a.guard = g
	s := sim.New(a.config)
	start := time.Now()
	if !s.Run() && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := &backend.Outcome{Wall: time.Since(start), CPU: time.Duration(a.cpu.Load()), End: s.End(), Drained: s.Drained()}
	if !s.Close() {
		return nil, ctx.Err()
	}
	return out, nil
}

// assembly is the machines of a plan, joined.
type assembly struct {
	config sim.Config
	pools  []*wire.Pool
	sinks  []*metrics.Batcher
	watch  *watch
	cpu    atomic.Int64 // ns of CPU time, of all workers
	guard  *watchdog.Guard
}

// assemble builds the machines of a plan.
func assemble(ctx context.Context, r *backend.Run, c backend.Control) (*assembly, error) {
	p, workers := r.Plan, max(1, r.Workers)
	if c.Tap != nil {
		workers = 1 // taps may write one file, in order of time
	}
	shards, workers := p.Split(workers)
	pools := make([]*wire.Pool, workers)
	for i := range pools {
		pools[i] = &wire.Pool{Notes: c.Tap != nil}
	}
	a := &assembly{pools: pools, sinks: make([]*metrics.Batcher, p.Machines()), watch: newWatch(ctx, workers, p.Bytes(), c.Progress)}
	a.config = sim.Config{
		TieSeed: p.TieSeed, NoTraceHash: p.Untraced, End: p.End, Ordered: c.Tap != nil, Worker: a.account,
		Between:  func() { wire.Balance(pools) },
		Released: a.release,
		Closed:   a.closed,
	}
	for i, spec := range p.Nodes {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a.sinks[i] = metrics.NewBatcher(i, batchRecords, c.Consumer())
		m, err := spec.New(pools[shards[i]], a.sinks[i])
		if err != nil {
			return nil, err
		}
		if h, ok := fault.Without(m).(*host.Host); ok {
			a.watch.add(shards[i], h)
		}
		n := sim.Station{Machine: m, Ports: spec.Ports(), Sink: a.sinks[i], Shard: shards[i]}
		if c.Tap != nil {
			n.Tap = c.Tap(i)
		}
		a.config.Nodes = append(a.config.Nodes, n)
	}
	if p.Fluid != nil {
		if err := a.addFluid(p.Fluid, pools[0], c.Consumer()); err != nil {
			return nil, err
		}
	}
	for _, l := range p.Links {
		a.config.Links = append(a.config.Links, topologies.Link{A: l.A, B: l.B, Delay: l.Delay})
	}
	a.config.Progress = a.watch.look
	return a, nil
}

// addFluid adds the network that carries the flows of a plan in place of packets, to the first
// worker's nodes.
func (a *assembly) addFluid(cfg *fluid.Config, pool *wire.Pool, to metrics.Consumer) error {
	sink := metrics.NewBatcher(cfg.Node, batchRecords, to)
	n, err := fluid.New(*cfg, pool, sink)
	if err != nil {
		return err
	}
	a.sinks[cfg.Node] = sink
	a.watch.add(0, n)
	a.config.Nodes = append(a.config.Nodes, sim.Station{Machine: n, Ports: cfg.Links, Sink: sink})
	return nil
}

// account runs a worker and adds its CPU time. That is the thread's, so that runs on
// other cores do not count.
func (a *assembly) account(run func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer a.guard.Catch()
	start := threadCPU()
	run()
	a.cpu.Add(int64(threadCPU() - start))
}

// release gives up what a run needs no more once its last event is over.
func (a *assembly) release() {
	a.watch.over()
	for _, p := range a.pools {
		p.Empty()
	}
	collectHeap(a.watch.ctx, len(a.config.Nodes))
}

// closed passes on the last records of a node, and gives it up.
func (a *assembly) closed(node int) {
	a.sinks[node].Flush()
	a.sinks[node], a.config.Nodes[node] = nil, sim.Station{}
}

func threadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
