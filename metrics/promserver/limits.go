package promserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/units"
)

// Limits are what queries may cost, so that no query ends the server and others go on being
// answered. A field of zero is that of DefaultLimits.
type Limits struct {
	Length  units.Size    // of a query's text, and of all selectors of a request
	Depth   int           // levels of brackets and operators
	Nodes   int           // words and signs of a query; repetitions in regular expressions count as many
	Series  int           // that a query reads
	Samples int           // that a query holds at a time: also its series times its steps
	Time    time.Duration // in which a query is evaluated; it waits for its turn as long at most
	Memory  units.Size    // of all queries together, beside what is stored
	Queries int           // that are evaluated at a time, of each class; by default half of the processors, at least 2
	Waiting int           // queries that wait for their turn, of each class
}

// DefaultLimits returns the limits that a Server has if its Config has none.
func DefaultLimits() Limits {
	return Limits{
		Length: 64 * units.KB, Depth: 100, Nodes: 5000, Series: 100_000, Samples: 20_000_000,
		Time: 10 * time.Second, Memory: units.GB, Queries: max(2, runtime.GOMAXPROCS(0)/2), Waiting: 100,
	}
}

// withDefaults returns the limits with those of DefaultLimits instead of zeros.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.Length = cmp.Or(l.Length, d.Length)
	l.Depth = cmp.Or(l.Depth, d.Depth)
	l.Nodes = cmp.Or(l.Nodes, d.Nodes)
	l.Series = cmp.Or(l.Series, d.Series)
	l.Samples = cmp.Or(l.Samples, d.Samples)
	l.Time = cmp.Or(l.Time, d.Time)
	l.Memory = cmp.Or(l.Memory, d.Memory)
	l.Queries = cmp.Or(l.Queries, d.Queries)
	l.Waiting = cmp.Or(l.Waiting, d.Waiting)
	return l
}

// Flags of csiglab serve that raise the limits, as its messages name them.
const (
	FlagLength  = "query-length"
	FlagDepth   = "query-depth"
	FlagNodes   = "query-nodes"
	FlagSeries  = "query-series"
	FlagSamples = "query-samples"
	FlagTime    = "query-time"
	FlagMemory  = "query-memory"
	FlagQueries = "queries"
	FlagWaiting = "queries-waiting"
)

// LimitError is a query that has been refused or ended because of a limit.
type LimitError struct {
	What   string // what the query has too much of
	Limit  any    // the limit's value
	Flag   string // that raises it, without dashes
	Status int    // of HTTP
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s; the limit is %v, and csiglab serve --%s raises it", e.What, e.Limit, e.Flag)
}

// Statuses of refusals: of a text that is too large, of a query that turned out to cost too
// much, and of a server that has too much to do.
const (
	tooLarge = http.StatusBadRequest
	tooMuch  = http.StatusUnprocessableEntity
	tooBusy  = http.StatusServiceUnavailable
)

func (l *Limits) timeError() *LimitError {
	return &LimitError{"the query takes too long", l.Time, FlagTime, tooBusy}
}

func (l *Limits) memoryError(what string) *LimitError {
	return &LimitError{what, l.Memory, FlagMemory, tooMuch}
}

// limitOf returns the limit because of which a context has ended; otherwise the error itself.
func limitOf(ctx context.Context, err error) error {
	var limit *LimitError
	if err != nil && errors.As(context.Cause(ctx), &limit) {
		return limit
	}
	return err
}

// statusOf gives a refusal its status. It is an override of the API's error codes, whose
// type N is not exported.
func statusOf[N any](_ N, err error) (code int, override bool) {
	var limit *LimitError
	if errors.As(err, &limit) {
		return limit.Status, true
	}
	return 0, false
}
