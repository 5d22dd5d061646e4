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
	spins   int // 0 if the workers have fewer cores
	arrived atomic.Int32
	round   atomic.Uint32
	asleep  atomic.Int32
	mu      sync.Mutex
	wake    sync.Cond
	stop    atomic.Bool // Progress ended the run within the open window

	// Written while all but one wait, so that all workers see the same.
	window  int64 // the next one; noWindow at the end
	stopped bool  // the end is that of stop
}

// spins is how often a worker that has a core looks before it sleeps: about as long as
// going to sleep and being woken take. A worker has a thread of its own, so that yielding to
// other goroutines would cost as much as sleeping.
const spins = 20_000

func newBarrier(workers int) *barrier {
	b := &barrier{workers: int32(workers)}
	if workers <= runtime.GOMAXPROCS(0) {
		b.spins = spins
	}
	b.wake.L = &b.mu
	return b
}

// wait returns when all workers have called it. The last one calls last, if it is not
// nil, before the others go on.
func (b *barrier) wait(last func()) {
	round := b.round.Load()
	if b.arrived.Add(1) == b.workers {
		if last != nil {
			last()
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
	for range b.spins {
		if b.round.Load() != round {
			return
		}
	}
	b.sleep(round)
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
