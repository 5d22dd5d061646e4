// Package garbage says when Go's collector works in a program whose heap is small.
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
)

const (
	// usual is the percentage of Go's default: the heap grows to twice what is in use.
	usual = 100
	// smallest is the heap in bytes at which Go first collects garbage under that default.
	smallest = 4 << 20
)

// all is what the collector of the process has been told.
var all struct {
	sync.Mutex
	floor  uint64 // bytes; 0: none
	live   uint64 // bytes in use after the last collection
	bounds []int  // percentages of the Bounds that hold
	given  int    // percentage before the first of these, where Floor does not set it
	set    int    // percentage; 0: none yet
}

// Floor has the collector leave the heap alone until it has a size in bytes, at least 4 MiB.
// Go's default would collect a short program's garbage ten times on the way there. Above twice
// what is in use, collections are as by default, so that larger heaps are no larger. A limit of
// memory (GOMEMLIMIT) holds as ever, and Floor does nothing if the user has set GOGC.
func Floor(bytes uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	all.Lock()
	defer all.Unlock()
	all.floor = bytes
	apply()
	watch()
}

// watch looks at the heap after each collection.
func watch() {
	runtime.AddCleanup(new(sentinel), func(int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		all.Lock()
		defer all.Unlock()
		all.live = live[0].Value.Uint64()
		apply()
		watch()
	}, 0)
}

// sentinel is garbage, of which a collection tells by its cleanup. Objects without a pointer may share
// their memory with others.
type sentinel struct{ _ *byte }

// Bound has the heap grow by at most a percentage of what is in use until the caller calls end, for
// work that needs much of it. A lower one that the user has set (GOGC) holds.
func Bound(percent int) (end func()) {
	all.Lock()
	defer all.Unlock()
	if all.floor == 0 && len(all.bounds) == 0 {
		all.given = debug.SetGCPercent(percent)
	}
	all.bounds = append(all.bounds, percent)
	apply()
	return sync.OnceFunc(func() {
		all.Lock()
		defer all.Unlock()
		all.bounds = slices.Delete(all.bounds, slices.Index(all.bounds, percent), slices.Index(all.bounds, percent)+1)
		apply()
	})
}

// apply sets the percentage. The caller holds all.
func apply() {
	percent := all.given
	if all.floor > 0 {
		percent = percentOf(all.floor, all.live)
	}
	for _, bound := range all.bounds {
		percent = min(percent, bound) // a collector that is off, which is -1, stays so
	}
	if percent != all.set || len(all.bounds) > 0 {
		all.set = percent
		debug.SetGCPercent(percent)
	}
}

// percentOf returns the percentage (GOGC) with which the next collection comes at a size of the
// heap of which some bytes are in use. It also scales the size of the first collection.
func percentOf(size, live uint64) int {
	percent := usual * size / smallest
	if live > 0 {
		percent = min(percent, usual*max(size, live)/live-usual)
	}
	return int(max(usual, percent))
}
