// Package garbage says when Go's collector works in a program whose heap is small.
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// usual is the percentage of Go's default: the heap grows to twice what is in use.
	usual = 100
	// smallest is the heap in bytes at which Go first collects garbage under that default.
	smallest = 4 << 20
)

// Floor has the collector leave the heap alone until it has a size in bytes, at least 4 MiB.
// Go's default would collect a short program's garbage ten times on the way there. Above twice
// what is in use, collections are as by default, so that larger heaps are no larger. A limit of
// memory (GOMEMLIMIT) holds as ever, and Floor does nothing if the user has set GOGC.
func Floor(bytes uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	f := &floor{bytes: bytes}
	f.set(0)
	f.watch()
}

type floor struct {
	bytes   uint64
	percent int // as set
}

// watch calls set after each collection.
func (f *floor) watch() {
	runtime.AddCleanup(new(sentinel), func(f *floor) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		f.set(live[0].Value.Uint64())
		f.watch()
	}, f)
}

// sentinel is garbage, of which a collection tells by its cleanup. Objects without a pointer may share
// their memory with others.
type sentinel struct{ _ *byte }

// set has the next collection come at the floor, or when the heap has twice the bytes that
// are in use.
func (f *floor) set(live uint64) {
	if percent := percentOf(f.bytes, live); percent != f.percent {
		f.percent = percent
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
