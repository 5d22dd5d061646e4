package compare

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Error says why two folders cannot be compared. Errors of reading a run's folder are of
// package runfolder.
type Error struct {
	Misuse bool // the user has named what is not there, or what has no counterpart
	err    error
}

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

func misuse(format string, args ...any) error { return &Error{true, fmt.Errorf(format, args...)} }

// DefaultDelta is the share of A's value that is no difference unless the user says otherwise.
const DefaultDelta = 0.01

// NewDesign returns how folders are compared unless the user says otherwise.
func NewDesign(m meaning.Of) Design {
	return Design{Meaning: m, Confidence: 0.95, Delta: DefaultDelta}
}

// Pair is two run folders, or two sweeps, that are compared.
type Pair struct {
	design Design
	sides  [2]opened
}

// opened is one of the two folders, or a CSV file.
type opened struct {
	name, variant string
	folder        *runfolder.Folder // nil: of a sweep, and of a CSV file
	measured      *Measured
}

// Open opens two folders, or CSV files with numbers of other programs, each with or without a variant behind a colon. The error is an *Error or
// one of a run's folder.
func Open(a, b string, d Design) (*Pair, error) {
	p := &Pair{design: d}
	for i, argument := range []string{a, b} {
		if err := p.sides[i].open(string(rune('A'+i)), argument, &d); err != nil {
			return nil, err
		}
	}
	if a, b := p.sides[0], p.sides[1]; a.measured.Sweep != b.measured.Sweep {
		return nil, misuse("%s and %s: one is the folder of a sweep, and the other one is not; compare two of one kind", a.name, b.name)
	}
	p.design.VariantA, p.design.VariantB = p.sides[0].variant, p.sides[1].variant
	return p, nil
}

// open opens a folder. A name that is a file is taken as it is; otherwise a variant may follow
// the last colon.
func (o *opened) open(side, argument string, d *Design) (err error) {
	o.name = argument
	if _, err := os.Stat(argument); errors.Is(err, fs.ErrNotExist) {
		if at := strings.LastIndexByte(argument, ':'); at > 0 {
			o.name, o.variant = argument[:at], argument[at+1:]
			if o.variant == "" {
				return misuse("%s: name a variant after the colon", argument)
			}
		}
	}
	if isNumbers(o.name) {
		o.measured, err = readNumbers(o.name)
		return err
	}
	if IsSweep(o.name) {
		o.measured, err = MeasureSweep(o.name, d.Meaning, d.Only)
		if errors.Is(err, ErrSweepIncomplete) {
			err = fmt.Errorf("%w; csiglab sweep --resume %s does what is missing", err, o.name)
		}
		if err != nil {
			return &Error{errors.Is(err, ErrNoSweep) || errors.Is(err, ErrTooMany), err}
		}
		return nil
	}
	if o.folder, err = runfolder.Open(o.name); err != nil {
		return err
	}
	if s := &o.folder.Summary; !s.Valid {
		return &Error{false, fmt.Errorf("%s: %s is not valid, and its figures say nothing: %s", side, o.name, strings.Join(s.Reasons, "; "))}
	}
	o.measured = Measure(o.folder)
	return nil
}

// Runs returns the folders, nil of sweeps and of numbers of other programs.
func (p *Pair) Runs() (a, b *runfolder.Folder) { return p.sides[0].folder, p.sides[1].folder }

// Metrics returns the metrics that A has.
func (p *Pair) Metrics() []string { return p.sides[0].measured.Metrics() }

// Compare compares the two. The error is an *Error.
func (p *Pair) Compare() (*Comparison, error) {
	return Folders(p.sides[0].measured, p.sides[1].measured, p.design)
}

// WriteHTML writes a comparison of the two as one page, with the figures of two runs over each
// other.
func (p *Pair) WriteHTML(w io.Writer, c *Comparison) error {
	a, b := p.Runs()
	if a == nil || b == nil {
		return WriteHTML(w, c, nil)
	}
	overlays, err := ReadOverlays(a, b, p.design.Meaning, c.overlaid())
	if err != nil {
		return err
	}
	return WriteHTML(w, c, overlays)
}

// overlaid names the variants whose figures are laid over each other.
func (c *Comparison) overlaid() (pairs []VariantPair) {
	for i := range c.Cases {
		one := &c.Cases[i]
		p := VariantPair{A: one.VariantA, B: one.VariantB, LabelA: "A", LabelB: "B"}
		if p.A != p.B {
			p.LabelA, p.LabelB = "A: "+p.A, "B: "+p.B
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// Any reports whether a comparison has a metric.
func (c *Comparison) Any() bool {
	return slices.ContainsFunc(c.Cases, func(one CaseComparison) bool { return len(one.Metrics) > 0 })
}
