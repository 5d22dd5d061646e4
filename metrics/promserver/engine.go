package promserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/metrics/promserver/limits"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

const (
	lookback     = 5 * time.Minute
	subqueryStep = time.Second // of a subquery that names none
)

// engine is Prometheus' engine within the limits. Prometheus' own limits are a time, which it
// looks at between steps and series, and a number of samples. They say nothing of the text
// of a query, of labels that functions make, of room for samples that do not come, and of all
// queries together.
type engine struct {
	promql.QueryEngine
	both        both
	limits      *limits.Limits
	quick, long *lane
	memory      *memory
}

func newEngine(b both, l *limits.Limits, p parser.Parser) *engine {
	return &engine{
		promql.NewEngine(promql.EngineOpts{
			Logger: promslog.NewNopLogger(), MaxSamples: l.Samples, Timeout: 2 * l.Time, // the query's context ends first
			LookbackDelta: lookback, EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return subqueryStep.Milliseconds() },
			Parser:                   p,
		}),
		b, l, newLane("short queries", l), newLane("long queries", l), newMemory(l),
	}
}

// NewInstantQuery implements promql.QueryEngine.
func (e *engine) NewInstantQuery(ctx context.Context, q storage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	inner, err := e.QueryEngine.NewInstantQuery(ctx, q, o, text, at)
	if err != nil {
		return nil, err
	}
	return &query{Query: inner, engine: e}, nil
}

// NewRangeQuery implements promql.QueryEngine.
func (e *engine) NewRangeQuery(ctx context.Context, q storage.Queryable, o promql.QueryOpts, text string, from, to time.Time, step time.Duration) (promql.Query, error) {
	inner, err := e.QueryEngine.NewRangeQuery(ctx, q, o, text, from, to, step)
	if err != nil {
		return nil, err
	}
	return &query{Query: inner, engine: e}, nil
}

// query is a query within the limits. It keeps its turn until it is closed: the answer has
// been written then.
type query struct {
	promql.Query
	engine *engine
	ends   []func() // what Close calls, the last one first
}

// Exec implements promql.Query.
func (q *query) Exec(ctx context.Context) *promql.Result {
	e := q.engine
	s, ok := q.Statement().(*parser.EvalStmt)
	if !ok {
		return &promql.Result{Err: fmt.Errorf("query %s: it is no expression", q)}
	}
	work, err := weigh(ctx, e.both, e.limits, s)
	if err != nil {
		return &promql.Result{Err: err}
	}
	class := e.long
	if work <= quickWork {
		class = e.quick
	}
	leave, err := class.enter(ctx)
	if err != nil {
		return &promql.Result{Err: err}
	}
	q.ends = append(q.ends, leave)
	ctx, stop := context.WithTimeoutCause(ctx, e.limits.Time, timeError(e.limits))
	ctx, cancel := context.WithCancelCause(ctx)
	q.ends = append(q.ends, stop, func() { cancel(nil) })
	running := &evaluation{work: work, cancel: cancel, gone: make(chan struct{})}
	e.memory.add(running)
	q.ends = append(q.ends, func() { e.memory.remove(running) })

	result := q.Query.Exec(ctx)
	var samples promql.ErrTooManySamples
	switch {
	case errors.As(result.Err, &samples):
		result.Err = &LimitError{"the query holds too many samples at a time", e.limits.Samples, limits.FlagSamples, tooMuch}
	case result.Err != nil:
		result.Err = limitOf(ctx, result.Err)
	default:
		if size := textSize(result.Value); size > float64(e.limits.Memory)/answers {
			result.Err = memoryError(e.limits, fmt.Sprintf("the answer has about %.0f MB, which is more than 1/%d of the memory of queries", size/1e6, answers))
		}
	}
	return result
}

// Close implements promql.Query.
func (q *query) Close() {
	q.Query.Close()
	for len(q.ends) > 0 {
		last := len(q.ends) - 1
		q.ends[last]()
		q.ends = q.ends[:last]
	}
}

// answers is the part of the memory of queries that the text of an answer may have: 1/16.
// Making the text cannot be interrupted, and takes several times its size.
const answers = 16

// textSize returns about how many bytes the text of a value has.
func textSize(value parser.Value) (bytes float64) {
	const sample, quotes = 32, 8 // a time and a number; what is around a label and its name
	add := func(l labels.Labels, samples int) {
		bytes += float64(samples * sample)
		l.Range(func(l labels.Label) { bytes += float64(len(l.Name) + len(l.Value) + quotes) })
	}
	switch v := value.(type) {
	case promql.Matrix:
		for _, s := range v {
			add(s.Metric, len(s.Floats))
		}
	case promql.Vector:
		for _, s := range v {
			add(s.Metric, 1)
		}
	}
	return bytes
}

// limited is the storage as queries read it: a query that reads too many series ends, and
// so does one whose context has ended.
type limited struct {
	both
	limits *limits.Limits
}

// Querier implements storage.Queryable.
func (l limited) Querier(from, to int64) (storage.Querier, error) {
	q, err := l.both.Querier(from, to)
	if err != nil {
		return nil, err
	}
	return &limitedQuerier{Querier: q, limits: l.limits}, nil
}

// limitedQuerier is what one query reads with. It has one goroutine.
type limitedQuerier struct {
	storage.Querier
	limits *limits.Limits
	series int // that have been read
}

// Select implements storage.Querier.
func (q *limitedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if ctx.Err() != nil {
		return storage.ErrSeriesSet(context.Cause(ctx))
	}
	steps := int64(1)
	if hints != nil && hints.Step > 0 {
		before := hints.Range // of the first step
		if before == 0 {
			before = lookback.Milliseconds()
		}
		steps += max(0, hints.End-hints.Start-before) / hints.Step
	}
	return &limitedSet{SeriesSet: q.Querier.Select(ctx, sorted, hints, matchers...), ctx: ctx, querier: q, steps: steps}
}

// LabelValues implements storage.LabelQuerier.
func (q *limitedQuerier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	values, notes, err := q.Querier.LabelValues(ctx, name, hints, matchers...)
	return values, notes, limitOf(ctx, err)
}

// LabelNames implements storage.LabelQuerier.
func (q *limitedQuerier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	names, notes, err := q.Querier.LabelNames(ctx, hints, matchers...)
	return names, notes, limitOf(ctx, err)
}

// limitedSet counts the series that a selector reads.
type limitedSet struct {
	storage.SeriesSet
	ctx     context.Context
	querier *limitedQuerier
	series  int64 // of this selector
	steps   int64 // at which each has a sample
	err     error
}

// Next implements storage.SeriesSet.
func (s *limitedSet) Next() bool {
	l := s.querier.limits
	switch {
	case s.err != nil:
	case s.ctx.Err() != nil:
		s.err = context.Cause(s.ctx)
	case !s.SeriesSet.Next():
		return false
	default:
		s.querier.series++
		s.series++
		if s.querier.series > l.Series {
			s.err = &LimitError{"the query reads too many series", l.Series, limits.FlagSeries, tooMuch}
		}
		// The engine makes room for a sample of each series at each step.
		if s.series*s.steps > int64(l.Samples) {
			s.err = &LimitError{fmt.Sprintf("a selector has more than %d series at %d steps, which is room for too many samples", s.series-1, s.steps), l.Samples, limits.FlagSamples, tooMuch}
		}
	}
	return s.err == nil
}

// Err implements storage.SeriesSet.
func (s *limitedSet) Err() error {
	if s.err != nil {
		return s.err
	}
	return limitOf(s.ctx, s.SeriesSet.Err())
}
