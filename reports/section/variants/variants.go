// Package variants compares variants with the first one: what they change in times, rates,
// queues and losses, in the steps of jobs and for single flows. It says the answer of a report:
// what CSIG, or another change, did to what the experiment is about, and at which price.
package variants

import (
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section compares variants.
type Section struct {
	section.Base
	Differences []Difference // of each other variant with the first one
	Steps       []StepChange // of jobs

	r *reading.Reading
}

// New implements section.New.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// Settle implements section.Section.
func (s *Section) Settle() error {
	s.Differences, s.Steps = s.differences(), s.steps()
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	return map[string]any{"findings": struct {
		Differences []Difference `json:"differences"`
		Steps       []StepChange `json:"steps"`
	}{s.Differences, s.Steps}}
}
