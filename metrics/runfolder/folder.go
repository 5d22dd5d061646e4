package runfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
)

// Errors of Open and of the tables' readers.
var (
	ErrForeign    = errors.New("this is not a run folder of csiglab")
	ErrIncomplete = errors.New("the run is incomplete")
	// ErrLab is wrapped, beside ErrIncomplete or ErrNotResumable, by errors about a lab that did not
	// end in order: nothing does the rest.
	ErrLab     = errors.New("it is of a lab, which has results only if csiglab down ends it; csiglab up starts another")
	ErrDamaged = errors.New("the file is damaged or of another run")
)

// Folder is a run folder to be read. It may be used from several goroutines.
type Folder struct {
	Dir      string
	Manifest Manifest
	Summary  Summary
	// OnRows, if it is set, is called with the number of rows that a reader of a table has
	// read since the last call, by the goroutine that ranges over them.
	OnRows func(rows int)

	checked bool // the tables have been compared with their digests
}

// Open reads the manifest and the summary of a complete run folder, and compares all files with their
// digests, also the tables that nobody will read. The error wraps
// fs.ErrNotExist when there is none, ErrForeign when dir holds something else or
// what another csiglab writes, ErrIncomplete when the run did not end well, and ErrDamaged
// when a file of it cannot be read.
func Open(dir string) (*Folder, error) {
	f, err := OpenUnchecked(dir)
	if err == nil && !f.Manifest.Complete {
		return nil, fmt.Errorf("open run folder %s: %w: %s", dir, ErrIncomplete, f.Manifest.Reason)
	}
	return f.check(err)
}

// OpenKept is as Open, but it also opens an incomplete folder that has runs which have
// finished: Manifest.Complete is false then, and Manifest.Variants lacks the variants
// without such a run.
func OpenKept(dir string) (*Folder, error) {
	f, err := OpenUnchecked(dir)
	return f.check(err)
}

// check compares the tables of a folder with their digests, if opening it was no error.
func (f *Folder) check(err error) (*Folder, error) {
	if err != nil {
		return nil, err
	}
	if err := f.checkTables(); err != nil {
		return nil, fmt.Errorf("open run folder %s: %w", f.Dir, err)
	}
	return f, nil
}

// OpenUnchecked is as OpenKept for lists of folders: it takes the time of a small folder for
// a large one, as it reads no table. A table is compared with its digest when it is read.
func OpenUnchecked(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("open run folder %s: %w", dir, err)
	}
	return f, nil
}

// Written returns the folder that Finish has just completed with a summary, as Open does, but
// without reading the files again.
func (w *Writer) Written(s Summary) *Folder {
	return &Folder{Dir: w.dir, Manifest: w.manifest, Summary: s.normalise(), checked: true}
}

// readManifest reads and checks the manifest.
func (f *Folder) readManifest() error {
	info, err := os.Stat(f.Dir)
	if err != nil {
		return cause.Of(err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: it is a file", ErrForeign)
	}
	m := &f.Manifest
	manifest, err := readJSON(filepath.Join(f.Dir, ManifestFile), m)
	switch { // a newer schema may have keys of other types
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: it has no %s", ErrForeign, ManifestFile)
	case m.Schema > Schema:
		return m.schemaError("of the newer csiglab " + m.Version + ", which reads it")
	case err != nil:
		return err
	case m.Schema < Schema:
		return m.schemaError("of an older csiglab; run its experiment again")
	}
	if err := m.checkTables(); err != nil {
		return err
	}
	return m.checkManifest(manifest)
}

func (f *Folder) open() error {
	if err := f.readManifest(); err != nil {
		return err
	}
	m := &f.Manifest
	if !m.Complete && m.Tables == nil {
		if m.Options.Held {
			return fmt.Errorf("%w: %s; %w", ErrIncomplete, m.Reason, ErrLab)
		}
		return fmt.Errorf("%w: %s", ErrIncomplete, m.Reason)
	}
	m.Variants = slices.DeleteFunc(m.Variants, func(v Variant) bool {
		return !m.Complete && !slices.ContainsFunc(m.Runs, func(r Run) bool { return r.Variant == v.Name })
	})
	summary, err := readJSON(filepath.Join(f.Dir, SummaryFile), &f.Summary)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s is missing", ErrDamaged, SummaryFile)
		}
		return err
	}
	if f.Summary.Schema != SummarySchema || f.Summary.Name != m.Name {
		return fmt.Errorf("%s: %w: it is of schema %d, name %q", SummaryFile, ErrDamaged, f.Summary.Schema, f.Summary.Name)
	}
	if err := m.checkFile(SummaryFile, bytes.NewReader(summary)); err != nil {
		return err
	}
	for _, name := range []string{ExperimentFile, LogFile} {
		if err := f.checkText(name); err != nil {
			return err
		}
	}
	return nil
}

// schemaError reports a folder whose schema Open does not read. It is ErrForeign, without
// its text: the folder is one of csiglab, unless its manifest has no schema.
type schemaError struct{ text string }

func (e *schemaError) Error() string { return e.text }

func (e *schemaError) Is(target error) bool { return target == ErrForeign }

func (m *Manifest) schemaError(origin string) error {
	text := fmt.Sprintf("%s has schema %d, and this csiglab reads schema %d", ManifestFile, m.Schema, Schema)
	if m.Schema == 0 {
		return fmt.Errorf("%w: %s", ErrForeign, text)
	}
	return &schemaError{text + "; it is " + origin}
}

// checkTables refuses folders of earlier csiglabs whose schema has the same number: they
// lack digests or tables.
func (m *Manifest) checkTables() error {
	if m.Tables == nil && !m.Complete {
		return nil
	}
	lacks := func(what string) error {
		return &schemaError{fmt.Sprintf("%s has schema %d, but not the %s that this csiglab reads; it is of an older csiglab; run its experiment again", ManifestFile, m.Schema, what)}
	}
	if m.Files == nil && m.Digest == "" {
		return lacks("digests")
	}
	for _, t := range layouts() {
		if _, ok := m.Tables[t.name]; !ok {
			return lacks("table " + t.name)
		}
	}
	return nil
}

// checkText compares a text file with its digest. It may be absent if it has none.
func (f *Folder) checkText(name string) error {
	if _, ok := f.Manifest.Files[name]; !ok {
		return nil
	}
	file, err := own.Input(filepath.Join(f.Dir, name), maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is missing", ErrDamaged, name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, ErrDamaged, err)
	}
	defer file.Close() // opened for reading
	return f.Manifest.checkFile(name, file)
}

// Experiment returns the text of the resolved experiment file. The error wraps
// fs.ErrNotExist when the run had none.
func (f *Folder) Experiment() ([]byte, error) {
	text, err := readText(filepath.Join(f.Dir, ExperimentFile))
	if err != nil {
		return nil, err
	}
	return text, f.Manifest.checkFile(ExperimentFile, bytes.NewReader(text))
}

// Ports reads the windows of all ports, in the order of writing. Rows of
// several runs may alternate.
//
// Like the readers of the other tables, it reads the file in batches: memory does
// not grow with the number of rows. Each range over the result reads the file
// from its start. An error is the last pair that the reader yields, and the rows
// before it are valid. It wraps ErrDamaged when the file cannot be decoded, lacks
// a column or has another number of rows than the manifest says.
func (f *Folder) Ports() iter.Seq2[PortRow, error] { return readWindows[PortRow](f, tablePorts) }

// Flows reads the windows of all receivers; see Ports.
func (f *Folder) Flows() iter.Seq2[FlowRow, error] { return readWindows[FlowRow](f, tableFlows) }

// CC reads the windows of all controllers; see Ports.
func (f *Folder) CC() iter.Seq2[CCRow, error] { return readWindows[CCRow](f, tableCC) }

// Metrics reads all metrics of all runs, those of a run one after another; see Ports.
func (f *Folder) Metrics() iter.Seq2[MetricRow, error] { return readTable[MetricRow](f, tableMetrics) }

// Phases reads all transfers; see Ports.
func (f *Folder) Phases() iter.Seq2[PhaseRow, error] { return readTable[PhaseRow](f, tablePhases) }

// read calls OnRows.
func (f *Folder) read(rows int) {
	if f.OnRows != nil {
		f.OnRows(rows)
	}
}

// readJSON reads a file into v and returns its text.
func readJSON(path string, v any) ([]byte, error) {
	b, err := readText(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", filepath.Base(path), ErrDamaged, err)
	}
	return b, nil
}
