// Package circle says which training jobs fit on a link together. A job computes and
// communicates with a period, so that its communication is a set of arcs on a circle whose
// perimeter is the period. Jobs that share a link are put onto one unified circle, whose
// perimeter is the least common multiple of their periods; they are compatible if rotations
// exist with which their arcs keep apart (Rajasekaran et al., HotNets 2022), or with which
// the link carries all that they send (Rajasekaran et al., CASSINI, NSDI 2024).
//
// It is arithmetic on whole picoseconds; it knows no packet and no congestion control, and
// asks no clock. What sharing makes of jobs that overlap is a matter of workloads/fluid.
package circle

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Burst is a time in which a job communicates.
type Burst struct {
	At     units.Duration // from the begin of the period; at least 0
	Length units.Duration // more than 0; At+Length is at most the period
	Rate   units.Rate     // while it lasts; 0: whatever the link has
}

// End returns when the burst ends, from the begin of the period.
func (b Burst) End() units.Duration { return b.At + b.Length }

// Profile is the communication of a job, which repeats with the period. A period begins
// with computing.
type Profile struct {
	Name   string
	Period units.Duration // more than 0, at most MaxPeriod
	Bursts []Burst        // 1 to MaxBursts, ascending; one may begin where another ends
}

// Limits of a profile.
const (
	MaxPeriod = units.Hour
	MaxBursts = 1000
	MaxRate   = 10 * units.Tbps
)

// FieldError reports a field of a profile that makes no sense.
type FieldError struct {
	Field   string // as in a profile file: period, bursts, bursts[1].length
	Problem string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

func fault(field, format string, values ...any) error {
	return &FieldError{field, fmt.Sprintf(format, values...)}
}

// Validate checks a profile. Its errors are of type *FieldError.
func (p *Profile) Validate() error {
	switch {
	case p.Period <= 0 || p.Period > MaxPeriod:
		return fault("period", "%v, want more than 0 and at most %v", p.Period, MaxPeriod)
	case len(p.Bursts) == 0:
		return fault("bursts", "none, want 1 to %d", MaxBursts)
	case len(p.Bursts) > MaxBursts:
		return fault("bursts", "%d, want 1 to %d", len(p.Bursts), MaxBursts)
	}
	for i, b := range p.Bursts {
		field := func(name string) string { return fmt.Sprintf("bursts[%d].%s", i, name) }
		switch {
		case b.At < 0 || b.At > p.Period:
			return fault(field("at"), "%v, want 0 to the period, which is %v", b.At, p.Period)
		case b.Length <= 0:
			return fault(field("length"), "%v, want more than 0", b.Length)
		case b.Length > p.Period:
			return fault(field("length"), "%v is longer than the period, which is %v", b.Length, p.Period)
		case b.End() > p.Period:
			return fault(field("length"), "%v from %v ends at %v, behind the period, which is %v", b.Length, b.At, b.End(), p.Period)
		case b.Rate < 0 || b.Rate > MaxRate:
			return fault(field("rate"), "%v, want 0 to %v", b.Rate, MaxRate)
		case i > 0 && b.At < p.Bursts[i-1].At:
			return fault(field("at"), "%v is before burst %d, which begins at %v", b.At, i-1, p.Bursts[i-1].At)
		case i > 0 && b.At < p.Bursts[i-1].End():
			return fault(field("at"), "%v is in burst %d, which ends at %v", b.At, i-1, p.Bursts[i-1].End())
		}
	}
	return nil
}

// Communicate returns the part of the period in which the job communicates.
func (p *Profile) Communicate() (sum units.Duration) {
	for _, b := range p.Bursts {
		sum += b.Length
	}
	return sum
}

// Compute returns the part of the period in which the job does not communicate.
func (p *Profile) Compute() units.Duration { return p.Period - p.Communicate() }

// Through returns the profile of a job whose way has a rate: bursts that are faster take
// longer, and the period with them. Rate 0 of a burst stays. rate must be positive. The error
// says that a period would be longer than MaxPeriod.
func (p *Profile) Through(rate units.Rate) (Profile, error) {
	slower := Profile{Name: p.Name, Period: p.Period, Bursts: slices.Clone(p.Bursts)}
	late := units.Duration(0)
	for i := range slower.Bursts {
		b := &slower.Bursts[i]
		b.At += late
		if b.Rate > rate {
			length, ok := stretched(b.Length, b.Rate, rate)
			if late += length - b.Length; !ok || late > MaxPeriod-p.Period {
				return Profile{}, fmt.Errorf("circle: job %q: bursts of %v on a link of %v make the period of %v longer than %v", p.Name, b.Rate, rate, p.Period, MaxPeriod)
			}
			b.Length, b.Rate = length, rate
		}
	}
	slower.Period += late
	return slower, nil
}

// stretched returns how long a burst takes at another rate, rounded up. It reports false if
// that is longer than MaxPeriod.
func stretched(length units.Duration, rate, through units.Rate) (units.Duration, bool) {
	high, low := bits.Mul64(uint64(length), uint64(rate))
	if high >= uint64(through) {
		return 0, false
	}
	q, rest := bits.Div64(high, low, uint64(through))
	if q >= uint64(MaxPeriod) {
		return 0, false
	}
	return units.Duration(q + min(rest, 1)), true
}
