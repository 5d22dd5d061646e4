package csig

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"

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

var samplingPattern = regexp.MustCompile(`^(?:(every)|(none)|1/([1-9][0-9]{0,8})|stride/([1-9][0-9]{0,8})|1/([1-9][0-9]{0,8}(?:ns|us|ms)))$`)

// SamplingWords says what ParseSampling reads.
const SamplingWords = "every, none, 1/N (one packet of N, drawn), stride/N (every Nth) or 1/TIME (at most one in that time)"

// ParseSampling reads a Sampling as SamplingWords says.
func ParseSampling(text string) (s Sampling, err error) {
	m := samplingPattern.FindStringSubmatch(text)
	switch {
	case m == nil:
		return s, fmt.Errorf("%q is not %s", text, SamplingWords)
	case m[1] != "":
		return All, nil
	case m[2] != "":
		return s, nil
	case m[5] != "":
		s.Every = 1
		s.Spacing, err = units.ParseDuration(m[5])
	case m[4] != "":
		s.Stride = true
		s.Every, err = strconv.Atoi(m[4])
	default:
		s.Every, err = strconv.Atoi(m[3])
	}
	return s, err
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
