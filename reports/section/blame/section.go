package blame

import (
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/waits"
)

// Section is the section. It has blames of the seed of each variant that charts show.
type Section struct {
	// Blame is by variant, then by the time lost, the most first; at most 20 of a variant.
	Blame []Blame

	reading *reading.Reading
	waits   *waits.Reader
	found   map[string][]*blamed // by variant
	replays map[string]*waits.Replay
}

// New makes the section.
func New(r *reading.Reading) section.Section {
	return &Section{Blame: []Blame{}, reading: r, waits: waits.Of(r), found: map[string][]*blamed{}, replays: map[string]*waits.Replay{}}
}

// Pass implements reading.Reader. The transfers of runs without jobs are known before pass 2,
// the critical paths of jobs before pass 3.
func (s *Section) Pass(n int, p *reading.Pass) error {
	m := s.reading.Manifest
	for i := range m.Variants {
		variant := m.Variants[i].Name
		if jobs := len(m.JobsOf(variant)) > 0; n == 2 && !jobs || n == 3 && jobs {
			s.find(variant, p)
		}
		if replay := s.replays[variant]; replay != nil && n == 4 {
			replay.AskPorts(p)
		}
	}
	return nil
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	for i := range s.reading.Manifest.Variants {
		variant := s.reading.Manifest.Variants[i].Name
		if _, ok := s.found[variant]; !ok { // there was no pass, as there was nothing to read
			s.find(variant, &reading.Pass{})
		}
		for _, b := range s.found[variant] {
			b.settle()
		}
		s.predict(variant)
		for _, b := range s.found[variant] {
			s.Blame = append(s.Blame, b.Blame)
		}
	}
	s.found = nil
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"blame": s.Blame} }
