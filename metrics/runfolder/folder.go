package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

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
	if f.Summary.Schema != SummarySchema || f.Summary.Name != m.Name {
		return fmt.Errorf("%s: %w: it is of schema %d, name %q", SummaryFile, ErrDamaged, f.Summary.Schema, f.Summary.Name)
	}
	return nil
}

// Experiment returns the text of the resolved experiment file. The error wraps
// fs.ErrNotExist when the run had none.
func (f *Folder) Experiment() ([]byte, error) {
	return os.ReadFile(filepath.Join(f.Dir, ExperimentFile))
}

// Ports reads the windows of all ports, in the order of writing. Rows of
// several runs may alternate.
//
// Like the readers of the other tables, it reads the file in batches: memory does
// not grow with the number of rows. Each range over the result reads the file
// from its start. An error is the last pair that the reader yields, and the rows
// before it are valid. It wraps ErrDamaged when the file cannot be decoded, lacks
// a column or has another number of rows than the manifest says.
func (f *Folder) Ports() iter.Seq2[PortRow, error] { return readTable[PortRow](f, tablePorts) }

// Flows reads the windows of all receivers; see Ports.
func (f *Folder) Flows() iter.Seq2[FlowRow, error] { return readTable[FlowRow](f, tableFlows) }

// Signals reads the windows of all CSIG samples; see Ports.
func (f *Folder) Signals() iter.Seq2[SignalRow, error] { return readTable[SignalRow](f, tableSignals) }

// CC reads the windows of all controllers; see Ports.
func (f *Folder) CC() iter.Seq2[CCRow, error] { return readTable[CCRow](f, tableCC) }

// Phases reads all transfers; see Ports.
func (f *Folder) Phases() iter.Seq2[PhaseRow, error] { return readTable[PhaseRow](f, tablePhases) }

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
