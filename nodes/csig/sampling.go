package csig

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/units"
)

// Sampling says which packets of a flow, or of a port, start with a tag. The zero
// value tags none.
type Sampling struct {
	// Every says that one packet of Every is tagged: 1 all, 0 none. Of each Every
	// packets one is drawn, so that sampling locks onto no period of the traffic, and
	// so that after any number of packets the share is right to within one tag.
	Every int
	// Stride takes every packet number Every instead, from a drawn one on.
	Stride bool
	// Spacing is the least time between tags; 0: none.
	Spacing units.Duration
}

// All tags every packet.
var All = Sampling{Every: 1}

// Some reports whether some packets are tagged and some are not.
func (s Sampling) Some() bool { return s.Every > 1 || s.Spacing > 0 }

// Draws reports whether a Sampler needs a random generator.
func (s Sampling) Draws() bool { return s.Every > 1 }

// SamplingWords says what ParseSampling reads.
const SamplingWords = "every, none, 1/N (one packet of N, drawn), stride/N (every Nth) or 1/TIME (at most one in that time)"

// maxEvery is the largest N of 1/N.
const maxEvery = 1_000_000_000

// ParseSampling reads a Sampling as SamplingWords says.
func ParseSampling(text string) (Sampling, error) {
	wrong := fmt.Errorf("%q is not %s", text, SamplingWords)
	switch text {
	case "every":
		return All, nil
	case "none":
		return Sampling{}, nil
	}
	kind, value, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(value)
	switch {
	case kind != "1" && kind != "stride":
		return Sampling{}, wrong
	case err == nil && n > 0 && n < maxEvery && value[0] >= '1' && value[0] <= '9':
		return Sampling{Every: n, Stride: kind == "stride"}, nil
	case err == nil || kind == "stride":
		return Sampling{}, wrong
	}
	spacing, err := units.ParseDuration(value)
	if err != nil || spacing < units.Nanosecond {
		return Sampling{}, wrong
	}
	return Sampling{Every: 1, Spacing: spacing}, nil
}

// Sampler chooses the packets of one flow or port that are tagged.
type Sampler struct {
	Sampling
	random *rand.Rand
	until  int        // packets before the next tagged one
	rest   int        // of its block of Every, after that one
	free   units.Time // with Spacing: no tag before this
}

// NewSampler returns a sampler, which draws from random alone. random may be nil if
// nothing is drawn.
func NewSampler(s Sampling, random *rand.Rand) Sampler {
	p := Sampler{Sampling: s, random: random}
	if s.Draws() {
		p.until = random.IntN(s.Every)
		p.rest = s.Every - 1 - p.until
	}
	return p
}

// Due reports whether the packet that is sent at now is tagged. It is asked once for
// each packet.
func (s *Sampler) Due(now units.Time) bool {
	switch {
	case s.Every == 0 || now < s.free:
		return false
	case s.until > 0:
		s.until--
		return false
	}
	s.free = now.Add(s.Spacing)
	if s.Stride || s.Every == 1 {
		s.until = s.Every - 1
		return true
	}
	next := s.random.IntN(s.Every)
	s.until, s.rest = s.rest+next, s.Every-1-next
	return true
}
