package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/internal/cause"
)

// Errors of Open and of the tables' readers.
var (
	ErrForeign    = errors.New("this is not a run folder of csiglab")
	ErrIncomplete = errors.New("the run is incomplete")
	ErrDamaged    = errors.New("the file is damaged or of another run")
)

// Folder is a complete run folder. It may be used from several goroutines.
type Folder struct {
	Dir      string
	Manifest Manifest
	Summary  Summary
}

// Open reads the manifest and the summary of a run folder. The error wraps
// fs.ErrNotExist when there is none, ErrForeign when dir holds something else or
// another schema, ErrIncomplete when the run did not end well, and ErrDamaged
// when a file of it cannot be read.
func Open(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("open run folder %s: %w", dir, err)
	}
	return f, nil
}

func (f *Folder) open() error {
	info, err := os.Stat(f.Dir)
	if err != nil {
		return cause.Of(err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: it is a file", ErrForeign)
	}
	if err := readJSON(filepath.Join(f.Dir, ManifestFile), &f.Manifest); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: it has no %s", ErrForeign, ManifestFile)
		}
		return err
	}
	m := &f.Manifest
	if m.Schema != Schema {
		return fmt.Errorf("%w: %s has schema %d, this csiglab reads %d", ErrForeign, ManifestFile, m.Schema, Schema)
	}
	if !m.Complete {
		return fmt.Errorf("%w: %s", ErrIncomplete, m.Reason)
	}
	if err := readJSON(filepath.Join(f.Dir, SummaryFile), &f.Summary); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s is missing", ErrDamaged, SummaryFile)
		}
		return err
	}
	if f.Summary.Schema != Schema || f.Summary.Name != m.Name {
		return fmt.Errorf("%s: %w: it is of schema %d, name %q", SummaryFile, ErrDamaged, f.Summary.Schema, f.Summary.Name)
	}
	return nil
}

// Experiment returns the text of the resolved experiment file. The error wraps
// fs.ErrNotExist when the run had none.
func (f *Folder) Experiment() ([]byte, error) {
	return os.ReadFile(filepath.Join(f.Dir, ExperimentFile))
}

// Ports reads the windows of all ports, run after run in the order of writing.
func (f *Folder) Ports() ([]PortRow, error) { return readTable[PortRow](f, tablePorts) }

// Flows reads the windows of all receivers, run after run in the order of
// writing.
func (f *Folder) Flows() ([]FlowRow, error) { return readTable[FlowRow](f, tableFlows) }

// Signals reads the windows of all CSIG samples, run after run in the order of
// writing.
func (f *Folder) Signals() ([]SignalRow, error) { return readTable[SignalRow](f, tableSignals) }

// CC reads the windows of all controllers, run after run in the order of
// writing.
func (f *Folder) CC() ([]CCRow, error) { return readTable[CCRow](f, tableCC) }

// Phases reads all transfers, run after run in the order of the flows.
func (f *Folder) Phases() ([]PhaseRow, error) { return readTable[PhaseRow](f, tablePhases) }

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), cause.Of(err))
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w: %w", filepath.Base(path), ErrDamaged, err)
	}
	return nil
}

func readTable[T any](f *Folder, name string) (rows []T, err error) {
	path := filepath.Join(f.Dir, name+".parquet")
	damaged := func(format string, args ...any) error {
		return fmt.Errorf("read %s: %w: %s", path, ErrDamaged, fmt.Sprintf(format, args...))
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w: %w", path, ErrDamaged, cause.Of(err))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	defer file.Close()
	// The Parquet reader panics on some damaged pages.
	defer func() {
		if p := recover(); p != nil {
			rows, err = nil, damaged("%v", p)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	p, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return nil, damaged("%v", err)
	}
	for _, column := range parquet.SchemaOf(new(T)).Columns() {
		if _, ok := p.Schema().Lookup(column...); !ok {
			return nil, damaged("column %s is missing", strings.Join(column, "."))
		}
	}
	if p.NumRows() != f.Manifest.Tables[name] {
		return nil, damaged("it has %d rows, the manifest says %d", p.NumRows(), f.Manifest.Tables[name])
	}
	r := parquet.NewGenericReader[T](p)
	defer r.Close()
	rows = make([]T, p.NumRows())
	n, err := r.Read(rows)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, damaged("%v", err)
	}
	if n != len(rows) {
		return nil, damaged("it ends after %d of %d rows", n, len(rows))
	}
	return rows, nil
}
