// Package runfolder writes and reads the folder that a run leaves: manifest.json,
// experiment.yaml, summary.json, log.jsonl and one Parquet file per table. It
// knows no machine and computes no metric; the orchestrator drives the writer,
// reports read.
//
// manifest.json is written first with complete: false and last with complete:
// true, each time by renaming a whole file, so that a crash leaves a folder that
// says it is incomplete. A run that has finished is kept whatever happens to the
// others: as a part, of which a later csiglab makes the tables again.
//
//	Create ────────┬─ Experiment, BeginRun, Log ──▶ Finish ──▶ complete
//	Stopped.Resume ┘        └──▶ Abort, crash ──▶ incomplete ──▶ OpenStopped
package runfolder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
)

// Names of the files in a run folder.
const (
	ManifestFile   = "manifest.json"
	SummaryFile    = "summary.json"
	ExperimentFile = "experiment.yaml"
	LogFile        = "log.jsonl"
	ReportFile     = "report.html"
)

// Errors of the writer.
var (
	ErrNotEmpty = errors.New("the folder is not empty")
	ErrNotOwn   = own.ErrForeign
	ErrClosed   = errors.New("the run folder is closed")
	ErrStopped  = errors.New("the run folder was stopped") // see Writer.Stop
)

// Writer writes one run folder. Its methods may be called from several
// goroutines. Every error names the path.
type Writer struct {
	dir string
	claim
	log *os.File

	// joining is locked while the rows of a finished run are put into the tables; it is
	// locked before mu.
	joining sync.Mutex
	tables  []*table

	mu       sync.Mutex
	manifest Manifest
	closed   bool
	lookups  map[string]*lookup // by variant, of those that have begun
	runs     map[runKey]bool    // all that have begun; true: has not ended
	finished []FinishedRun
	last     func() error // writes the part of the last run; nil: all that have finished have one
	torn     error        // the tables have rows of a run that failed
	stopped  atomic.Bool
}

type runKey struct {
	variant string
	seed    uint64
}

// FinishedRun is a run that has finished.
type FinishedRun struct {
	Run     Run
	Metrics RunMetrics
}

// Create makes the folder dir, and the folders above it, and writes its
// manifest with complete: false. The folder may exist when it is empty; else
// the error wraps ErrNotEmpty. A folder of another user, or in which others may write,
// is refused with an error that wraps ErrNotOwn, because a link in it would decide what
// is overwritten. A folder that a writer has left that was killed before Experiment counts as
// empty. The caller ends with Finish or Abort. m.Missing lists the runs to come, for a folder
// that can be resumed.
func Create(dir string, m Manifest) (*Writer, error) {
	w, err := create(dir, m)
	if err != nil {
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	return w, nil
}

func create(dir string, m Manifest) (w *Writer, err error) {
	root, err := own.Folder(dir)
	if err != nil {
		return nil, err
	}
	made := &Writer{dir: dir, claim: claim{root: root}, lookups: map[string]*lookup{}, runs: map[runKey]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.close())
		}
	}()
	var busy error
	made.lock, busy = lockFolder(dir, root)
	entries, err := fs.ReadDir(root.FS(), ".")
	switch {
	case err != nil:
		return nil, err
	case len(entries) > 0 && (busy != nil || !unbegun(dir, root.FS(), entries)):
		return nil, fmt.Errorf("%s: %w; name another one", dir, ErrNotEmpty)
	case busy != nil:
		return nil, busy
	}
	if err := made.empty(entries); err != nil {
		return nil, err
	}
	m.Schema, m.Resumed = Schema, nil
	made.manifest = m
	made.reset()
	if err := made.writeManifest(); err != nil {
		return nil, err
	}
	if made.log, err = made.create(LogFile); err != nil {
		return nil, err
	}
	if err := root.Mkdir(partsFolder, 0o755); err != nil {
		return nil, err
	}
	return made, made.createTables()
}

// reset makes the manifest that of a folder without a run.
func (w *Writer) reset() {
	m := &w.manifest
	m.Complete, m.Reason, m.Finished = false, "the run has not ended, or csiglab was killed", time.Time{}
	m.Runs, m.Tables, m.DroppedRecords = []Run{}, nil, 0
	m.Files, m.Digest = nil, ""
}

// createTables creates the files of the tables.
func (w *Writer) createTables() error {
	for _, l := range layouts() {
		t, err := newTable(w, l)
		if err != nil {
			return err
		}
		w.tables = append(w.tables, t)
	}
	return nil
}

// create makes a file of the folder, which must not be there yet.
func (w *Writer) create(name string) (*os.File, error) {
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.path(name), cause.Of(err))
	}
	return f, nil
}

// Dir returns the folder's path as Create got it.
func (w *Writer) Dir() string { return w.dir }

// Log returns a handler that appends to log.jsonl until Finish or Abort.
func (w *Writer) Log() slog.Handler {
	return slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})
}

// Experiment writes the resolved experiment file.
func (w *Writer) Experiment(yaml []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.writeFile(ExperimentFile, yaml)
	if err == nil {
		// A folder that is resumed goes on with this file.
		w.manifest.Files, err = w.digests(ExperimentFile)
	}
	if err == nil {
		err = w.writeManifest()
	}
	if err != nil {
		return fmt.Errorf("write experiment: %w", err)
	}
	return nil
}

// lookupOf returns the names of a variant, which all its runs share.
func (w *Writer) lookupOf(variant string) *lookup {
	l, ok := w.lookups[variant]
	if !ok {
		l = newLookup(&w.manifest, variant)
		w.lookups[variant] = l
	}
	return l
}

// Finished returns the runs that have finished, in the order in which they did.
func (w *Writer) Finished() []FinishedRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.finished)
}

// enter adds a run that has finished to the manifest. The caller holds mu.
func (w *Writer) enter(f FinishedRun) {
	w.runs[runKey{f.Run.Variant, f.Run.Seed}] = false // it has ended
	w.finished = append(w.finished, f)
	w.manifest.Runs = append(w.manifest.Runs, f.Run)
	w.manifest.DroppedRecords += f.Run.DroppedRecords
}

// leave gives up a run that did not finish. It may begin again, unless the tables have
// rows of it: these are of no use any more.
func (w *Writer) leave(key runKey, torn error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if torn != nil {
		w.torn = torn
		return
	}
	delete(w.runs, key)
}

// Details returns where the metrics are that the summary of all finished runs lacks; nil
// if it has all of the table of metrics.
func (w *Writer) Details(s *Summary) *Details {
	d := Details{File: tableFileName(tableMetrics), Of: w.manifest.Details}
	for _, t := range w.tables {
		if t.name == tableMetrics {
			d.Metrics = t.rowCount()
		}
	}
	for _, v := range s.Variants {
		for _, r := range v.Runs {
			d.Metrics -= int64(len(r.Metrics))
		}
	}
	if len(d.Of) == 0 || d.Metrics <= 0 {
		return nil
	}
	return &d
}

// manyRows is the number of ports and flows from which the tables, the summary and the
// manifest of a folder take too long to write for somebody who has pressed Ctrl-C.
const manyRows = 5000

// Stop makes a folder of many ports and flows end soon: rows are not put into its tables
// any more, and Finish returns ErrStopped. Runs that end, or have ended, are kept as their
// parts. Abort then leaves the folder as kill -9 does: Salvage makes tables and summary
// when somebody wants them. Of other folders, which are written quickly, Stop does nothing.
// It may be called at any time, from any goroutine.
func (w *Writer) Stop() {
	if w.stoppable() {
		w.stopped.Store(true)
	}
}

func (w *Writer) stoppable() bool { return len(w.manifest.Ports)+len(w.manifest.Flows) >= manyRows }

// giveUp closes the folder as Stop says. The caller holds joining and mu.
func (w *Writer) giveUp() error {
	w.closed = true
	w.log.Close() // the manifest does not name it
	for _, t := range w.tables {
		t.abandon()
	}
	w.removeTables()
	return w.release()
}

// Finish closes the tables and the log, writes summary.json and then the
// manifest with complete: true. Every run must have ended well.
func (w *Writer) Finish(s Summary) error {
	w.joining.Lock()
	defer w.joining.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	fail := func(err error) error { return fmt.Errorf("finish run folder %s: %w", w.dir, err) }
	if w.closed {
		return fail(ErrClosed)
	}
	if w.torn != nil {
		return fail(w.torn)
	}
	for key, begun := range w.runs {
		if begun {
			return fail(fmt.Errorf("variant %s, seed %d has not ended", key.variant, key.seed))
		}
	}
	stopped := func() error { return errors.Join(fail(ErrStopped), w.giveUp()) }
	if w.stopped.Load() {
		return stopped()
	}
	lose := func(err error) error { return errors.Join(fail(err), w.keepLast(), w.release()) }
	if err := w.closeFiles(); err != nil {
		return lose(err)
	}
	if w.stopped.Load() {
		return stopped()
	}
	if err := w.writeJSON(SummaryFile, s.normalise()); err != nil {
		return lose(err)
	}
	if w.stopped.Load() {
		return stopped()
	}
	w.seal()
	w.manifest.Complete, w.manifest.Reason, w.manifest.Missing = true, "", nil
	if err := w.writeSealed(); err != nil {
		return lose(err)
	}
	defer w.release() // whose files are closed
	if err := w.root.RemoveAll(partsFolder); err != nil {
		return fail(err) // the folder is complete all the same
	}
	return nil
}

// Abort closes the folder and records why it is incomplete. It keeps the runs that have
// finished: their tables and their summary, unless there is no run or the tables cannot
// be written. After Finish or Abort it does nothing, so that it may be deferred.
func (w *Writer) Abort(reason string) error {
	w.joining.Lock()
	defer w.joining.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	if w.stopped.Load() {
		return w.giveUp()
	}
	defer w.release() // whose files are closed
	wrong := w.keepLast()
	if w.torn != nil { // once more, without the run that failed
		wrong = errors.Join(wrong, w.rebuild())
	}
	wrong = errors.Join(wrong, w.closeFiles())
	w.seal()
	w.manifest.Reason = reason
	w.markMissing()
	if wrong == nil && len(w.finished) > 0 {
		wrong = w.writeKept()
	}
	if wrong != nil || len(w.finished) == 0 {
		w.removeTables()
		w.manifest.Tables = nil
		if w.manifest.Files != nil { // of experiment.yaml
			w.manifest.Files = map[string]FileDigest{ExperimentFile: w.manifest.Files[ExperimentFile]}
		}
		wrong = errors.Join(wrong, w.writeManifest())
	}
	if wrong != nil {
		return fmt.Errorf("abort run folder %s: %w", w.dir, wrong)
	}
	return nil
}

// writeKept writes the summary of the finished runs and the manifest of an incomplete
// folder.
func (w *Writer) writeKept() error {
	runs := make([]RunMetrics, len(w.finished))
	for i, f := range w.finished {
		runs[i] = f.Metrics
	}
	s := NewSummary(w.manifest.Name, runs...)
	s.Valid, s.Reasons = false, []string{w.manifest.Incomplete()}
	for _, r := range w.manifest.Runs {
		for _, reason := range r.Reasons {
			s.Reasons = append(s.Reasons, fmt.Sprintf("variant %s, seed %d: %s", r.Variant, r.Seed, reason))
		}
	}
	s.NotEvaluated = w.manifest.Expectations
	s.Details = w.Details(&s)
	if err := w.writeJSON(SummaryFile, s.normalise()); err != nil {
		return err
	}
	return w.writeSealed()
}

// writeSealed writes the manifest with the digests of all files, which are closed.
func (w *Writer) writeSealed() (err error) {
	w.manifest.Tables = map[string]int64{}
	names := []string{SummaryFile, ExperimentFile, LogFile}
	for _, t := range w.tables {
		w.manifest.Tables[t.name] = t.rowCount()
		names = append(names, tableFileName(t.name))
	}
	if w.manifest.Files, err = w.digests(names...); err != nil {
		return err
	}
	return w.writeManifest()
}

// markMissing takes the finished runs off the manifest's list of missing ones.
func (w *Writer) markMissing() {
	if w.manifest.Missing == nil {
		return
	}
	missing := []VariantSeeds{} // if it is empty, the folder can be resumed all the same
	for _, v := range w.manifest.Missing {
		left := slices.DeleteFunc(slices.Clone(v.Seeds), func(seed uint64) bool {
			begun, there := w.runs[runKey{v.Variant, seed}]
			return there && !begun
		})
		if len(left) > 0 {
			missing = append(missing, VariantSeeds{v.Variant, left})
		}
	}
	w.manifest.Missing = missing
}

// removeTables removes the files that are made of the parts, as far as they are there.
func (w *Writer) removeTables() {
	names := []string{SummaryFile, ReportFile}
	for _, l := range layouts() {
		names = append(names, tableFileName(l.name))
	}
	for _, name := range names {
		w.root.Remove(name) //nolint:errcheck // the manifest says that they are not there
	}
}

// seal orders the runs and notes the time.
func (w *Writer) seal() {
	order := map[string]int{}
	for i, v := range w.manifest.Variants {
		order[v.Name] = i
	}
	slices.SortStableFunc(w.manifest.Runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(order[a.Variant], order[b.Variant]), cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Seed, b.Seed))
	})
	w.manifest.Finished = time.Now().UTC().Truncate(time.Millisecond)
}

func (w *Writer) close() error { return errors.Join(w.closeFiles(), w.release()) }

// closeFiles closes the tables and the log.
func (w *Writer) closeFiles() error {
	w.closed = true
	var err error
	if w.log != nil {
		err = w.log.Close()
	}
	return errors.Join(err, w.closeTables())
}

func (w *Writer) closeTables() error {
	var err error
	for _, t := range w.tables {
		err = errors.Join(err, t.close(w.manifest.DroppedRecords))
	}
	return err
}

func (w *Writer) path(name string) string { return filepath.Join(w.dir, name) }

func (w *Writer) writeJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", w.path(name), err)
	}
	return w.writeFile(name, append(b, '\n'))
}

// writeFile replaces a file as a whole, so that a reader sees the old or the new
// one.
func (w *Writer) writeFile(name string, data []byte) error {
	part := name + ".part"
	err := w.root.Remove(part) // a part that a crash left, or a link
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := w.create(part)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = w.root.Rename(part, name)
	}
	if err != nil {
		w.root.Remove(part) // the first error says more
		return fmt.Errorf("%s: %w", w.path(name), err)
	}
	return nil
}
