package runfolder

import "github.com/csiglab/csiglab/metrics"

// heldRecords is how many records a run holds before it writes them into its part: about 4 MB.
const heldRecords = 1 << 15

// held is the records of a run while they are few. A small run is put into the tables from
// here; its part is not read.
type held struct {
	batches []*metrics.Batch
	count   int
	full    bool // the part has the records
}

// take keeps a copy of a batch. It reports false if there is no room for it.
func (h *held) take(b *metrics.Batch) bool {
	h.count += b.Len()
	if h.full || h.count > heldRecords {
		return false
	}
	h.batches = append(h.batches, b.Clone())
	return true
}

// each calls do with the batches.
func (h *held) each(do func(*metrics.Batch) error) error {
	for _, b := range h.batches {
		if err := do(b); err != nil {
			return err
		}
	}
	return nil
}

// windows keeps the windows of a batch: in memory, or in the part once they are many.
func (r *RunWriter) windows(b *metrics.Batch) error {
	only := windowsOf(b)
	if only.Len() == 0 || r.held.take(&only) {
		return nil
	}
	if !r.held.full {
		if err := r.held.each(r.part.windows); err != nil {
			return err
		}
		r.held.batches, r.held.full = nil, true
	}
	return r.part.windows(&only)
}

// windowsOf returns what of a batch the tables are made of. It shares the memory of the batch.
func windowsOf(b *metrics.Batch) metrics.Batch {
	only := *b
	only.Totals, only.Traces, only.Dropped = nil, nil, 0
	only.PortMeasurements, only.FlowMeasurements = nil, nil // Values are computed from them
	return only
}

// writePart writes the rest of the part.
func (r *RunWriter) writePart(f *FinishedRun, nodes []metrics.NodeTotals) error {
	if err := r.held.each(r.part.windows); err != nil {
		return err
	}
	return r.part.end(&f.Run, f.Metrics.Metrics, f.Metrics.Matched, nodes)
}

// needsPart reports whether the run needs a part. Parts are for the runs that come after them: if
// those fail, the tables are made again. The last run of a small folder needs none, unless the
// folder does not become complete: Writer.keepLast.
func (r *RunWriter) needsPart() bool {
	w := r.to
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.held.full || w.manifest.Missing == nil || w.stoppable() {
		return true
	}
	for _, v := range w.manifest.Missing {
		for _, seed := range v.Seeds {
			key := runKey{v.Variant, seed}
			if begun, there := w.runs[key]; key != r.key() && (begun || !there) {
				return true
			}
		}
	}
	return false
}

// keepLast writes the part of the last run if it has none: the folder does not become complete.
// If it cannot be written, the run has not finished. The caller holds mu.
func (w *Writer) keepLast() error {
	if w.last == nil {
		return nil
	}
	err := w.last()
	if w.last = nil; err != nil {
		w.finished = w.finished[:len(w.finished)-1]
	}
	return err
}
