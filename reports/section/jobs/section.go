package jobs

import (
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/waits"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the section.
type Section struct {
	Jobs []Job // by variant, then job

	facts *reading.Reading
	waits *waits.Reader
	slow  map[*waits.Job]*Picture // pictures of the slowest steps
}

// New makes the section.
func New(r *reading.Reading) section.Section {
	s := &Section{Jobs: []Job{}, facts: r, waits: waits.Of(r), slow: map[*waits.Job]*Picture{}}
	s.waits.Watch(func(j *waits.Job, step *waits.Step) { s.slow[j] = newPicture(step, j.Steps[step.Number]) })
	return s
}

// Pass implements reading.Reader: the shared reader asks for all tables.
func (s *Section) Pass(int, *reading.Pass) error { return nil }

// Settle implements section.Section.
func (s *Section) Settle() error {
	for _, of := range s.waits.Jobs {
		s.waits.Settle(of.Run)
		j := newJob(s.facts, of)
		if j.Picture = s.slow[of]; j.Picture != nil && j.Slowest >= 0 {
			j.Picture.choose(&j.Paths[j.Slowest])
		}
		s.Jobs = append(s.Jobs, j)
	}
	s.slow = nil
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"jobs": s.Jobs} }

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	if len(s.Jobs) == 0 {
		return nil
	}
	all := section.Part{ID: "jobs", Title: "Jobs", Level: section.Plain, Blocks: []section.Block{s.table()}}
	if t := s.fullScale(); t != nil {
		all.Blocks = append(all.Blocks, t)
	}
	if text := s.take(); text != "" {
		all.Says = words.Capital(text) + "."
	}
	parts := []section.Part{all}
	told := s.told()
	if told != nil {
		first, others := s.pictures(told)
		if first != nil {
			parts = append(parts, section.Part{ID: "steps", Title: "What the ranks do in the slowest step", Says: s.slowestStep(told), Level: section.Loud, Blocks: append([]section.Block{first}, others...)})
		}
		parts = append(parts, section.Part{ID: "paths", Title: "Critical paths", Says: s.steps(told), Blocks: []section.Block{s.paths()}})
	}
	if t := s.collectives(); len(t.Rows) > 0 {
		p := section.Part{ID: "collectives", Title: "Collectives", Says: s.slowestCollective(), Blocks: []section.Block{t}}
		if p.Says != "" {
			p.Level = section.Plain
		}
		parts = append(parts, p)
	}
	return parts
}
