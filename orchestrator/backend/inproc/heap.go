package inproc

import (
	"runtime/debug"
	"sync"
)

// Nearly all of the heap of a run of many nodes is in use until its end, so that a collection
// finds little. Go's collector lets the heap grow to twice of what is in use all the same; in
// these runs it may grow by largePercent of that. A collection of 1 GB takes 0.4 s of CPU time.
const (
	largeNodes   = 5000
	largePercent = 30
)

// large counts the large runs that go on in this process.
var large struct {
	sync.Mutex
	runs   int
	before int // percent
}

// boundHeap bounds the heap of a run of so many nodes until the caller calls end. It respects
// a lower percentage of the user, and a collector that is off (GOGC).
func boundHeap(nodes int) (end func()) {
	if nodes < largeNodes {
		return func() {}
	}
	large.Lock()
	defer large.Unlock()
	if large.runs++; large.runs == 1 {
		if large.before = debug.SetGCPercent(largePercent); large.before < largePercent {
			debug.SetGCPercent(large.before)
		}
	}
	return func() {
		large.Lock()
		defer large.Unlock()
		if large.runs--; large.runs == 0 {
			debug.SetGCPercent(large.before)
		}
	}
}
