package circle

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Range is a range of times with both ends.
type Range struct{ From, To units.Duration }

// Length returns the time from one end to the other.
func (r Range) Length() units.Duration { return r.To - r.From }

// Pairing says whether two jobs can have a link one after the other.
type Pairing struct {
	// Modulus is the greatest common divisor of the periods: two jobs meet in every phase
	// difference that is the same modulo it.
	Modulus units.Duration
	// Offsets are the valid start offsets of the second job behind the first, modulo
	// Modulus: ascending, apart, From in [0, Modulus). The last may end behind Modulus, and
	// then goes on at 0. There is none if the jobs are not compatible.
	Offsets []Range
}

// Compatible reports whether there is a valid offset.
func (p *Pairing) Compatible() bool { return len(p.Offsets) > 0 }

// Pair says with which offsets two jobs keep apart, exactly. With a burst each, of length
// d1 and d2, there are some if and only if d1+d2 is at most the greatest common divisor of
// the periods (docs/references.md#compatible-jobs). Rates do not matter. The profiles must
// be valid; the error is of type *FieldError.
func Pair(first, second *Profile) (Pairing, error) {
	for _, p := range []*Profile{first, second} {
		if err := p.Validate(); err != nil {
			return Pairing{}, fmt.Errorf("circle: job %q: %w", p.Name, err)
		}
	}
	g := gcd(first.Period, second.Period)
	return Pairing{Modulus: g, Offsets: around(allowed(first, second, 0, nil), g)}, nil
}

// around joins a range that ends before the modulus with one that begins at 0.
func around(rs ranges, modulus units.Duration) []Range {
	if n := len(rs); n > 1 && rs[0].From == 0 && rs[n-1].To == modulus-1 {
		last := Range{rs[n-1].From, modulus + rs[0].To}
		return append(slices.Clone([]Range(rs[1:n-1])), last)
	}
	return rs
}

// ranges are ascending and apart. They hold whole picoseconds.
type ranges []Range

// allowed returns the differences of start, second minus first modulo the greatest common
// divisor of their periods, with which the bursts of two jobs keep apart, and each ends at
// least margin before the other begins. meet reports whether two bursts may be at one time;
// nil: none may.
func allowed(first, second *Profile, margin units.Duration, meet func(a, b *Burst) bool) ranges {
	g := gcd(first.Period, second.Period)
	free := ranges{{0, g - 1}}
	for i := range first.Bursts {
		for j := range second.Bursts {
			a, b := &first.Bursts[i], &second.Bursts[j]
			if meet != nil && meet(a, b) {
				continue
			}
			before, behind := a.Length+margin, b.Length+margin
			if before > g-behind {
				return nil
			}
			shift := modulo(a.At-b.At, g)
			free = intersect(free, turned(Range{before, g - behind}, shift, g))
			if len(free) == 0 {
				return nil
			}
		}
	}
	return free
}

// turned returns a range plus a shift, modulo a modulus. The range is in [0, modulus], where
// modulus itself is the same as 0, and not longer than it.
func turned(r Range, shift, modulus units.Duration) ranges {
	from, length := modulo(r.From+shift, modulus), r.Length()
	switch end := from + length; {
	case length >= modulus-1:
		return ranges{{0, modulus - 1}}
	case end >= modulus:
		return ranges{{0, end - modulus}, {from, modulus - 1}}
	default:
		return ranges{{from, end}}
	}
}

// modulo returns the value in [0, modulus) that is v modulo it.
func modulo(v, modulus units.Duration) units.Duration {
	if v %= modulus; v < 0 {
		v += modulus
	}
	return v
}

// intersect returns the values that are in both.
func intersect(a, b ranges) (both ranges) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		from, to := max(a[i].From, b[j].From), min(a[i].To, b[j].To)
		if from <= to {
			both = append(both, Range{from, to})
		}
		if a[i].To < b[j].To {
			i++
		} else {
			j++
		}
	}
	return both
}

// count returns the number of values.
func (rs ranges) count() (n units.Duration) {
	for _, r := range rs {
		n += r.Length() + 1
	}
	return n
}

// lifted returns the values that are, minus a shift, in ranges of a modulus, up to a
// period that is a multiple of it.
func (rs ranges) lifted(shift, modulus, period units.Duration) ranges {
	var turn ranges
	for _, r := range rs {
		turn = append(turn, turned(r, shift, modulus)...)
	}
	slices.SortFunc(turn, func(a, b Range) int { return int(min(1, max(-1, a.From-b.From))) })
	all := make(ranges, 0, len(turn)*int(period/modulus))
	for base := units.Duration(0); base < period; base += modulus {
		for _, r := range turn {
			from, to := base+r.From, base+r.To
			if n := len(all); n > 0 && all[n-1].To+1 == from {
				all[n-1].To = to
				continue
			}
			all = append(all, Range{from, to})
		}
	}
	return all
}
