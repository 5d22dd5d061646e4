// Package sharing is the section on jobs that share links: how far their phases move apart, and
// what that makes of their iterations.
package sharing

import (
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the section.
type Section struct {
	Groups []Group // by variant

	reading *reading.Reading
	steps   map[reading.RunID]map[int32]*jobSteps
}

// New makes the section.
func New(r *reading.Reading) section.Section {
	return &Section{Groups: []Group{}, reading: r, steps: map[reading.RunID]map[int32]*jobSteps{}}
}

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	if n != 0 || !sharesLinks(s.reading.Manifest) {
		return nil
	}
	for _, run := range s.reading.Manifest.Runs {
		id := reading.RunID{Variant: run.Variant, Seed: run.Seed}
		of, shown := map[int32]*jobSteps{}, s.reading.ShownRun(run.Variant) == id
		s.steps[id] = of
		p.Instances(func(row *runfolder.InstanceRow) {
			j := of[row.Job]
			if j == nil {
				j = &jobSteps{steps: map[int32]*Iteration{}, phases: map[int32][]reading.Span{}}
				of[row.Job] = j
			}
			j.add(row, shown)
		}, id)
	}
	return nil
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	m := s.reading.Manifest
	if !sharesLinks(m) {
		return nil
	}
	base := m.Variants[0].Name
	for i := range m.Variants {
		if m.Variants[i].Name == fairVariant {
			base = fairVariant
		}
	}
	var all []*Group
	var pairs []measuredPair
	for i := range m.Variants {
		v := m.Variants[i].Name
		for _, jobs := range componentsOf(m.JobsOf(v)) {
			g := &Group{Variant: v, Seed: s.reading.Totals.Shown[v], Base: base, Links: []string{}, Pairs: []Pair{}}
			pairs = append(pairs, s.fill(g, jobs)...)
			all = append(all, g)
		}
	}
	addPairs(pairs)
	for _, g := range all {
		s.Groups = append(s.Groups, *g)
	}
	s.steps = nil
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"jobGroups": s.Groups} }
