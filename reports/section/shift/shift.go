// Package shift is where the bottleneck was: in the first variant and in another one, and before
// and after faults.
package shift

import (
	"github.com/csiglab/csiglab/reports/heat"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the shifts of a run folder.
type Section struct {
	section.Base
	r       *reading.Reading
	samples *heat.Reader

	Shifts []Shift // of variants, then of faults
}

// New implements section.New.
func New(r *reading.Reading) section.Section { return &Section{r: r, samples: heat.Of(r)} }

// Settle implements section.Section.
func (s *Section) Settle() error {
	s.Shifts = newShifts(s.r, s.samples)
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"shifts": s.Shifts} }
