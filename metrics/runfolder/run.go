package runfolder

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/thinning"
	"github.com/csiglab/csiglab/units"
)

// RunData is what one run leaves at its end.
type RunData struct {
	Nodes       []metrics.NodeTotals // in node order; not kept
	TraceHash   [32]byte             // zero: the run has none, nor have its nodes
	Wall, CPU   time.Duration
	DataPackets int64
	Metrics     map[string]float64 // by name; a metric without a value is absent
	Matched     map[string]float64 // as RunMetrics.Matched
	Invalid     []string           // reasons why the run is not valid; none = valid
	Checks      []Check
	Fidelity    *Fidelity // of a run in real time
	Cut         *Cut      // of a run in several parts
	Programs    []Program // of hosts that run some
	Faults      []Fault   // in the experiment's order
	Notes       []string  // what a reader of the results should know of the run
}

// RunWriter writes one run, a variant with a seed, while the run goes on: into its part.
// When the run has finished, its rows are put into the tables of the folder, which so
// have whole runs only. It is a metrics.Consumer, and may be used from several
// goroutines. It holds a bounded number of records (held); its memory does not grow with the
// length of the run. Several runs of one folder may be written at a time. A nil RunWriter is that
// of a run without a folder: it keeps nothing.
//
//	Writer.BeginRun ── Consume … ──▶ End ──▶ in the tables and the manifest
//	                      └────────▶ Discard ──▶ nothing is left
type RunWriter struct {
	to    *Writer
	names *names
	flows []Flow
	own   bool // flows are not the variant's

	mu      sync.Mutex
	held    held
	part    *partWriter
	aged    *aged // nil: windows stay as they are, in part
	dropped int64
	leftOut int64               // operations that are not kept
	kept    []metrics.Operation // memory of keep
	ended   bool
	err     error
}

// BeginRun begins a run, which must not be in the folder yet. The nodes that its records
// name must be in the manifest. flows are those of the run, by number; nil: the variant's.
// The caller ends it with End or Discard, or ends the folder with Abort.
func (w *Writer) BeginRun(variant string, seed uint64, flows []Flow) (*RunWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &RunWriter{to: w, flows: w.manifest.FirstFlows(variant)}
	r.names = &names{lookup: w.lookupOf(variant), variant: variant, seed: seed, window: metrics.Absent}
	if w.closed {
		return nil, r.fail(ErrClosed)
	}
	if _, there := w.runs[r.key()]; there {
		return nil, r.fail(errors.New("the run is already there"))
	}
	if err := w.keepLast(); err != nil { // it was not the last
		return nil, r.fail(err)
	}
	r.part = newPartWriter(func() (*os.File, error) { return w.create(r.partName(begunSuffix)) })
	if flows != nil && !slices.Equal(flows, r.flows) {
		r.flows, r.own = flows, true
		r.names.lookup = r.names.withFlows(flows)
		if err := r.part.flows(flows); err != nil {
			return nil, r.fail(err)
		}
	}
	w.runs[r.key()] = true
	return r, nil
}

func (r *RunWriter) key() runKey { return runKey{r.names.variant, r.names.seed} }

func (r *RunWriter) partName(suffix string) string {
	return partName(r.names.variant, r.names.seed, suffix)
}

func (r *RunWriter) fail(err error) error {
	return fmt.Errorf("run folder %s: variant %s, seed %d: %w", r.to.dir, r.names.variant, r.names.seed, err)
}

// isClosed reports whether the folder was closed while the run went on.
func (w *Writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// Consume writes the windows of a batch. Totals and traces come with RunData. After an
// error, which Err returns, it drops what it gets.
func (r *RunWriter) Consume(b *metrics.Batch) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped += b.Dropped
	switch {
	case r.err != nil:
	case r.ended || r.to.isClosed():
		r.err = ErrClosed
	case r.aged != nil:
		windows, rest := thinning.Split(r.keep(b))
		if r.err = r.windows(&rest); r.err == nil && windows.Len() > 0 {
			r.err = r.aged.write(&windows)
		}
	default:
		r.err = r.windows(r.keep(b))
	}
}

// Thin has the windows of the run become longer with their age. It is called before Consume.
// End calls reading now and then with how many records of windows it has read, and how many
// there are; it may be nil.
func (r *RunWriter) Thin(t Thinning, reading func(read, all int64)) {
	if len(t.Steps) > 0 || t.Bytes > 0 {
		r.aged = newAged(r, t)
		r.aged.reading = reading
	}
}

// keep returns a batch without the operations that the folder does not keep.
func (r *RunWriter) keep(b *metrics.Batch) *metrics.Batch {
	if len(b.Operations) == 0 {
		return b
	}
	r.kept = r.kept[:0]
	for i := range b.Operations {
		o := &b.Operations[i]
		j := r.names.job(b.Node, o.Job)
		if (metrics.Kept{First: j.FirstSteps, Messages: j.Messages}).Has(o, j.Steps) {
			r.kept = append(r.kept, *o)
		}
	}
	r.leftOut += int64(len(b.Operations) - len(r.kept))
	only := *b
	only.Operations = r.kept
	return &only
}

// Err returns the first error of Consume, so that a run whose records cannot be
// written need not go on.
func (r *RunWriter) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return r.fail(r.err)
}

// End puts the rows of the run into the tables, and the run into the manifest. It
// returns the error of Consume, if there was one. It is called once.
func (r *RunWriter) End(d RunData) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.fail(errors.New("the run has ended"))
	}
	r.ended = true
	run := Run{
		Variant: r.names.variant, Seed: r.names.seed, TraceHash: hashText(d.TraceHash),
		WallSeconds: d.Wall.Seconds(), CPUSeconds: d.CPU.Seconds(), DataPackets: d.DataPackets, DroppedRecords: r.dropped, OperationsLeftOut: r.leftOut,
		Valid: len(d.Invalid) == 0, Reasons: d.Invalid, Checks: d.Checks, Fidelity: d.Fidelity, Cut: d.Cut, Programs: d.Programs, Faults: d.Faults, Notes: d.Notes,
	}
	if run.TraceHash != "" {
		run.NodeHashes = make([]NodeHash, len(d.Nodes))
		for i := range d.Nodes {
			run.NodeHashes[i] = NodeHash{d.Nodes[i].Name, hex.EncodeToString(d.Nodes[i].TraceHash[:])}
		}
	}
	if r.own {
		run.Flows = r.flows
	}
	err := r.err
	if err == nil && r.aged != nil {
		err = r.aged.end()
		run.Thinned = r.aged.thinned()
	}
	f := FinishedRun{run, RunMetrics{run.Variant, run.Seed, d.TraceHash, d.Metrics, d.Matched, Failed(d.Checks)}}
	part := r.needsPart()
	if err == nil && part {
		err = r.writePart(&f, d.Nodes)
	}
	if err != nil {
		r.discard()
		return r.fail(err)
	}
	if torn, err := r.join(f, d.Nodes, part); err != nil {
		r.discard()
		if torn {
			r.to.leave(r.key(), r.fail(err))
		}
		return r.fail(err)
	}
	return nil
}

// hashText returns a trace hash in hexadecimal, "" if it was left out.
func hashText(hash [32]byte) string {
	if hash == [32]byte{} {
		return ""
	}
	return hex.EncodeToString(hash[:])
}

// join puts the run into the tables and into the manifest. part says whether its part has been
// written; torn says of an error that the tables have rows of the run.
func (r *RunWriter) join(f FinishedRun, nodes []metrics.NodeTotals, part bool) (torn bool, err error) {
	w := r.to
	w.joining.Lock()
	defer w.joining.Unlock()
	if w.isClosed() {
		return false, ErrClosed
	}
	if !w.stopped.Load() {
		_, torn, err = w.putRows(r.names, r.flows, r.rows(&f, nodes), r.aged)
	}
	if err != nil && !errors.Is(err, ErrStopped) { // its part is whole
		return torn, err
	}
	if part {
		if err := r.entitle(); err != nil {
			return true, err
		}
	}
	if r.aged != nil {
		r.aged.discard()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !part {
		w.last = func() error { return errors.Join(r.writePart(&f, nodes), r.entitle()) }
	}
	w.enter(f)
	return false, nil
}

// entitle gives the part the name of a run that has finished.
func (r *RunWriter) entitle() error {
	return r.to.root.Rename(r.partName(begunSuffix), r.partName(runSuffix))
}

// rows returns what gives the rows of the run.
func (r *RunWriter) rows(f *FinishedRun, nodes []metrics.NodeTotals) partRows {
	if !r.held.full {
		return func(_ func([]Flow), windows func(*metrics.Batch) error) (FinishedRun, []metrics.NodeTotals, error) {
			return *f, nodes, r.held.each(windows)
		}
	}
	return func(flows func([]Flow), windows func(*metrics.Batch) error) (f FinishedRun, nodes []metrics.NodeTotals, err error) {
		file, err := r.to.root.Open(r.partName(begunSuffix))
		if err != nil {
			return f, nil, err
		}
		defer file.Close() // opened for reading
		return readPart(file, flows, windows)
	}
}

// partRows gives the flows of a run if they are not the variant's, and then its windows, batch by
// batch, and returns the rest, as readPart does.
type partRows func(flows func([]Flow), windows func(*metrics.Batch) error) (FinishedRun, []metrics.NodeTotals, error)

// putRows puts the rows of a run, and of windows that have aged, which may be nil, into the
// tables and returns the run. torn says of an error that the tables have some of the
// rows.
func (w *Writer) putRows(n *names, flows []Flow, part partRows, windows *aged) (f FinishedRun, torn bool, err error) {
	buffers := make([]buffer, len(w.tables))
	for i, t := range w.tables {
		buffers[i].table = t
	}
	consume := func(b *metrics.Batch) error {
		for i := range buffers {
			if err := buffers[i].consume(b, n); err != nil {
				return err
			}
		}
		return nil
	}
	batch := func(b *metrics.Batch) error {
		if w.stopped.Load() {
			return ErrStopped
		}
		return consume(b)
	}
	f, nodes, err := part(func(own []Flow) { flows, n.lookup = own, n.withFlows(own) }, batch)
	if err == nil && windows != nil {
		err = windows.each(func(b *metrics.Batch, interval units.Duration) error {
			n.window = cmp.Or(interval, metrics.Absent)
			return batch(b)
		})
		n.window = metrics.Absent
	}
	if err == nil {
		err = transfers(n, nodes, flows, consume)
	}
	for i := range buffers {
		if err == nil {
			err = buffers[i].flush()
		}
		torn = torn || buffers[i].given
	}
	return f, torn, err
}

// Discard gives up a run that does not finish: nothing of it is left, and it may begin
// again. After End it does nothing, so that it may be deferred.
func (r *RunWriter) Discard() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.ended = true
		r.discard()
	}
}

func (r *RunWriter) discard() {
	if r.aged != nil {
		r.aged.discard()
	}
	r.part.close()                            //nolint:errcheck // it is of no use
	r.to.root.Remove(r.partName(begunSuffix)) //nolint:errcheck // Stopped.Resume removes it otherwise
	r.to.leave(r.key(), nil)
}
