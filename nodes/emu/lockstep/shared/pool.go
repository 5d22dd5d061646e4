// Package shared runs nodes in lockstep: it holds the Board that they share, takes
// its lock around each call, and wakes the nodes that may go on. A Pool is for the
// nodes of one process, a Board for nodes in a process each.
package shared

import (
	"context"
	"sync"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/units"
)

// Pool runs nodes of one process in lockstep: each of a few goroutines takes any
// node that may advance, lets it have its turn, and takes the next.
type Pool struct {
	nodes []*emu.Node

	mu     sync.Mutex
	wake   *sync.Cond
	board  *lockstep.Board
	ready  []int // nodes that were woken and that nobody runs yet, in order
	idle   int   // goroutines that wait for a ready node
	done   int
	failed error
}

// NewPool returns a Pool of all nodes of a fabric, node i at place i. links are the
// fabric's, end is exclusive. Nodes with programs are refused.
func NewPool(nodes []*emu.Node, links []lockstep.Channel, end units.Time) (*Pool, error) {
	for _, n := range nodes {
		if err := n.CheckLockstep(); err != nil {
			return nil, err
		}
	}
	board, err := lockstep.New(make([]int64, lockstep.Words(len(nodes), len(links))), len(nodes), links, end)
	if err != nil {
		return nil, err
	}
	board.Reset()
	p := &Pool{nodes: nodes, board: board}
	p.wake = sync.NewCond(&p.mu)
	return p, nil
}

// Run runs the nodes on the given number of goroutines until the run is over, a
// node fails or ctx ends. It is called once.
func (p *Pool) Run(ctx context.Context, goroutines int) error {
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fail(context.Cause(ctx))
	})
	defer stop()
	p.board.Limit(make([]int, len(p.nodes)), goroutines)
	p.mu.Lock()
	for id, n := range p.nodes {
		horizon, verdict := p.board.Turn(id, n.Start())
		p.enlist()
		for verdict.Turn() && p.failed == nil { // the last one
			horizon, verdict = p.turn(id, horizon)
		}
		p.settle(verdict)
	}
	p.mu.Unlock()
	var all sync.WaitGroup
	for range goroutines {
		all.Go(p.work)
	}
	all.Wait()
	return p.failed
}

// Now returns the model time that all nodes have reached.
func (p *Pool) Now() units.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.board.Earliest()
}

// Grants returns how many turns were granted.
func (p *Pool) Grants() int64 { return p.board.Grants() }

// End returns when the run ended, in model time.
func (p *Pool) End() units.Time { return p.board.End() }

func (p *Pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer watchdog.Catch() // a machine runs with the lock released; Catch does not return
	for {
		for len(p.ready) == 0 && !p.over() {
			p.idle++
			p.wake.Wait()
			p.idle--
		}
		if p.over() {
			return
		}
		id := p.ready[0]
		p.ready = append(p.ready[:0], p.ready[1:]...)
		horizon, verdict := p.board.Ask(id)
		for verdict.Turn() && p.failed == nil {
			horizon, verdict = p.turn(id, horizon)
		}
		p.settle(verdict)
	}
}

func (p *Pool) over() bool { return p.failed != nil || p.done == len(p.nodes) }

// turn lets a node advance, with the lock released meanwhile.
func (p *Pool) turn(id int, horizon units.Time) (units.Time, lockstep.Verdict) {
	n := p.nodes[id]
	n.Grant(p.board)
	p.mu.Unlock()
	report, err := n.Turn(horizon)
	p.mu.Lock()
	if err != nil {
		p.fail(err)
		return 0, lockstep.Wait
	}
	next, verdict := p.board.Turn(id, report)
	p.enlist()
	return next, verdict
}

// enlist records the nodes that the last turn woke.
func (p *Pool) enlist() {
	p.ready = append(p.ready, p.board.Woken()...)
	if p.idle > 0 && len(p.ready) > 0 {
		p.wake.Signal()
	}
}

// settle records the verdict on a node that stops running.
func (p *Pool) settle(verdict lockstep.Verdict) {
	if verdict == lockstep.Done {
		p.done++
	}
	if p.over() {
		p.wake.Broadcast()
	}
}

func (p *Pool) fail(err error) {
	if p.failed == nil {
		p.failed = err
	}
	p.wake.Broadcast()
}
