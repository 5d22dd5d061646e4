package promserver

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/metrics/series"
)

// Sizes of what a loader has in memory at a time.
const (
	commitSamples = 50_000
	mapSamples    = 5_000_000 // after which full chunks are moved out of memory
)

// loader appends series to a storage. It is a series.Sink.
type loader struct {
	ctx      context.Context
	db       *tsdb.DB
	full     *atomic.Bool // see mapChunks
	appender storage.Appender
	series   []loadedSeries
	seen     map[uint64]bool // hashes of the labels of series
	pending  int             // samples that are not committed
	mapped   int             // samples since full chunks were moved out of memory
}

type loadedSeries struct {
	labels labels.Labels
	ref    storage.SeriesRef
}

// Open implements series.Sink.
func (l *loader) Open(s *series.Series) (int, error) {
	b := labels.NewScratchBuilder(len(s.Labels) + 1)
	b.Add(model.MetricNameLabel, s.Name)
	for _, label := range s.Labels {
		if label.Value != "" {
			b.Add(label.Name, label.Value)
		}
	}
	b.Sort()
	one := loadedSeries{labels: b.Labels()}
	// The storage would drop one of two samples of one moment when it is too late to say so.
	hash := one.labels.Hash()
	if l.seen[hash] {
		return 0, fmt.Errorf("%w: two series have the same labels: %.300s", runfolder.ErrDamaged, one.labels.String())
	}
	l.seen[hash] = true
	l.series = append(l.series, one)
	return len(l.series) - 1, nil
}

// Append implements series.Sink.
func (l *loader) Append(at int, ms int64, v float64) error {
	if l.appender == nil {
		l.appender = l.db.Appender(l.ctx)
	}
	s := &l.series[at]
	ref, err := l.appender.Append(s.ref, s.labels, ms, v)
	if err != nil {
		return err
	}
	s.ref = ref
	if l.pending++; l.pending == commitSamples {
		return l.commit()
	}
	return nil
}

// End implements series.Sink: a marker says that the series has ended.
func (l *loader) End(at int, ms int64) error {
	return l.Append(at, ms, math.Float64frombits(value.StaleNaN))
}

func (l *loader) commit() error {
	a := l.appender
	l.appender, l.mapped, l.pending = nil, l.mapped+l.pending, 0
	if err := a.Commit(); err != nil || l.mapped < mapSamples {
		return err
	}
	l.mapped = 0
	return mapChunks(l.db, l.full)
}

// end commits what has been appended.
func (l *loader) end() error {
	if l.appender == nil {
		return nil
	}
	if err := l.commit(); err != nil {
		return err
	}
	return mapChunks(l.db, l.full)
}
