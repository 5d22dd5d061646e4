package promserver

import (
	"context"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/metrics/promserver/limits"
)

// lane is a class of requests of which so many are worked on at a time. As many others wait
// as it has room for, in the order in which they came; what comes then is refused. Classes
// are apart so that queries that take long hold up no others.
type lane struct {
	what    string // such as "long queries"
	limits  *limits.Limits
	working chan struct{}
	waiting chan struct{}
}

func newLane(what string, l *limits.Limits) *lane {
	return &lane{what, l, make(chan struct{}, l.Queries), make(chan struct{}, l.Waiting)}
}

// enter waits for its turn, for the time of a query at most. The caller calls leave when it
// has finished. The error is a *LimitError, or that of ctx.
func (l *lane) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-l.working }
	select {
	case l.working <- struct{}{}:
		return leave, nil
	default:
	}
	select {
	case l.waiting <- struct{}{}:
	default:
		return nil, &LimitError{fmt.Sprintf("too many %s wait for their turn", l.what), l.limits.Waiting, limits.FlagWaiting, tooBusy}
	}
	defer func() { <-l.waiting }()
	patience := time.NewTimer(l.limits.Time)
	defer patience.Stop()
	select {
	case l.working <- struct{}{}:
		return leave, nil
	case <-patience.C:
		return nil, &LimitError{fmt.Sprintf("%d %s at a time were worked on for the %v that this one waited", l.limits.Queries, l.what, l.limits.Time), l.limits.Queries, limits.FlagQueries, tooBusy}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
