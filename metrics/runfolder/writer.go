// Package runfolder writes and reads the folder that a run leaves: manifest.json,
// experiment.yaml, summary.json, log.jsonl and one Parquet file per table. It
// knows no machine and computes no metric; the orchestrator drives the writer,
// reports read.
//
// manifest.json is written first with complete: false and last with complete:
// true, each time by renaming a whole file, so that a crash leaves a folder that
// says it is incomplete.
//
//	Create ── Experiment, BeginRun, Log ──▶ Finish ──▶ complete
//	   └──────────────────────────────────▶ Abort, crash ──▶ incomplete
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
)

// Writer writes one run folder. Its methods may be called from several
// goroutines. Every error names the path.
type Writer struct {
	dir  string
	root *os.Root // of dir; what is written goes through it
	log  *os.File

	tables []table // as recordTables
	phases *tableFile[PhaseRow]

	mu       sync.Mutex
	manifest Manifest
	closed   bool
	lookups  map[string]*lookup // by variant, of those that have begun
	runs     map[runKey]bool    // all that have begun; true: has not ended
	torn     error              // the tables have rows of a run that failed
}

type runKey struct {
	variant string
	seed    uint64
}

// Create makes the folder dir, and the folders above it, and writes its
// manifest with complete: false. The folder may exist when it is empty; else
// the error wraps ErrNotEmpty. A folder of another user, or in which others may write,
// is refused with an error that wraps ErrNotOwn, because a link in it would decide what
// is overwritten. The caller ends with Finish or Abort.
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
	made := &Writer{dir: dir, root: root, lookups: map[string]*lookup{}, runs: map[runKey]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.close())
		}
	}()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s: %w; name another one", dir, ErrNotEmpty)
	}
	m.Schema, m.Complete, m.Reason, m.Runs, m.Tables, m.DroppedRecords = Schema, false, "the run has not ended, or csiglab was killed", []Run{}, nil, 0
	m.Files, m.Digest = nil, ""
	made.manifest = m
	if err := made.writeManifest(); err != nil {
		return nil, err
	}
	if made.log, err = made.create(LogFile); err != nil {
		return nil, err
	}
	for _, kind := range recordTables {
		t, err := kind.create(made)
		if err != nil {
			return nil, err
		}
		made.tables = append(made.tables, t)
	}
	if made.phases, err = newTable[PhaseRow](made, tablePhases); err != nil {
		return nil, err
	}
	return made, nil
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
	if err := w.writeFile(ExperimentFile, yaml); err != nil {
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

// enter adds a run that has ended to the manifest.
func (w *Writer) enter(run Run) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.runs[runKey{run.Variant, run.Seed}] = false // it has ended
	w.manifest.Runs = append(w.manifest.Runs, run)
	w.manifest.DroppedRecords += run.DroppedRecords
	return nil
}

// leave gives up a run that failed. One that has left no row may begin again; with
// rows of others the folder cannot be complete any more.
func (w *Writer) leave(r *RunWriter, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.wrote() {
		w.torn = r.fail(err)
		return
	}
	delete(w.runs, runKey{r.names.variant, r.names.seed})
}

// Finish closes the tables and the log, writes summary.json and then the
// manifest with complete: true. Every run must have ended well.
func (w *Writer) Finish(s Summary) error {
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
	defer w.root.Close() // whose files are closed
	if err := w.closeFiles(); err != nil {
		return fail(err)
	}
	if err := w.writeJSON(SummaryFile, s.normalise()); err != nil {
		return fail(err)
	}
	w.seal()
	w.manifest.Complete, w.manifest.Reason = true, ""
	w.manifest.Tables = map[string]int64{tablePhases: w.phases.rowCount()}
	for _, t := range w.tables {
		w.manifest.Tables[t.tableName()] = t.rowCount()
	}
	var err error
	if w.manifest.Files, err = w.digests(); err != nil {
		return fail(err)
	}
	if err := w.writeManifest(); err != nil {
		return fail(err)
	}
	return nil
}

// Abort closes the folder and records why it is incomplete. After Finish or
// Abort it does nothing, so that it may be deferred.
func (w *Writer) Abort(reason string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	defer w.root.Close() // whose files are closed
	closing := w.closeFiles()
	w.seal()
	w.manifest.Reason = reason
	if err := errors.Join(closing, w.writeManifest()); err != nil {
		return fmt.Errorf("abort run folder %s: %w", w.dir, err)
	}
	return nil
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

func (w *Writer) close() error { return errors.Join(w.closeFiles(), w.root.Close()) }

// closeFiles closes the tables and the log.
func (w *Writer) closeFiles() error {
	w.closed = true
	var err error
	if w.log != nil {
		err = w.log.Close()
	}
	for _, t := range w.tables {
		err = errors.Join(err, t.close(w.manifest.DroppedRecords))
	}
	if w.phases != nil {
		err = errors.Join(err, w.phases.close(0))
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

// Valid reports whether nothing speaks against the run.
func (d *RunData) Valid() bool { return len(d.Invalid) == 0 }
