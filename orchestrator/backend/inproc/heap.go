package inproc

import (
	"context"
	"runtime"

	"github.com/csiglab/csiglab/internal/garbage"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// boundHeap bounds the heap of a run of so many nodes as plan.HeapGrowth says until the caller
// calls end.
func boundHeap(nodes int) (end func()) {
	if percent := plan.HeapGrowth(nodes); percent < plan.HeapGrowth(0) {
		return garbage.Bound(percent)
	}
	return func() {}
}

// collectHeap collects what a run of so many nodes no longer needs, if its heap is bounded. It
// returns as soon as ctx ends.
func collectHeap(ctx context.Context, nodes int) {
	if plan.HeapGrowth(nodes) >= plan.HeapGrowth(0) {
		return
	}
	done := make(chan struct{})
	go func() {
		runtime.GC()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
