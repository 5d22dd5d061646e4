package inproc

import (
	"runtime/debug"
	"sync"

	"github.com/csiglab/csiglab/orchestrator/plan"
)

// bounded counts the runs whose heap is bounded, of this process.
var bounded struct {
	sync.Mutex
	runs   int
	before int // percent
}

// boundHeap bounds the heap of a run of so many nodes as plan.HeapGrowth says until the caller
// calls end. It respects a lower percentage of the user, and a collector that is off (GOGC).
func boundHeap(nodes int) (end func()) {
	percent := plan.HeapGrowth(nodes)
	if percent >= plan.HeapGrowth(0) {
		return func() {}
	}
	bounded.Lock()
	defer bounded.Unlock()
	if bounded.runs++; bounded.runs == 1 {
		if bounded.before = debug.SetGCPercent(percent); bounded.before < percent {
			debug.SetGCPercent(bounded.before)
		}
	}
	return func() {
		bounded.Lock()
		defer bounded.Unlock()
		if bounded.runs--; bounded.runs == 0 {
			debug.SetGCPercent(bounded.before)
		}
	}
}
