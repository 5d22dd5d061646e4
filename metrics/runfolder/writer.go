// Package runfolder writes and reads the folder that a run leaves: manifest.json,
// experiment.yaml, summary.json, log.jsonl and one Parquet file per table. It
// knows no machine and computes no metric; the orchestrator drives the writer,
// reports read.
//
// manifest.json is written first with complete: false and last with complete:
// true, each time by renaming a whole file, so that a crash leaves a folder that
// says it is incomplete.
//
//	Create ── Experiment, AddRun, Log ──▶ Finish ──▶ complete
//	   └────────────────────────────────▶ Abort, crash ──▶ incomplete
package runfolder

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Names of the files in a run folder.
const (
	ManifestFile   = "manifest.json"
	SummaryFile    = "summary.json"
	ExperimentFile = "experiment.yaml"
	LogFile        = "log.jsonl"
	ReportFile     = "report.html"
)

// Names of the tables; the file of a table is its name with ".parquet".
const (
	tablePorts   = "ports"
	tableFlows   = "flows"
	tableSignals = "signals"
	tableCC      = "cc"
	tablePhases  = "phases"
)

// Errors of the writer.
var (
	ErrNotEmpty = errors.New("the folder is not empty")
	ErrClosed   = errors.New("the run folder is closed")
)

// RunData is what one run of one seed leaves.
type RunData struct {
	Nodes       []metrics.NodeResult // in node order; not kept
	TraceHash   [32]byte
	Wall, CPU   time.Duration
	DataPackets int64
	Invalid     []string // reasons why the run is not valid; none = valid
	Checks      []Check
	Fidelity    *Fidelity // of a run in real time
	Programs    []Program // of hosts that run some
}

// Writer writes one run folder. Its methods may be called from several
// goroutines. Every error names the path.
type Writer struct {
	dir string
	log *os.File

	mu       sync.Mutex
	manifest Manifest
	closed   bool
	ports    *table[PortRow]
	flows    *table[FlowRow]
	signals  *table[SignalRow]
	cc       *table[CCRow]
	phases   *table[PhaseRow]
}

// Create makes the folder dir, and the folders above it, and writes its
// manifest with complete: false. The folder may exist when it is empty; else
// the error wraps ErrNotEmpty. The caller ends with Finish or Abort.
func Create(dir string, m Manifest) (*Writer, error) {
	w, err := create(dir, m)
	if err != nil {
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	return w, nil
}

func create(dir string, m Manifest) (w *Writer, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s: %w; name another one", dir, ErrNotEmpty)
	}
	m.Schema, m.Complete, m.Reason, m.Runs, m.Tables = Schema, false, "the run has not ended, or csiglab was killed", []Run{}, nil
	w = &Writer{dir: dir, manifest: m}
	if err := w.writeJSON(ManifestFile, m); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.log, err = os.Create(w.path(LogFile)); err != nil {
		return nil, err
	}
	return w, errors.Join(
		newTable(dir, tablePorts, &w.ports),
		newTable(dir, tableFlows, &w.flows),
		newTable(dir, tableSignals, &w.signals),
		newTable(dir, tableCC, &w.cc),
		newTable(dir, tablePhases, &w.phases),
	)
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

// AddRun appends the records of one run to the tables. The flows that the
// records name must be in the manifest.
func (w *Writer) AddRun(variant string, seed uint64, d RunData) error {
	fail := func(err error) error {
		return fmt.Errorf("run folder %s: variant %s, seed %d: %w", w.dir, variant, seed, err)
	}
	r, err := newRows(variant, seed, d.Nodes, w.manifest.FlowsOf(variant))
	if err != nil {
		return fail(err)
	}
	run := Run{
		Variant: variant, Seed: seed, TraceHash: hex.EncodeToString(d.TraceHash[:]), NodeHashes: make([]NodeHash, len(d.Nodes)),
		WallSeconds: d.Wall.Seconds(), CPUSeconds: d.CPU.Seconds(), DataPackets: d.DataPackets,
		Valid: len(d.Invalid) == 0, Reasons: d.Invalid, Checks: d.Checks, Fidelity: d.Fidelity, Programs: d.Programs,
	}
	for i := range d.Nodes {
		run.NodeHashes[i] = NodeHash{d.Nodes[i].Name, hex.EncodeToString(d.Nodes[i].TraceHash[:])}
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fail(ErrClosed)
	}
	for _, o := range w.manifest.Runs {
		if o.Variant == variant && o.Seed == seed {
			return fail(errors.New("the run is already there"))
		}
	}
	w.manifest.Runs = append(w.manifest.Runs, run)
	if err := errors.Join(w.ports.add(r.ports), w.flows.add(r.flows), w.signals.add(r.signals), w.cc.add(r.cc), w.phases.add(r.phases)); err != nil {
		return fail(err)
	}
	return nil
}

// Finish closes the tables and the log, writes summary.json and then the
// manifest with complete: true.
func (w *Writer) Finish(s Summary) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fail := func(err error) error { return fmt.Errorf("finish run folder %s: %w", w.dir, err) }
	if w.closed {
		return fail(ErrClosed)
	}
	if err := w.close(); err != nil {
		return fail(err)
	}
	if err := w.writeJSON(SummaryFile, s.normalise()); err != nil {
		return fail(err)
	}
	w.seal()
	w.manifest.Complete, w.manifest.Reason = true, ""
	w.manifest.Tables = map[string]int64{
		tablePorts: w.ports.rows, tableFlows: w.flows.rows, tableSignals: w.signals.rows, tableCC: w.cc.rows, tablePhases: w.phases.rows,
	}
	if err := w.writeJSON(ManifestFile, w.manifest); err != nil {
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
	closing := w.close()
	w.seal()
	w.manifest.Reason = reason
	if err := errors.Join(closing, w.writeJSON(ManifestFile, w.manifest)); err != nil {
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

func (w *Writer) close() error {
	w.closed = true
	var err error
	if w.log != nil {
		err = w.log.Close()
	}
	return errors.Join(err, w.ports.close(), w.flows.close(), w.signals.close(), w.cc.close(), w.phases.close())
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
	path := w.path(name)
	part := path + ".part"
	err := os.WriteFile(part, data, 0o644)
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		os.Remove(part) // the first error says more
	}
	return err
}

// table is a Parquet file that is being written. Its footer comes last: a file
// without it is truncated.
type table[T any] struct {
	file   *os.File
	writer *parquet.GenericWriter[T]
	rows   int64
}

// newTable creates the file of a table and stores the table in t.
func newTable[T any](dir, name string, t **table[T]) error {
	f, err := os.Create(filepath.Join(dir, name+".parquet"))
	if err != nil {
		return err
	}
	*t = newTableOn[T](f)
	return nil
}

// newTableOn returns a table that is written to f and owns it.
func newTableOn[T any](f *os.File) *table[T] {
	return &table[T]{file: f, writer: parquet.NewGenericWriter[T](f, parquet.Compression(&zstd.Codec{}))}
}

// add appends rows as one row group.
func (t *table[T]) add(rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := t.writer.Write(rows); err != nil {
		return t.wrap(err)
	}
	t.rows += int64(len(rows))
	return t.wrap(t.writer.Flush())
}

func (t *table[T]) close() error {
	if t == nil {
		return nil
	}
	return errors.Join(t.wrap(t.writer.Close()), t.file.Close())
}

func (t *table[T]) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", t.file.Name(), err)
}

// Valid reports whether nothing speaks against the run.
func (d *RunData) Valid() bool { return len(d.Invalid) == 0 }
