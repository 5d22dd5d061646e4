package sim

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// barrier lets the workers of a simulation wait for each other. A worker that waits
// spins for a while, as windows are short, and then sleeps, as the others may have
// lost their core to another process.
type barrier struct {
	workers int32
	arrived atomic.Int32
	round   atomic.Uint32
	asleep  atomic.Int32
	mu      sync.Mutex
	wake    sync.Cond
	windows []paddedWindow // by shard: the first one in which something is due
	stop    atomic.Bool    // Progress ended the run within the open window
}

type paddedWindow struct {
	window int64
	_      [56]byte // of another cache line
}

// Spins of a worker that waits: with its core, then leaving it to other goroutines.
const (
	spins  = 1000
	yields = 20
)

func newBarrier(workers int) *barrier {
	b := &barrier{workers: int32(workers), windows: make([]paddedWindow, workers)}
	b.wake.L = &b.mu
	return b
}

// wait returns when all workers have called it. The last one calls Between of s, if s is
// not nil, before the others go on.
func (b *barrier) wait(s *Sim) {
	round := b.round.Load()
	if b.arrived.Add(1) == b.workers {
		if s != nil && s.cfg.Between != nil {
			s.cfg.Between()
		}
		b.arrived.Store(0)
		b.round.Add(1)
		if b.asleep.Load() > 0 {
			b.mu.Lock()
			b.wake.Broadcast()
			b.mu.Unlock()
		}
		return
	}
	for i := 0; b.round.Load() == round; i++ {
		switch {
		case i < spins:
		case i < spins+yields:
			runtime.Gosched()
		default:
			b.sleep(round)
		}
	}
}

// sleep returns when the round is over.
func (b *barrier) sleep(round uint32) {
	b.asleep.Add(1)
	b.mu.Lock()
	for b.round.Load() == round {
		b.wake.Wait()
	}
	b.mu.Unlock()
	b.asleep.Add(-1)
}

// agree returns the first window of all shards.
func (b *barrier) agree(w *shard, window int64) (first int64) {
	b.windows[w.id].window = window
	b.wait(w.sim)
	first = noWindow
	for i := range b.windows {
		first = min(first, b.windows[i].window)
	}
	return first
}
