package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/stream"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// crew is the drivers of a run's nodes: some in this process, the others in
// processes of their own.
type crew struct {
	run        *Run
	deployment *Deployment
	net        *network
	configs    []emu.Config // by node
	links      []lockstep.Channel

	records   metrics.Consumer
	exposed   *exposures
	quit      chan struct{}    // of a part of a run: closed when no part waits for its programs any more
	peers     *peering         // the other parts of the run; nil: it has one
	exposer   *process.Exposer // of the nodes that are driven here; nil: they serve no metrics
	inside    []*insideNode    // driven here
	processes []nodeProcess    // of the others
	ends      chan ended       // one for each process
	started   time.Time        // when the first node started
}

// insideNode is a node that is driven in this process.
type insideNode struct {
	*emu.Node
	records *stream.Buffer
}

// insideNodes returns the drivers of the nodes that are driven here.
func (c *crew) insideNodes() []*emu.Node {
	nodes := make([]*emu.Node, len(c.inside))
	for i, n := range c.inside {
		nodes[i] = n.Node
	}
	return nodes
}

// nodeProcess is the process of a node.
type nodeProcess struct {
	node int
	name string
	pid  int
}

func (c *crew) configure() {
	fabric := c.run.Fabric(c.deployment.Folder)
	c.configs, c.links = fabric.Configs()
	c.run.setWays(c.configs)
}

// close closes the nodes that are driven here.
func (c *crew) close() {
	eachAtOnce(len(c.inside), func(i int) error { return c.inside[i].Close() }) //nolint:errcheck // the interfaces go with their namespaces
}

// startProcesses starts the nodes that are not driven here.
func (c *crew) startProcesses(ctx context.Context, shared *os.File) error {
	c.ends = make(chan ended, len(c.configs))
	lanes, width := make([]int, len(c.configs)), runtime.NumCPU()
	if c.deployment.Pinned {
		lanes, width = Lanes(c.run, width), 1
	}
	for i, config := range c.configs {
		if c.run.inDriver(i) || !c.run.Driven(i) {
			continue
		}
		spec := &process.Spec{
			Config: config, Machine: c.run.Plan.Nodes[i], Interfaces: c.net.spaces[i].interfaces,
			MaxFrame: c.run.MaxFrame(), Nodes: len(c.configs), Links: c.links, Partition: c.run.partition(), Lanes: lanes, LaneWidth: width, End: c.run.Plan.End, Wall: c.run.Wall,
			Build: modules.Build(), Metrics: c.exposed.node(i),
		}
		p, err := c.deployment.Start(ctx, i, spec, shared)
		if err != nil {
			return fmt.Errorf("start node %s: %w", config.Name, err)
		}
		at := len(c.processes)
		c.processes = append(c.processes, nodeProcess{node: i, name: config.Name, pid: p.PID})
		go func() { c.ends <- c.read(at, p) }()
	}
	return nil
}

// pids returns the processes of the nodes that have one.
func (c *crew) pids() map[int]int {
	pids := make(map[int]int, len(c.processes))
	for _, p := range c.processes {
		pids[p.node] = p.pid
	}
	return pids
}

// ended is the result of a process.
type ended struct {
	process int             // index in crew.processes
	report  *process.Report // nil when it sent none
	reason  string          // why it failed, as far as its exit shows it; empty: it ended well
}

// read reads the report of a process until it ends.
func (c *crew) read(index int, p *Process) ended {
	e := ended{process: index}
	e.report, _ = process.ReadReport(p.Report, c.records) // without a report, the process's end says why
	p.Report.Close()
	e.reason = p.Wait(e.report != nil)
	return e
}

// failure returns the error of a process that failed, a *emu.LinkError or a
// *NodeError, and nil for one that ended well.
func (c *crew) failure(e ended) error {
	name := c.processes[e.process].name
	switch {
	case e.report != nil && e.report.Link != nil:
		return e.report.Link
	case e.report != nil && e.report.Failure != "":
		return &NodeError{Name: name, Reason: e.report.Failure}
	case e.reason != "":
		return &NodeError{Name: name, Reason: e.reason}
	case e.report == nil:
		return &NodeError{Name: name, Reason: "ended without a result"}
	}
	return nil
}

// add adds the report of a process to an outcome.
func (c *crew) add(out *Outcome, e ended) {
	out.Frames += e.report.Sent
	out.Strays += e.report.Strays
	out.Ports = append(out.Ports, e.report.Ports...)
	if e.report.Timing != nil {
		out.Timing.Merge(*e.report.Timing)
	}
}

// openInside opens the drivers of the nodes that are driven here. To open or close a
// packet socket takes the kernel long, but it can do many at once.
func (c *crew) openInside() error {
	var ids []int
	for i := range c.configs {
		if c.run.inDriver(i) && c.run.Here(i) {
			ids = append(ids, i)
		}
	}
	drivers, conns := make([]*insideNode, len(ids)), make(map[int]*netio.Mixed, len(ids))
	var mu sync.Mutex
	err := eachAtOnce(len(ids), func(at int) (err error) {
		i := ids[at]
		conn, err := c.open(i)
		if err != nil {
			return fmt.Errorf("node %s: %w", c.configs[i].Name, err)
		}
		if mixed, ok := conn.(*netio.Mixed); ok {
			mu.Lock()
			conns[i] = mixed
			mu.Unlock()
		}
		drivers[at], err = c.driver(i, conn)
		return err
	})
	for _, d := range drivers {
		if d != nil {
			c.inside = append(c.inside, d)
		}
	}
	if err != nil {
		return err
	}
	for _, l := range c.run.Plan.Links {
		if c.run.inMemory(l) && c.run.Here(l.A.Node) {
			netio.Join(conns[l.A.Node].Memory, l.A.Port, conns[l.B.Node].Memory, l.B.Port)
		}
	}
	return nil
}

// open opens the ports of a node: its interfaces, and its links in memory if it has
// any.
func (c *crew) open(i int) (netio.Conn, error) {
	s := c.net.spaces[i]
	if c.run.Processes != SwitchProcess {
		slots := c.configs[i].Slots
		if c.run.Wall != nil {
			slots = 0
		}
		return s.conn(s.interfaces, c.run.MaxFrame(), slots)
	}
	var ports, indices []int
	for port, index := range s.interfaces {
		if index != 0 {
			ports, indices = append(ports, port), append(indices, index)
		}
	}
	var outside netio.Conn = netio.NewMemory(0) // a switch without hosts
	if len(indices) > 0 {
		conn, err := s.conn(indices, c.run.MaxFrame(), 0)
		if err != nil {
			return nil, err
		}
		outside = conn
	}
	return netio.NewMixed(len(c.configs[i].Ports), outside, ports), nil
}

// driver returns the driver of a node, which owns conn.
func (c *crew) driver(i int, conn netio.Conn) (*insideNode, error) {
	pool := new(wire.Pool)
	overflow := stream.Block
	if c.run.Wall != nil {
		overflow = stream.Drop
	}
	records := stream.NewBuffer(i, overflow, metrics.Consumers{c.records, c.exposer})
	m, err := c.run.Plan.Nodes[i].New(pool, records)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &insideNode{emu.New(c.configs[i], m, pool, conn, records), records}, nil
}

// addInside ends the nodes that were driven here and adds their counts to an outcome.
func (c *crew) addInside(out *Outcome) error {
	for _, n := range c.inside {
		if c.run.Wall == nil {
			if err := n.Drain(); err != nil {
				return err
			}
		}
		if err := n.CloseCapture(); err != nil {
			return err
		}
		n.records.Finish()
		n.Finish(out.End)
		n.records.Close()
		out.Frames += n.Sent()
		out.Strays += n.Strays()
		out.Ports = append(out.Ports, n.PortCounts()...)
	}
	return nil
}

// drained reports whether a run that ended at a model time ended because nothing was
// due.
func (c *crew) drained(end units.Time) bool {
	return c.run.Plan.End == units.Never || end < c.run.Plan.End
}

// eachAtOnce calls f for 0 to n-1, all at once.
func eachAtOnce(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}
