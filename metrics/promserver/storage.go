package promserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
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
	return o
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
