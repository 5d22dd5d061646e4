// Package memory is a backend whose nodes are goroutines of this process, joined in
// memory, under clock lockstep. It stands for a new backend: TestBackend adds it to a
// copy of csiglab.
package memory

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/stream"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Runtime is memory as a runtime.
var Runtime = backend.Runtime{
	Runtime: runtimes.Runtime{Name: "memory", Doc: "frames in memory, a goroutine per node", Clocks: []string{runtimes.Lockstep}, Offers: []runtimes.Capability{runtimes.RealFrames}},
	Backend: Backend{},
}

// Backend runs plans in memory. The zero value is ready to use.
type Backend struct{}

// Check implements backend.Backend: every machine has memory.
func (Backend) Check(context.Context, *backend.Run) error { return nil }

// NodeFolder implements backend.Backend: nodes see the folder of the run.
func (Backend) NodeFolder(runFolder string) string { return runFolder }

// Find implements runs.Finder: the run goes with its process.
func (Backend) Find(_ context.Context, list []runs.Run) ([]runs.Run, error) { return list, nil }

// Remove implements runs.Finder: the run leaves nothing.
func (Backend) Remove(context.Context, runs.Run) ([]string, error) { return nil, nil }

// Run implements backend.Backend.
func (Backend) Run(ctx context.Context, r *backend.Run, c backend.Control) (*backend.Outcome, error) {
	began := time.Now()
	fabric := r.Fabric(r.Folder)
	configs, links := fabric.Configs()
	conns := make([]*counting, len(configs))
	for i, config := range configs {
		conns[i] = &counting{Memory: netio.NewMemory(len(config.Ports))}
	}
	for _, l := range r.Plan.Links {
		netio.Join(conns[l.A.Node].Memory, l.A.Port, conns[l.B.Node].Memory, l.B.Port)
	}
	nodes, records := make([]*emu.Node, len(configs)), make([]*stream.Buffer, len(configs))
	for i, config := range configs {
		records[i] = stream.NewBuffer(i, stream.Block, consumer(c))
		defer records[i].Close()
		pool := new(wire.Pool)
		m, err := r.Plan.Nodes[i].New(pool, records[i])
		if err != nil {
			return nil, err
		}
		nodes[i] = emu.New(config, m, pool, conns[i], records[i])
	}
	if c.Deployed != nil {
		if err := c.Deployed(describe(r.Plan)); err != nil {
			return nil, err
		}
	}
	crew, err := shared.NewPool(nodes, links, r.Plan.End)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := crew.Run(ctx, runtime.GOMAXPROCS(0)); err != nil {
		return nil, err
	}
	out := &backend.Outcome{End: crew.End(), Grants: crew.Grants(), Setup: started.Sub(began), Wall: time.Since(started)}
	out.Drained = r.Plan.End == units.Never || out.End < r.Plan.End
	for i, n := range nodes {
		if err := n.CloseCapture(); err != nil {
			return nil, err
		}
		n.Finish(out.End)
		out.Frames += n.Sent()
		out.Strays += n.Strays()
		out.Interfaces.TxPackets += conns[i].sent.Load()
		out.Interfaces.RxPackets += conns[i].received.Load()
	}
	return out, nil
}

// counting is a Conn that counts frames, as an interface does.
type counting struct {
	*netio.Memory
	sent, received atomic.Int64
}

// Receive implements netio.Conn.
func (c *counting) Receive(batch []netio.Frame, wait time.Duration) (int, error) {
	n, err := c.Memory.Receive(batch, wait)
	c.received.Add(int64(n))
	return n, err
}

// Send implements netio.Conn.
func (c *counting) Send(batch []netio.Message) error {
	c.sent.Add(int64(len(batch)))
	return c.Memory.Send(batch)
}

// describe returns the nodes, which are in this process, and the links.
func describe(p *plan.Plan) ([]runs.Node, []runs.Link) {
	inMemory := make([]bool, len(p.Graph.Links))
	for i := range inMemory {
		inMemory[i] = true
	}
	return runs.Describe(p.Graph, nil, inMemory)
}

// consumer returns what takes the records of a run.
func consumer(c backend.Control) metrics.Consumer {
	if c.Records == nil {
		return new(metrics.Collector)
	}
	return c.Records
}
