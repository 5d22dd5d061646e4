// Package limits has the limits of the queries that a server answers, with the flags that raise
// them. It is apart from package promserver so that csiglab knows the flags without Prometheus.
package limits

import (
	"cmp"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/units"
)

// Limits are what queries may cost, so that no query ends the server and others go on being
// answered. A field of zero is that of Default.
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

// Default returns the limits that a server has if none are given.
func Default() Limits {
	return Limits{
		Length: 64 * units.KB, Depth: 100, Nodes: 5000, Series: 100_000, Samples: 20_000_000,
		Time: 10 * time.Second, Memory: units.GB, Queries: max(2, runtime.GOMAXPROCS(0)/2), Waiting: 100,
	}
}

// WithDefaults returns the limits with those of Default instead of zeros.
func (l Limits) WithDefaults() Limits {
	d := Default()
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
