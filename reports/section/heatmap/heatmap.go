// Package heatmap is what the CSIG samples between blocks of hosts were, and which port they
// named: a matrix from each block to each.
package heatmap

import (
	"github.com/csiglab/csiglab/reports/heat"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the heatmaps of a run folder.
type Section struct {
	section.Base
	r       *reading.Reading
	samples *heat.Reader

	Heatmaps []heat.Heatmap // by variant, then signal
}

// New implements section.New.
func New(r *reading.Reading) section.Section { return &Section{r: r, samples: heat.Of(r)} }

// Settle implements section.Section.
func (s *Section) Settle() error {
	s.Heatmaps = s.samples.Heatmaps()
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"heatmaps": s.Heatmaps} }
