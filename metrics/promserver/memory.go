package promserver

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics/promserver/limits"
)

const (
	// lookInterval is how often the memory is looked at while there are queries.
	lookInterval = 10 * time.Millisecond
	// endWait is how long a query that is ended has for it before the next one is ended too.
	endWait = 200 * time.Millisecond
)

// memory ends queries when all of them together have more memory than they may. Go does not
// say whose memory it is: the query with the most work is ended first.
//
// The limit of Go's runtime (debug.SetMemoryLimit) makes it collect garbage early as the
// heap grows to it. So a heap beyond it is in use, and is no garbage that waits.
type memory struct {
	limits *limits.Limits

	mu      sync.Mutex
	running map[*evaluation]struct{}
	stored  uint64 // the heap without queries
	watched bool   // a goroutine looks at the memory
	before  int64  // the limit of Go's runtime that was set before that
}

// evaluation is a query that is evaluated.
type evaluation struct {
	work   float64
	cancel context.CancelCauseFunc
	ended  bool          // by the memory; with its lock held
	gone   chan struct{} // closed when it has finished
}

func newMemory(l *limits.Limits) *memory {
	return &memory{limits: l, running: map[*evaluation]struct{}{}}
}

// add adds an evaluation. The caller calls remove at its end.
func (m *memory) add(e *evaluation) {
	m.mu.Lock()
	grown := !m.watched && m.grown(heapSize())
	m.mu.Unlock()
	if grown {
		m.measure() // labs have been scraped for hours since the last query
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running[e] = struct{}{}
	if !m.watched {
		m.watched = true
		// Stacks and what the runtime has for itself are within its limit too.
		m.before = debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(m.before, int64(m.stored+m.stored/8)+int64(m.limits.Memory)*3/4))
		go m.watch()
	}
}

// grown reports whether so much of the heap is new that its size should be measured again.
func (m *memory) grown(heap uint64) bool { return heap > m.stored+uint64(m.limits.Memory)/4 }

func (m *memory) remove(e *evaluation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, e)
	close(e.gone)
}

// measure says that what the heap has now is stored, and is no query's.
func (m *memory) measure() {
	runtime.GC() //nolint:revive // the size of the heap is known only after a collection
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.running) > 0 {
		return // the heap has a query's memory; the next measurement comes when it has ended
	}
	m.stored = read("/gc/heap/live:bytes")
}

// heapSize returns what the heap has now, with garbage.
func heapSize() uint64 { return read("/memory/classes/heap/objects:bytes") }

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// watch looks at the memory while there are queries.
func (m *memory) watch() {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	grown := false
	for range tick.C {
		m.mu.Lock()
		heap := heapSize()
		grown = grown || m.grown(heap)
		if len(m.running) == 0 {
			m.watched = false
			debug.SetMemoryLimit(m.before)
			m.mu.Unlock()
			if grown {
				m.measure()
			}
			return
		}
		var most *evaluation
		if heap > m.stored+uint64(m.limits.Memory) {
			for e := range m.running {
				if !e.ended && (most == nil || e.work > most.work) {
					most = e
				}
			}
		}
		if most != nil {
			most.ended = true
		}
		m.mu.Unlock()
		if most == nil {
			continue
		}
		most.cancel(memoryError(m.limits, "queries have too much memory together, and this one has the most work"))
		select {
		case <-most.gone:
			runtime.GC() //nolint:revive // otherwise its garbage ends the next one
		case <-time.After(endWait):
		}
	}
}
