// Package fabric is the drawing of the fabric: how busy its links are over the whole run, where
// flows go and which ports limit them, and how its links are used over time.
package fabric

import (
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the fabric. It has no part: First and Map are for the first screen.
type Section struct {
	section.Base
	r *reading.Reading

	Fabric *Fabric // nil when the manifest has no link
	Loads  []Load  // of the first variants

	readers []*loadReader
}

// New implements section.New.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	if n != 1 {
		return nil
	}
	var lines lineOf
	s.Fabric, lines = newFabric(s.r.Manifest, s.r.Told, s.r.Ports, s.r.Limits, s.r.Flows)
	if s.Fabric != nil {
		s.Fabric.mark(s.r.Manifest, s.r.ShownRun(s.r.Told), lines)
	}
	s.readers = newLoadReaders(s.r, s.Fabric, lines)
	for _, l := range s.readers {
		of := s.r.ShownRun(l.of.Variant)
		p.Ports(l.port, of)
		p.Signals(l.signal, of)
	}
	return nil
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	for _, l := range s.readers {
		s.Loads = append(s.Loads, l.result())
	}
	s.readers = nil
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	numbers := map[string]any{}
	if s.Fabric != nil {
		numbers["fabric"] = s.Fabric
	}
	if len(s.Loads) > 0 {
		numbers["fabricLoads"] = s.Loads
	}
	return numbers
}

// Parts implements section.Section.
func (s *Section) Parts() []section.Part { return nil }
