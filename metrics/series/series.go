// Package series turns a run folder into the series of package exposition, with timestamps
// of the wall: model time since Origin, stretched or not. It stores nothing
// and serves nothing: package promserver does, and writes OpenMetrics.
//
// A gauge of a telemetry window has the time of the window's beginning, so that a query at
// any moment gets the window that the moment is in; a counter has that of the end. Idle
// windows have no rows: a gauge goes to its idle value where the last row before a gap
// ends, and again one window before the next row. Where several windows fall into one
// millisecond, a gauge has the worst of them: the highest utilisation, the least available
// bandwidth.
//
// Memory grows with the number of series, and of the flows' records with that of windows,
// up to a limit above which several windows become one. A port named OtherPorts stands for
// many: its rate is their sum, its available bandwidth the worst port's share of that.
package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Options are how a folder is read.
type Options struct {
	// Run is the value of the label run; "": the name of the folder.
	Run string
	// Start is the moment at which model time 0 is shown; zero: Origin.
	Start time.Time
	// Stretch is how many seconds of the series a second of the model takes; 0: that of
	// StretchOf.
	Stretch int
	// AllSeeds reads all seeds of a variant, and not the first one alone.
	AllSeeds bool
	// Meaning is what is known of metrics; nil: nothing.
	Meaning meaning.Of
}

// Origin is the moment at which model time 0 is shown. It is the same for all runs, so that two
// of them lie on each other, and the time of day on an axis is model time.
var Origin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// MostStretch is the greatest Options.Stretch.
const MostStretch = 1_000_000

// StretchOf returns the least power of ten with which a telemetry window of a run takes 100 ms or
// more of the time axis, at most MostStretch. Prometheus has whole milliseconds, and dashboards ask
// for a value in each 100 ms at most. A lab keeps its time, as it goes on for minutes or hours.
func StretchOf(m *runfolder.Manifest) int {
	stretch := 1
	for !m.Options.Held && m.IntervalUS*float64(stretch) < 100e3 && stretch < MostStretch {
		stretch *= 10
	}
	return stretch
}

// MostPorts is up to how many ports a variant has series by port. Of a larger one, the
// MostPorts/2 ports with the deepest queues, and among equals those that sent most, have
// series of their own. The others are one port named OtherPorts for each tier and
// direction: its counters and rates are sums, its gauges the worst of these ports, and it
// has no histograms. Its available bandwidth is the least share of a port's rate that is
// available at any of them, times the sum of their rates, so that it over the rate is that
// share, as of a single port.
const (
	MostPorts  = 1024
	OtherPorts = "others"
)

// Label is a label of a Series.
type Label struct{ Name, Value string }

// Series identifies a series.
type Series struct {
	Name   string  // with _bucket, _sum or _count of a histogram
	Labels []Label // valid UTF-8; some values may be empty
}

// Sink takes series. The samples of one series come in ascending order of time; those of
// several series alternate. An error ends the reading.
type Sink interface {
	// Open returns the number of a new series, from 0.
	Open(s *Series) (int, error)
	// Append takes a sample; ms is milliseconds since 1970.
	Append(series int, ms int64, value float64) error
	// End says that the series has no value from then on, until a later sample.
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
	// Late is how many rows were left out because a later window of the same port had come
	// before them. No folder that csiglab has written has any.
	Late int64
}

// RunOf is a run of the folder that has been read.
type RunOf struct {
	Variant string
	Seed    uint64
}

// most is the latest time in a folder that is believed, in us: 1000 hours.
const most = 1000 * 3600e6

// reader reads one folder.
type reader struct {
	ctx  context.Context
	f    *runfolder.Folder
	o    Options
	to   Sink
	runs map[RunOf]*run
	list []*run // in the order of the manifest
	out  Loaded
	rows int64
	err  error // the first one of the sink
}

// run is one run of the folder.
type run struct {
	*reader
	RunOf
	variant  *runfolder.Variant
	manifest *runfolder.Run
	common   []string // values of exposition.CommonLabels
	interval int64    // ps
	zero     int64    // ms since 1970 at which model time 0 is shown
	end      int64    // ps: the latest end of anything
	lines    []*line
	ports    ports
	flows    flows
	marks    []mark
}

// Read reads a folder into a sink. The error is the sink's, the context's, or wraps
// runfolder.ErrDamaged.
func Read(ctx context.Context, f *runfolder.Folder, o Options, to Sink) (Loaded, error) {
	began := time.Now()
	m := &f.Manifest
	if o.Run == "" {
		path, err := filepath.Abs(f.Dir)
		if err != nil {
			return Loaded{}, err
		}
		o.Run = filepath.Base(path)
	}
	if o.Stretch == 0 {
		o.Stretch = StretchOf(m)
	}
	if o.Start.IsZero() {
		o.Start = Origin
	}
	switch {
	case o.Stretch < 0 || o.Stretch > MostStretch:
		return Loaded{}, fmt.Errorf("a stretch of %d: want 1 to %d", o.Stretch, MostStretch)
	case !(m.IntervalUS > 0) || m.IntervalUS > most:
		return Loaded{}, fmt.Errorf("%w: the manifest has a telemetry interval of %v us", runfolder.ErrDamaged, m.IntervalUS)
	case o.Start.Year() < 1970 || o.Start.Year() > 9999:
		return Loaded{}, fmt.Errorf("the run would start in the year %d", o.Start.Year())
	}
	r := &reader{ctx: ctx, f: f, o: o, to: to, runs: map[RunOf]*run{}}
	r.choose()
	for _, step := range []func() error{r.readPorts, r.readFlows, r.readJobs, r.readPhases, r.readMarks, r.readMetrics, r.finish} {
		if err := step(); err != nil {
			return Loaded{}, err
		}
	}
	r.out.Run, r.out.Stretch, r.out.Took = o.Run, o.Stretch, time.Since(began)
	return r.out, nil
}

// choose makes the list of runs.
func (r *reader) choose() {
	m := &r.f.Manifest
	for i := range m.Runs {
		of := RunOf{m.Runs[i].Variant, m.Runs[i].Seed}
		at := slices.IndexFunc(m.Variants, func(v runfolder.Variant) bool { return v.Name == of.Variant })
		known := slices.ContainsFunc(r.list, func(one *run) bool { return one.Variant == of.Variant })
		if at < 0 || known && !r.o.AllSeeds || r.runs[of] != nil {
			continue
		}
		one := &run{
			reader: r, RunOf: of, variant: &m.Variants[at], manifest: &m.Runs[i],
			common:   []string{r.o.Run, of.Variant, strconv.FormatUint(of.Seed, 10), strconv.Itoa(r.o.Stretch)},
			interval: max(1, int64(math.Round(m.IntervalUS*1e6))), zero: r.o.Start.UnixMilli(),
		}
		r.runs[of], r.list = one, append(r.list, one)
		r.out.Runs = append(r.out.Runs, of)
	}
}

// of returns the run of a row, nil if it is not read.
func (r *reader) of(variant string, seed uint64) *run { return r.runs[RunOf{variant, seed}] }

// check returns the error of the sink or, now and then, of the context.
func (r *reader) check() error {
	if r.rows++; r.rows%4096 == 0 {
		if err := context.Cause(r.ctx); err != nil {
			return err
		}
	}
	return r.err
}

// ps returns a time of a row in ps.
func ps(us float64) (int64, error) {
	if !(us >= 0) || us > most {
		return 0, fmt.Errorf("%w: a row has the time %v us", runfolder.ErrDamaged, us)
	}
	return int64(math.Round(us * 1e6)), nil
}

// window returns the beginning and the length of a row's window in ps, and moves the end of the
// run behind it.
func (r *run) window(startUS, lengthUS float64) (start, length int64, err error) {
	if start, err = ps(startUS); err == nil {
		length, err = ps(lengthUS)
	}
	length = max(length, r.interval)
	r.end = max(r.end, start+length)
	return start, length, err
}

// floor returns the millisecond that a moment is in; ceil the first one that is not before
// it.
func (r *run) floor(ps int64) int64 { return r.zero + r.stretched(ps, 0) }
func (r *run) ceil(ps int64) int64  { return r.zero + r.stretched(ps, 1e9-1) }

func (r *run) stretched(ps, up int64) int64 {
	const ms = 1e9
	s := int64(r.o.Stretch)
	return ps/ms*s + (ps%ms*s+up)/ms
}

// series opens a series of a family.
func (r *run) series(f *exposition.Family, part exposition.Part, bucket int, values []string) int {
	sample := exposition.Sample{Family: f, Part: part, Bucket: bucket}
	s := Series{Name: sample.Name(), Labels: make([]Label, 0, len(r.common)+len(values)+1)}
	for i, v := range r.common {
		s.Labels = append(s.Labels, Label{exposition.CommonLabels[i], strings.ToValidUTF8(v, "\ufffd")})
	}
	for i, v := range values {
		s.Labels = append(s.Labels, Label{f.Labels[i], strings.ToValidUTF8(v, "\ufffd")})
	}
	if part == exposition.PartBucket {
		s.Labels = append(s.Labels, Label{"le", sample.Bound()})
	}
	number, err := r.to.Open(&s)
	r.fail(err)
	r.out.Series++
	return number
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// finish writes what is constant and ends all series.
func (r *reader) finish() error {
	for _, one := range r.list {
		one.ports.finish()
		one.describe()
		end := max(one.ceil(one.end), one.zero+1)
		for _, l := range one.lines {
			l.finish(end)
		}
		one.lines = nil
		from, to := time.UnixMilli(one.zero).UTC(), time.UnixMilli(end).UTC()
		if r.out.To.IsZero() || to.After(r.out.To) {
			r.out.From, r.out.To = from, to
		}
	}
	if r.out.To.IsZero() {
		return errors.New("the folder has no run that has finished")
	}
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	return r.err
}

// describe writes the series of the run itself.
func (r *run) describe() {
	m, v := &r.f.Manifest, r.variant
	constant := func(name string, value float64, values ...string) {
		r.line(name, values...).set(r.zero, value)
	}
	number := 1 + slices.IndexFunc(m.Variants, func(o runfolder.Variant) bool { return o.Name == v.Name })
	constant(exposition.RunInfo, 1, m.Name, m.Runtime, m.Clock, v.CC, v.LB, v.AQM, v.CSIG, strconv.Itoa(number))
	valid := 0.0
	if r.manifest.Valid {
		valid = 1
	}
	constant(exposition.RunValid, valid)
	constant(exposition.RunEnd, float64(r.ceil(r.end))/1e3)
	constant(exposition.RunDropped, float64(r.manifest.DroppedRecords))
	if m.Dilation > 0 {
		constant(exposition.RunDilated, m.Dilation)
	}
	if f := r.manifest.Fidelity; f != nil {
		constant(exposition.RunDelay, f.SmallestDelayUS/1e6)
		constant(exposition.NodeLateness, f.LatenessMaxUS/1e6, "")
		lost := map[string]int64{}
		for _, l := range f.Mismatches {
			lost[l.To] += l.Lost
		}
		for _, n := range m.NodesOf(v.Name) {
			constant(exposition.NodeLost, float64(lost[n.Name]), n.Name)
		}
	}
}
