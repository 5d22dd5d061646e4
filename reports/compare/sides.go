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

// Sides are run folders, sweeps or files with numbers of other programs, of which each is compared
// with the first.
type Sides struct {
	design Design
	all    []opened
}

// opened is a side.
type opened struct {
	name, variant string
	folder        *runfolder.Folder // nil: of a sweep, and of a CSV file
	measured      *Measured
}

// MostSides is how many sides can be compared: they have letters.
const MostSides = 26

// Open opens folders, or CSV files with numbers of other programs, each with or without a variant behind a colon.
// Of one alone the variants are the sides. The error is an *Error or one of a run's folder.
func Open(arguments []string, d Design) (*Sides, error) {
	s := &Sides{design: d}
	for i, argument := range arguments {
		var o opened
		if err := o.open(letter(i), argument, s); err != nil {
			return nil, err
		}
		s.all = append(s.all, o)
	}
	if len(s.all) == 1 {
		one := s.all[0]
		names := one.measured.names()
		if one.variant != "" || len(names) < 2 {
			return nil, misuse("%s: with what is it to be compared? name another folder, or one that has several variants", arguments[0])
		}
		s.all = nil
		for _, name := range names {
			one.variant = name
			s.all = append(s.all, one)
		}
	}
	if n := len(s.all); n > MostSides {
		return nil, misuse("%d sides: want at most %d", n, MostSides)
	}
	for _, o := range s.all[1:] {
		if a := s.all[0]; a.measured.Sweep != o.measured.Sweep {
			return nil, misuse("%s and %s: one is the folder of a sweep, and the other one is not; compare two of one kind", a.name, o.name)
		}
	}
	return s, nil
}

// letter names a side.
func letter(i int) string { return string(rune('A' + i)) }

// open opens a folder. A name that is a file is taken as it is; otherwise a variant may follow
// the last colon.
func (o *opened) open(side, argument string, s *Sides) (err error) {
	d := &s.design
	o.name = argument
	if _, err := os.Stat(argument); errors.Is(err, fs.ErrNotExist) {
		if at := strings.LastIndexByte(argument, ':'); at > 0 {
			o.name, o.variant = argument[:at], argument[at+1:]
			if o.variant == "" {
				return misuse("%s: name a variant after the colon", argument)
			}
		}
	}
	if i := slices.IndexFunc(s.all, func(other opened) bool { return other.name == o.name }); i >= 0 {
		o.folder, o.measured = s.all[i].folder, s.all[i].measured
		return nil
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

// Runs returns the first two folders, nil of sweeps and of numbers of other programs.
func (s *Sides) Runs() (a, b *runfolder.Folder) { return s.all[0].folder, s.all[1].folder }

// Metrics returns the metrics that A has.
func (s *Sides) Metrics() []string { return s.all[0].measured.Metrics() }

// Result is what comes out of a comparison.
type Result interface {
	Any() bool // it has a metric
	WriteText(w io.Writer, more string) error
	WriteCSV(w io.Writer) error
	WriteMarkdown(w io.Writer) error
}

// Result compares the sides. It is a *Comparison of two, and otherwise a *Several. The error is an *Error.
func (s *Sides) Result() (Result, error) {
	if len(s.all) == 2 {
		return s.Compare()
	}
	return s.several()
}

// Compare compares the first two sides. The error is an *Error.
func (s *Sides) Compare() (*Comparison, error) {
	return Folders(s.all[0].measured, s.all[1].measured, s.designOf(1))
}

// designOf returns how a side is compared with the first.
func (s *Sides) designOf(i int) Design {
	d := s.design
	d.VariantA, d.VariantB = s.all[0].variant, s.all[i].variant
	return d
}

// WriteHTML writes a result as one page, with figures of runs over each other: of several sides with
// those of the variant that tells most, each over the first.
func (s *Sides) WriteHTML(w io.Writer, r Result) error {
	if c, ok := r.(*Comparison); ok {
		overlays, err := s.overlays(1, c.overlaid())
		if err != nil {
			return err
		}
		return WriteHTML(w, c, overlays)
	}
	several := r.(*Several)
	figures := make([]*Overlay, len(several.Comparisons))
	for i, c := range several.Comparisons[:min(len(figures), maxOverlaid)] {
		told := c.told()
		if told == nil {
			continue
		}
		overlays, err := s.overlays(i+1, []VariantPair{c.pairOf(told)})
		if err != nil {
			return err
		}
		if len(overlays) > 0 {
			figures[i] = &overlays[0]
		}
	}
	return several.writeHTML(w, figures)
}

// overlays lays variants of the i-th side over those of the first; none unless both are runs.
func (s *Sides) overlays(i int, pairs []VariantPair) ([]Overlay, error) {
	a, b := s.all[0].folder, s.all[i].folder
	if a == nil || b == nil {
		return nil, nil
	}
	return ReadOverlays(a, b, s.design.Meaning, pairs)
}

// overlaid names the variants whose figures are laid over each other.
func (c *Comparison) overlaid() (pairs []VariantPair) {
	for i := range c.Cases {
		pairs = append(pairs, c.pairOf(&c.Cases[i]))
	}
	return pairs
}

func (c *Comparison) pairOf(one *CaseComparison) VariantPair {
	p := VariantPair{A: one.VariantA, B: one.VariantB, LabelA: "A", LabelB: c.named(), side: c.side}
	if p.A != p.B {
		p.LabelA, p.LabelB = "A: "+p.A, c.named()+": "+p.B
	}
	return p
}

// Any reports whether a comparison has a metric.
func (c *Comparison) Any() bool {
	return slices.ContainsFunc(c.Cases, func(one CaseComparison) bool { return len(one.Metrics) > 0 })
}
