package graph

import (
	"math"

	"github.com/csiglab/csiglab/units"
)

// Scaled is a Source whose times and sizes are those of another one times a scale: times rounded,
// sizes rounded up, as both ends of a message have to agree on. NewScaled makes it; its fields are
// for gob.
type Scaled struct {
	Of    Source
	Scale float64
	Names Labels
}

// NewScaled returns a source times scale, which is above 0 and at most 1.
func NewScaled(of Source, scale float64) *Scaled {
	s := &Scaled{of, scale, Labels{Phases: of.Labels().Phases}}
	for _, c := range of.Labels().Collectives {
		c.Bytes = s.size(c.Bytes)
		s.Names.Collectives = append(s.Names.Collectives, c)
	}
	return s
}

// TimeScale returns the scale.
func (s *Scaled) TimeScale() float64 { return s.Scale }

// Ranks implements Source.
func (s *Scaled) Ranks() int { return s.Of.Ranks() }

// Steps implements Source.
func (s *Scaled) Steps() int { return s.Of.Steps() }

// Labels implements Source.
func (s *Scaled) Labels() *Labels { return &s.Names }

// Only implements Source.
func (s *Scaled) Only(ranks []int) Source { return &Scaled{s.Of.Only(ranks), s.Scale, s.Names} }

// Program implements Source.
func (s *Scaled) Program(rank int, seed uint64) Program {
	return &scaledProgram{s, s.Of.Program(rank, seed)}
}

func (s *Scaled) size(size units.Size) units.Size {
	return units.Size(math.Ceil(float64(size) * s.Scale))
}

func (s *Scaled) time(d units.Duration) units.Duration {
	return units.Duration(math.Round(float64(d) * s.Scale))
}

type scaledProgram struct {
	source *Scaled
	of     Program
}

// Next implements Program.
func (p *scaledProgram) Next(op *Op) bool {
	if !p.of.Next(op) {
		return false
	}
	s := p.source
	op.Bytes, op.Total, op.Duration, op.NotBefore = s.size(op.Bytes), s.size(op.Total), s.time(op.Duration), s.time(op.NotBefore)
	return true
}
