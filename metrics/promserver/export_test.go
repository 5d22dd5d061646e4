package promserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Runs returns the run folders that have been loaded, in that order.
func (s *Server) Runs() []Loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.loaded)
}

// Query evaluates an expression of PromQL at each step from one moment to another, as
// /api/v1/query_range does, or once if step is 0. The error is one of the expression or of
// the limits of a query.
func (s *Server) Query(ctx context.Context, expression string, from, to time.Time, step time.Duration) (promql.Matrix, error) {
	ctx, leave, ok := s.enter(ctx)
	if !ok {
		return nil, fmt.Errorf("query %s: %w", expression, errClosed)
	}
	defer leave()
	var q promql.Query
	var err error
	if step <= 0 {
		q, err = s.engine.NewInstantQuery(ctx, limited{s.storage, &s.limits}, nil, expression, to)
	} else {
		q, err = s.engine.NewRangeQuery(ctx, limited{s.storage, &s.limits}, nil, expression, from, to, step)
	}
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expression, err)
	}
	defer q.Close()
	result := q.Exec(ctx)
	if result.Err != nil {
		return nil, fmt.Errorf("query %s: %w", expression, result.Err)
	}
	switch v := result.Value.(type) {
	case promql.Matrix:
		return copied(v), nil
	case promql.Vector:
		var m promql.Matrix
		for _, sample := range v {
			m = append(m, promql.Series{Metric: sample.Metric, DropName: sample.DropName, Floats: []promql.FPoint{{T: sample.T, F: sample.F}}})
		}
		return m, nil
	case promql.Scalar:
		return promql.Matrix{{Floats: []promql.FPoint{{T: v.T, F: v.V}}}}, nil
	case parser.Value:
		return nil, fmt.Errorf("query %s: it is a %s", expression, v.Type())
	}
	return nil, fmt.Errorf("query %s: it has no value", expression)
}

// copied returns a matrix whose points are not the engine's, which uses them again after
// the query is closed.
func copied(m promql.Matrix) promql.Matrix {
	c := make(promql.Matrix, len(m))
	for i, s := range m {
		c[i] = promql.Series{Metric: s.Metric, DropName: s.DropName, Floats: slices.Clone(s.Floats)}
	}
	return c
}
