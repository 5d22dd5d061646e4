package inproc

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// BenchmarkSchedule reports how many times as fast as one worker more workers would be, on a
// machine that has a core for each. One worker runs the plan, and the CPU time of each node's turn
// in each window is measured. Then the turns are given to as many workers as plan.Split does, and a
// window takes as long as the worker with most to do, and longer by the time that two barriers
// take; windows that sim runs in one worker take the sum.
//
//   - Nx: the speed-up with N workers; Nx-even: if all had equal shares of each window; Nx-always:
//     if no window were run by one worker alone
//   - alone: share of the time in windows that one worker of two runs alone
//   - most: share of the time of the node that takes most of it
//   - us/window: what the turns of a window take together
func BenchmarkSchedule(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"1024", permutation(1024, 8, "500kB")},
		{"8192", permutation(8192, 16, "500kB")},
		{"rack", `
schema: 1
name: rack
topology: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 16, rate: 800Gbps, delay: 1us}}
workload: {permutation: {size: 50MB, seed: 1}}
`},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := compiled(b, c.text)
			for b.Loop() {
				newSchedule(b, p).report(b)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// barriers is how long the two barriers of a window take together, for each worker: each adds to one
// word in memory, one after the other. We assume 75 ns for an addition that others contend for.
const barriers = 150 * time.Nanosecond

// worthSharing is that of sim.Config.
const worthSharing = 24

// schedule adds up what the turns of a run take.
type schedule struct {
	width   units.Duration
	horizon units.Time // of the open window
	node    int32      // whose turn it is
	began   time.Duration
	clock   time.Duration   // what reading the clock takes
	nodes   []time.Duration // by node
	crews   []*crew
}

// crew is a number of workers, and the time that they would take.
type crew struct {
	shards             []int
	costs              []time.Duration // of the open window, by worker
	turns              []int
	wall, even, always time.Duration
	alone, together    time.Duration // CPU time in windows that one runs, and in the others
	windows            int
}

// newSchedule runs a plan with one worker.
func newSchedule(b *testing.B, p *plan.Plan) *schedule {
	a, err := assemble(context.Background(), &backend.Run{Plan: p, Workers: 1}, backend.Control{Records: metrics.NewCollector(len(p.Nodes))})
	if err != nil {
		b.Fatal(err)
	}
	s := &schedule{width: a.config.Links[0].Delay, node: -1, nodes: make([]time.Duration, len(p.Nodes))}
	for _, l := range a.config.Links {
		s.width = min(s.width, l.Delay)
	}
	for _, workers := range []int{2, 8, 32, 64} {
		if shards, n := p.Split(workers); n > 1 {
			s.crews = append(s.crews, &crew{shards: shards, costs: make([]time.Duration, n), turns: make([]int, n)})
		}
	}
	for i := range a.config.Nodes {
		n := &a.config.Nodes[i]
		touch, _ := n.Machine.(node.Toucher)
		n.Machine = &timed{Machine: n.Machine, touch: touch, id: int32(i), schedule: s}
	}
	a.config.Worker = nil
	a.account(func() {
		const readings = 1000
		start := threadCPU()
		for range readings {
			threadCPU()
		}
		s.clock = (threadCPU() - start) / readings
		s.began = threadCPU()
		sim.New(a.config).Run()
		s.enter(-1, units.Never)
	})
	return s
}

// timed is a machine whose turns are measured.
type timed struct {
	node.Machine
	touch    node.Toucher
	id       int32
	schedule *schedule
}

// Receive implements node.Machine.
func (t *timed) Receive(now units.Time, port int, p *wire.Packet) {
	t.schedule.enter(t.id, now)
	t.Machine.Receive(now, port, p)
}

// Transmit implements node.Machine.
func (t *timed) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	t.schedule.enter(t.id, now)
	return t.Machine.Transmit(now, port)
}

// HandleTimeout implements node.Machine.
func (t *timed) HandleTimeout(now units.Time) {
	t.schedule.enter(t.id, now)
	t.Machine.HandleTimeout(now)
}

// Touch implements node.Toucher.
func (t *timed) Touch() (sum int64) {
	if t.touch != nil {
		sum = t.touch.Touch()
	}
	return sum
}

// enter says that a node is called. If its turn begins, that of the node before has ended.
func (s *schedule) enter(id int32, now units.Time) {
	if id == s.node && now < s.horizon {
		return
	}
	clock := threadCPU()
	if s.node >= 0 {
		cost := max(0, clock-s.began-s.clock)
		s.nodes[s.node] += cost
		for _, c := range s.crews {
			worker := c.shards[s.node]
			c.costs[worker] += cost
			c.turns[worker]++
		}
	}
	if now >= s.horizon {
		for _, c := range s.crews {
			c.end()
		}
		s.horizon = units.Time(int64(now)/int64(s.width)+1) * units.Time(s.width)
	}
	s.node, s.began = id, clock
}

// end ends a window.
func (c *crew) end() {
	var sum, most time.Duration
	turns, mostTurns := 0, 0
	for i, cost := range c.costs {
		sum, most = sum+cost, max(most, cost)
		turns, mostTurns = turns+c.turns[i], max(mostTurns, c.turns[i])
	}
	clear(c.costs)
	clear(c.turns)
	wait := barriers * time.Duration(len(c.costs))
	c.windows++
	c.always += min(sum, most+wait)
	if turns-mostTurns < worthSharing {
		c.alone, c.wall, c.even = c.alone+sum, c.wall+sum, c.even+sum
		return
	}
	c.together += sum
	c.wall += most + wait
	c.even += sum/time.Duration(len(c.costs)) + wait
}

func (s *schedule) report(b *testing.B) {
	for i, c := range s.crews {
		all := (c.alone + c.together).Seconds()
		name := fmt.Sprintf("%dx", len(c.costs))
		b.ReportMetric(all/c.wall.Seconds(), name)
		b.ReportMetric(all/c.even.Seconds(), name+"-even")
		b.ReportMetric(all/c.always.Seconds(), name+"-always")
		if i == 0 {
			b.ReportMetric(c.alone.Seconds()/all, "alone")
			b.ReportMetric(slices.Max(s.nodes).Seconds()/all, "most")
			b.ReportMetric(all*1e6/float64(c.windows), "us/window")
		}
	}
}
