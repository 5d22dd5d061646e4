package promserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/csiglab/csiglab/internal/cause"
)

// loadedRange is the range of a block, in ms, of the storage of run folders: so long that
// its head takes samples of any time, and never becomes a block.
const loadedRange = int64(100 * 365 * 24 * time.Hour / time.Millisecond)

// openLoaded opens the storage of run folders. Each series of it is appended in order of
// time, but a folder may be older than the one loaded before it.
func openLoaded(dir string) (*tsdb.DB, error) {
	o := storageOptions()
	o.MinBlockDuration, o.MaxBlockDuration, o.RetentionDuration = loadedRange, loadedRange, 0
	return tsdb.Open(dir, promslog.NewNopLogger(), nil, o, nil)
}

// openScraped opens the storage of what is scraped from labs, which forgets what is older
// than the retention.
func openScraped(dir string, retention time.Duration) (*tsdb.DB, error) {
	o := storageOptions()
	// A head holds at most 1.5 blocks before it becomes a block on the disk.
	block := max(retention/8, 10*time.Minute).Milliseconds()
	o.MinBlockDuration, o.MaxBlockDuration, o.RetentionDuration = block, block, retention.Milliseconds()
	return tsdb.Open(dir, promslog.NewNopLogger(), nil, o, nil)
}

// storageOptions returns what both storages have in common: nothing of them outlives the
// server, so that they need no log of writes.
func storageOptions() *tsdb.Options {
	o := tsdb.DefaultOptions()
	o.WALSegmentSize = -1
	o.NoLockfile = true
	o.StripeSize = 1 << 10
	o.BlockReloadInterval = time.Duration(loadedRange) * time.Millisecond // see mapChunks
	return o
}

// mapInterval is how often full chunks of labs are written to files.
const mapInterval = time.Minute

// mapChunks writes full chunks to files, which need not stay in memory. A storage does this by itself
// at each BlockReloadInterval, and panics if it cannot, for example because the disk is full.
// The error says so, and full is set: the storage cannot be closed then.
func mapChunks(db *tsdb.DB, full *atomic.Bool) (err error) {
	defer func() {
		wrong := recover()
		if wrong == nil {
			return
		}
		cannot, ok := wrong.(error)
		if _, bug := wrong.(runtime.Error); bug || !ok {
			panic(wrong)
		}
		full.Store(true)
		err = fmt.Errorf("temporary folder %s: %w", filepath.Dir(db.Dir()), cause.Of(cannot))
	}()
	db.ForceHeadMMap()
	return nil
}

// mapScraped writes full chunks of labs to files from time to time, until the server is closed.
func (s *Server) mapScraped(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		if err := mapChunks(s.storage.scraped, &s.full); err != nil {
			s.config.Fail(fmt.Errorf("serve: %w", err))
			return
		}
	}
}

// both are the two storages as one that is read.
type both struct{ loaded, scraped *tsdb.DB }

func (b both) Querier(from, to int64) (storage.Querier, error) {
	list, err := openEach(b, func(db *tsdb.DB) (storage.Querier, error) { return db.Querier(from, to) })
	if err != nil {
		return nil, err
	}
	return storage.NewMergeQuerier(list, nil, storage.ChainedSeriesMerge), nil
}

func (b both) ChunkQuerier(from, to int64) (storage.ChunkQuerier, error) {
	list, err := openEach(b, func(db *tsdb.DB) (storage.ChunkQuerier, error) { return db.ChunkQuerier(from, to) })
	if err != nil {
		return nil, err
	}
	return storage.NewMergeChunkQuerier(list, nil, storage.NewCompactingChunkSeriesMerger(storage.ChainedSeriesMerge)), nil
}

// openEach opens a querier of each storage, or none.
func openEach[Q io.Closer](b both, open func(*tsdb.DB) (Q, error)) (list []Q, err error) {
	for _, db := range []*tsdb.DB{b.loaded, b.scraped} {
		q, err := open(db)
		if err != nil {
			for _, opened := range list {
				opened.Close() //nolint:errcheck // the first error is the cause
			}
			return nil, err
		}
		list = append(list, q)
	}
	return list, nil
}

// ExemplarQuerier returns the exemplars of the scraped storage, which has none: no family
// has exemplars.
func (b both) ExemplarQuerier(ctx context.Context) (storage.ExemplarQuerier, error) {
	return b.scraped.ExemplarQuerier(ctx)
}

// close closes the storages that were opened.
func (b both) close() error {
	var errs []error
	for _, db := range []*tsdb.DB{b.loaded, b.scraped} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
