package jobs

import (
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/waits"
)

// Section is the section.
type Section struct {
	section.Base
	Jobs []Job // by variant, then job

	facts    *reading.Reading
	waits    *waits.Reader
	pictures map[*waits.Job]*Picture
}

// New makes the section.
func New(r *reading.Reading) section.Section {
	s := &Section{Jobs: []Job{}, facts: r, waits: waits.Of(r), pictures: map[*waits.Job]*Picture{}}
	s.waits.Watch(func(j *waits.Job, step *waits.Step) { s.pictures[j] = newPicture(step, j.Steps[step.Number]) })
	return s
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	for _, of := range s.waits.Jobs {
		s.waits.Settle(of.Run)
		j := newJob(s.facts, of)
		if j.Picture = s.pictures[of]; j.Picture != nil && j.Slowest >= 0 {
			j.Picture.choose(&j.Paths[j.Slowest])
		}
		s.Jobs = append(s.Jobs, j)
	}
	s.pictures = nil
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"jobs": s.Jobs} }

// Parts implements section.Section.
func (s *Section) Parts() []section.Part { return nil }
