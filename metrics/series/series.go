// Package series turns a run folder into the series of package exposition, with timestamps
// of the wall: model time since the start of the run, stretched or not. It stores nothing
// and serves nothing: package promserver does, and writes OpenMetrics.
package series

import (
	"context"
	"time"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Options are how a folder is read.
type Options struct {
	// Run is the value of the label run; "": the name of the folder.
	Run string
	// Start is the moment at which model time 0 is shown; zero: the start of the run.
	Start time.Time
	// Stretch is how many seconds of the series a second of the model takes; 0: 1. The
	// timestamps of Prometheus have whole milliseconds, so that windows of 100 us need 1000
	// to be told apart.
	Stretch int
	// AllSeeds reads all seeds of a variant, and not the first one alone.
	AllSeeds bool
}

// Stretched is the stretch with which windows of 100 us stay apart.
const Stretched = 1000

// Label is a label of a Series.
type Label struct{ Name, Value string }

// Series identifies a series.
type Series struct {
	Name   string // with _bucket, _sum or _count of a histogram
	Family *exposition.Family
	Labels []Label // some values may be empty
}

// Sink takes series. The samples of one series come in ascending order of time; those of
// several series alternate. An error ends the reading.
type Sink interface {
	// Open returns the number of a new series, from 0.
	Open(s *Series) (int, error)
	// Append takes a sample; ms is milliseconds since 1970.
	Append(series int, ms int64, value float64) error
	// End says that the series has no value from then on.
	End(series int, ms int64) error
}

// Loaded says what has been read.
type Loaded struct {
	Run      string
	Stretch  int
	From, To time.Time // of the longest run
	Runs     []RunOf
	Series   int
	Samples  int64
	Took     time.Duration
	// OtherPorts is how many ports of the largest run have no series of their own.
	OtherPorts int
}

// RunOf is a run of the folder that has been read.
type RunOf struct {
	Variant string
	Seed    uint64
}

// Read reads a folder into a sink. The error is the sink's, the context's, or wraps
// runfolder.ErrDamaged.
func Read(ctx context.Context, f *runfolder.Folder, o Options, to Sink) (Loaded, error) {
	return Loaded{}, nil
}
