package runfolder

import (
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics"
)

// RunData is what one run leaves at its end.
type RunData struct {
	Nodes       []metrics.NodeTotals // in node order; not kept
	TraceHash   [32]byte
	Wall, CPU   time.Duration
	DataPackets int64
	Invalid     []string // reasons why the run is not valid; none = valid
	Checks      []Check
	Fidelity    *Fidelity // of a run in real time
	Programs    []Program // of hosts that run some
	Notes       []string  // what a reader of the results should know of the run
}

// RunWriter writes one run, a variant with a seed, into the tables of its folder
// while the run goes on. It is a metrics.Consumer, and may be used from several
// goroutines. It holds a bounded number of rows; its memory does not grow with the
// length of the run. Several runs of one folder may be written at a time.
//
//	Writer.BeginRun ── Consume … ──▶ End ──▶ in the manifest
type RunWriter struct {
	to *Writer

	mu      sync.Mutex
	names   *names
	flows   []Flow
	buffers []buffer
	dropped int64
	ended   bool
	err     error
}

// BeginRun begins a run, which must not be in the folder yet. The flows and nodes
// that its records name must be in the manifest. The caller ends it with End, or
// ends the folder with Abort.
func (w *Writer) BeginRun(variant string, seed uint64) (*RunWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &RunWriter{to: w, flows: w.manifest.FlowsOf(variant)}
	r.names = &names{lookup: w.lookupOf(variant), variant: variant, seed: seed}
	if w.closed {
		return nil, r.fail(ErrClosed)
	}
	key := runKey{variant, seed}
	if _, there := w.runs[key]; there {
		return nil, r.fail(errors.New("the run is already there"))
	}
	w.runs[key] = true
	for i, kind := range recordTables {
		r.buffers = append(r.buffers, kind.buffer(w.tables[i]))
	}
	return r, nil
}

func (r *RunWriter) fail(err error) error {
	return fmt.Errorf("run folder %s: variant %s, seed %d: %w", r.to.dir, r.names.variant, r.names.seed, err)
}

// Consume appends the records of a batch to the tables. Totals and traces are in no
// table of records; they come with RunData. After an error, which Err returns, it
// drops what it gets.
func (r *RunWriter) Consume(b *metrics.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped += b.Dropped
	for _, to := range r.buffers {
		if r.err == nil {
			r.err = to.consume(b, r.names)
		}
	}
}

// Err returns the first error of Consume, so that a run whose records cannot be
// written need not go on.
func (r *RunWriter) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return r.fail(r.err)
}

// Dropped returns how many records of the run were dropped on their way here.
func (r *RunWriter) Dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// End writes what Consume still holds and the phases, and adds the run to the
// manifest. It returns the error of Consume, if there was one. It is called once.
func (r *RunWriter) End(d RunData) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return r.fail(errors.New("the run has ended"))
	}
	r.ended = true
	err := r.err
	if err == nil {
		err = r.flush(d.Nodes)
	}
	if err != nil {
		r.to.leave(r, err)
		return r.fail(err)
	}
	run := Run{
		Variant: r.names.variant, Seed: r.names.seed, TraceHash: hex.EncodeToString(d.TraceHash[:]), NodeHashes: make([]NodeHash, len(d.Nodes)),
		WallSeconds: d.Wall.Seconds(), CPUSeconds: d.CPU.Seconds(), DataPackets: d.DataPackets, DroppedRecords: r.dropped,
		Valid: len(d.Invalid) == 0, Reasons: d.Invalid, Checks: d.Checks, Fidelity: d.Fidelity, Programs: d.Programs, Notes: d.Notes,
	}
	for i := range d.Nodes {
		run.NodeHashes[i] = NodeHash{d.Nodes[i].Name, hex.EncodeToString(d.Nodes[i].TraceHash[:])}
	}
	if err := r.to.enter(run); err != nil {
		return r.fail(err)
	}
	return nil
}

// flush writes the rows that are left.
func (r *RunWriter) flush(nodes []metrics.NodeTotals) error {
	phases := phaseRows(r.names, nodes, r.flows)
	if r.names.err != nil {
		return r.names.err
	}
	for _, b := range r.buffers {
		if err := b.flush(); err != nil {
			return err
		}
	}
	r.buffers = nil
	return r.to.phases.add(phases)
}

// wrote reports whether the tables have rows of the run.
func (r *RunWriter) wrote() bool {
	for _, b := range r.buffers {
		if b.flushed() {
			return true
		}
	}
	return r.buffers == nil
}
