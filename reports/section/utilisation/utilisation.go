// Package utilisation is how busy ports are at two scales: in telemetry windows, and as counters
// show them that are read once in a second.
package utilisation

import (
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the utilisation of a run folder.
type Section struct {
	r *reading.Reading

	Utilisation []Utilisation // by variant

	readers []*reader
}

// New implements section.New.
func New(r *reading.Reading) section.Section {
	return &Section{r: r, Utilisation: []Utilisation{}}
}

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	if n != 1 {
		return nil
	}
	s.readers = newReaders(s.r)
	for _, one := range s.readers {
		p.Ports(func(row *runfolder.PortRow) {
			if s.r.Measured(row.StartUS) {
				one.port(row)
			}
		}, s.r.ShownRun(one.of.Variant))
	}
	return nil
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	for _, one := range s.readers {
		s.Utilisation = append(s.Utilisation, one.result())
	}
	s.readers = nil
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"utilisation": s.Utilisation} }
