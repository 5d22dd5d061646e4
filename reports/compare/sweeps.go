package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/internal/checksum"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
)

// Errors of MeasureSweep, beside those of package results; test with errors.Is.
var (
	ErrNoSweep         = errors.New("this is not the folder of a sweep")
	ErrPlanDamaged     = errors.New("the file is damaged")
	ErrSweepIncomplete = errors.New("the sweep is incomplete")
	ErrSweepInvalid    = errors.New("the sweep has runs that are not valid")
	ErrTooMany         = errors.New("too many values to compare")
)

// Bounds of what is read of a sweep.
const (
	maxPlanText = 256 << 20 // bytes of sweep.json
	maxValues   = 20_000_000
)

// planFile is the file of a sweep's folder that says what its runs are.
const planFile = "sweep.json"

// planWithoutSum is the schema of sweep.json that had no checksum.
const planWithoutSum = 1

// plan is what a comparison needs of sweep.json.
type plan struct {
	Schema   int               `json:"schema"`
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Command  []string          `json:"command"`
	Started  time.Time         `json:"started"`
	Clock    string            `json:"clock"`
	Given    []string          `json:"given"`
	Points   []json.RawMessage `json:"points"`
	Variants []string          `json:"variants"`
	Seeds    []uint64          `json:"seeds"`
	Shard    struct {
		Index int `json:"index"`
		Of    int `json:"of"`
	} `json:"shard"`
}

// trials returns the number of runs that the folder should have.
func (p *plan) trials() int {
	all := len(p.Points) * len(p.Variants) * len(p.Seeds)
	if p.Shard.Of < 1 {
		return all
	}
	n := all / p.Shard.Of
	if p.Shard.Index <= all%p.Shard.Of {
		n++
	}
	return n
}

// IsSweep reports whether a folder has the plan or the table of a sweep.
func IsSweep(dir string) bool {
	for _, name := range []string{planFile, results.File} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// MeasureSweep returns what the folder of a sweep has for a comparison, of the metrics that
// only takes; nil takes all. The error wraps ErrNoSweep, ErrPlanDamaged, ErrSweepIncomplete,
// ErrSweepInvalid, ErrTooMany or results.ErrDamaged.
func MeasureSweep(dir string, of meaning.Of, only func(metric string) bool) (*Measured, error) {
	p, err := readPlan(dir)
	if err != nil {
		return nil, fmt.Errorf("read sweep %s: %w", dir, err)
	}
	m := &Measured{Folder: dir, Sweep: true, Experiment: p.Name, Version: p.Version, Clock: p.Clock, Command: p.Command, Started: p.Started}
	m.facts = []fact{{"experiment", p.Name}, {"clock", p.Clock}, {"set at all points", strings.Join(p.Given, " ")}, {"csiglab", p.Version}}
	if err := m.readRows(dir, p, of, only); err != nil {
		return nil, fmt.Errorf("read sweep %s: %w", dir, err)
	}
	return m, nil
}

func readPlan(dir string) (*plan, error) {
	// Does not wait for a writer of a pipe.
	file, err := os.OpenFile(filepath.Join(dir, planFile), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: it has no %s", ErrNoSweep, planFile)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() // opened for reading
	text, err := io.ReadAll(io.LimitReader(file, maxPlanText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", planFile, ErrNoSweep, err)
	}
	p := &plan{}
	if len(text) > maxPlanText {
		return nil, fmt.Errorf("%s: %w: it has more than %d MB", planFile, ErrNoSweep, maxPlanText>>20)
	}
	const most = 1 << 20 // keeps products of them from overflowing
	err = json.Unmarshal(text, p)
	switch {
	case err != nil:
	case p.Schema != planWithoutSum && !checksum.Valid(text):
		err = checksum.ErrDiffers
	case len(p.Points) > most || len(p.Variants) > most || len(p.Seeds) > most || p.Shard.Index > p.Shard.Of:
		err = errors.New("its numbers make no sense")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", planFile, ErrPlanDamaged, err)
	}
	return p, nil
}

// readRows reads the cases.
func (m *Measured) readRows(dir string, p *plan, of meaning.Of, only func(string) bool) error {
	t, err := results.Open(filepath.Join(dir, results.File))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: it has no %s", ErrSweepIncomplete, results.File)
	}
	if err != nil {
		return err
	}
	defer t.Close() // opened for reading
	single := singles(t.Metrics, of)
	taken := slices.DeleteFunc(slices.Clone(t.Metrics), func(name string) bool { return only != nil && !only(name) })
	rows, invalid, first := 0, 0, ""
	for row, err := range t.Rows() {
		if err != nil {
			return err
		}
		if rows++; rows*len(taken) > maxValues {
			return fmt.Errorf("%w: %s has more than %d; name some metrics", ErrTooMany, results.File, maxValues)
		}
		if row.Outcome != results.Passed && row.Outcome != results.Failed {
			if invalid++; first == "" {
				first = strings.TrimSpace(fmt.Sprintf("point %d, %s, seed %d: %s", row.Point, row.Variant, row.Seed, row.Reason))
			}
			continue
		}
		m.addRow(&row, t.Paths, taken)
		m.Cases[len(m.Cases)-1].ofOne = single
	}
	switch want := p.trials(); {
	case rows < want:
		return fmt.Errorf("%w: it has %d of %d runs", ErrSweepIncomplete, rows, want)
	case invalid > 0:
		return fmt.Errorf("%w: %d of %d, the first of them %s", ErrSweepInvalid, invalid, rows, first)
	}
	return nil
}

// addRow adds a run. Rows are by point and variant.
func (m *Measured) addRow(row *results.Row, paths, metrics []string) {
	var point []Setting
	for i, path := range paths {
		if row.Set[i] != "" {
			point = append(point, Setting{path, row.Set[i]})
		}
	}
	last := len(m.Cases) - 1
	if last < 0 || m.Cases[last].Variant != row.Variant || !slices.Equal(m.Cases[last].Point, point) {
		m.Cases = append(m.Cases, Case{Point: point, Variant: row.Variant})
		last++
	}
	s := Seed{Seed: row.Seed, TraceHash: row.TraceHash, Metrics: map[string]float64{}}
	for _, name := range metrics {
		if v, ok := row.Metrics[name]; ok {
			s.Metrics[name] = v
		}
	}
	m.Cases[last].Seeds = append(m.Cases[last].Seeds, s)
}

// singles returns the metrics of single flows and ports.
func singles(metrics []string, of meaning.Of) map[string]bool {
	all := map[string]bool{}
	for _, name := range metrics {
		all[name] = of(name).Single
	}
	return all
}
