package promserver

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/csiglab/csiglab/metrics/exposition"
)

// WriteOpenMetrics writes what has been loaded in the text format OpenMetrics 1.0: families
// by name, the samples of a series one after another in order of time. Markers of the end
// of a series have no text. The error is w's, or the context's.
func (s *Server) WriteOpenMetrics(ctx context.Context, w io.Writer) error {
	q, err := s.storage.loaded.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return err
	}
	defer q.Close()
	o := openMetrics{ctx: ctx, from: q, w: bufio.NewWriterSize(w, 1<<16)}
	list := slices.Clone(exposition.Families)
	slices.SortFunc(list, func(a, b exposition.Family) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list {
		if err := o.family(&list[i]); err != nil {
			return err
		}
	}
	o.w.WriteString("# EOF\n") //nolint:errcheck // Flush returns it
	return o.w.Flush()
}

// openMetrics writes OpenMetrics.
type openMetrics struct {
	ctx  context.Context
	from storage.Querier
	w    *bufio.Writer
	line []byte
}

// family writes a family, unless there is no sample of it.
func (o *openMetrics) family(f *exposition.Family) error {
	describe := sync.OnceFunc(func() {
		o.w.Write(f.AppendDescription(nil, exposition.OpenMetrics)) //nolint:errcheck // Flush returns it
	})
	if f.Type == exposition.Histogram {
		return o.histograms(f.Name, describe)
	}
	set := o.selectAll(f.Name)
	for set.Next() {
		describe()
		series := set.At()
		prefix := string(appendSeries(nil, series.Labels()))
		err := o.each(series, func(ms int64, v float64) { o.sample(prefix, ms, v) })
		if err != nil {
			return err
		}
	}
	return set.Err()
}

func (o *openMetrics) selectAll(name string) storage.SeriesSet {
	return o.from.Select(o.ctx, true, nil, labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, name))
}

// histograms writes a family of histograms: all series of one at a moment, then those of
// the next moment.
func (o *openMetrics) histograms(name string, describe func()) error {
	type member struct {
		bound  float64
		prefix string
		series storage.Series
	}
	byLabels, order := map[string][]member{}, []string{}
	for i, suffix := range []string{"_bucket", "_sum", "_count"} {
		set := o.selectAll(name + suffix)
		for set.Next() {
			series := set.At()
			l := series.Labels()
			m := member{bound: math.Inf(1), prefix: string(appendSeries(nil, l)), series: series}
			if le := l.Get(model.BucketLabel); le != "" {
				m.bound, _ = strconv.ParseFloat(le, 64) //nolint:errcheck // the server has written it
			}
			key := string(appendSeries(nil, labels.NewBuilder(l).Del(model.BucketLabel).Set(model.MetricNameLabel, name).Labels()))
			if byLabels[key] == nil {
				order = append(order, key)
			}
			byLabels[key] = append(byLabels[key], m)
		}
		if err := set.Err(); err != nil {
			return err
		}
		if i == 0 {
			for _, members := range byLabels {
				slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.bound, b.bound) })
			}
		}
	}
	slices.Sort(order)
	for _, key := range order {
		describe()
		members := byLabels[key]
		type point struct {
			ms int64
			v  float64
		}
		points := make([][]point, len(members))
		for i, m := range members {
			if err := o.each(m.series, func(ms int64, v float64) { points[i] = append(points[i], point{ms, v}) }); err != nil {
				return err
			}
		}
		for at := range points[0] {
			for i, m := range members {
				if at < len(points[i]) {
					o.sample(m.prefix, points[i][at].ms, points[i][at].v)
				}
			}
		}
	}
	return nil
}

// each calls yield with the samples of a series.
func (o *openMetrics) each(s storage.Series, yield func(ms int64, v float64)) error {
	if err := context.Cause(o.ctx); err != nil {
		return err
	}
	it := s.Iterator(nil)
	for it.Next() == chunkenc.ValFloat {
		if ms, v := it.At(); !value.IsStaleNaN(v) {
			yield(ms, v)
		}
	}
	return it.Err()
}

// sample writes a line. Its time is in seconds.
func (o *openMetrics) sample(prefix string, ms int64, v float64) {
	b := exposition.AppendNumber(append(append(o.line[:0], prefix...), ' '), v)
	b = append(b, ' ')
	b = strconv.AppendInt(b, ms/1000, 10)
	b = append(b, '.', byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10), '\n')
	o.w.Write(b) //nolint:errcheck // Flush returns it
	o.line = b
}

// appendSeries appends a series' name and labels.
func appendSeries(b []byte, l labels.Labels) []byte {
	b = append(append(b, l.Get(model.MetricNameLabel)...), '{')
	l.Range(func(one labels.Label) {
		if one.Name != model.MetricNameLabel {
			b = exposition.AppendLabel(b, one.Name, one.Value)
		}
	})
	b[len(b)-1] = '}' // the last comma: each series has the common labels
	return b
}
