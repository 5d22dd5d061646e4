package inproc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/units"
)

// watch follows a run while its workers go on: it ends them when the context ends, and
// reports how much the hosts have received.
type watch struct {
	ctx      context.Context
	bytes    float64 // that will be received in all
	progress func(now units.Time, delivered float64)
	shards   []watchedShard
	mu       sync.Mutex // held while progress is called
}

// watchedShard is a shard, which its worker alone reads, but for delivered.
type watchedShard struct {
	receivers []receiver
	next      time.Time // when delivered is counted again
	delivered atomic.Int64
	_         [64]byte // the next one is in another cache line
}

// countEvery is the time between two counts of what the hosts of a shard have received, and
// countShare how many times as long as a count it is at least. A count reads all hosts.
const (
	countEvery = 25 * time.Millisecond
	countShare = 200
)

func newWatch(ctx context.Context, shards int, bytes units.Size, progress func(now units.Time, delivered float64)) *watch {
	return &watch{ctx: ctx, bytes: max(1, float64(bytes)), progress: progress, shards: make([]watchedShard, shards)}
}

// receiver is a machine that knows how many payload bytes have been received.
type receiver interface{ Delivered() int64 }

func (w *watch) add(shard int, r receiver) {
	w.shards[shard].receivers = append(w.shards[shard].receivers, r)
}

// over says that the run is over, when no worker runs: nothing is received any more.
func (w *watch) over() {
	w.progress = nil
	clear(w.shards)
}

// look is called by the worker of a shard now and then. It answers false if the run is to
// end.
func (w *watch) look(shard int, now units.Time) bool {
	watchdog.Moved()
	if w.ctx.Err() != nil {
		return false
	}
	s := &w.shards[shard]
	start := time.Now()
	if w.progress == nil || start.Before(s.next) {
		return true
	}
	var bytes int64
	for _, r := range s.receivers {
		bytes += r.Delivered()
	}
	s.delivered.Store(bytes)
	end := time.Now()
	s.next = end.Add(max(countEvery, countShare*end.Sub(start)))
	bytes = 0
	for i := range w.shards {
		bytes += w.shards[i].delivered.Load()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress(now, float64(bytes)/w.bytes)
	return true
}
