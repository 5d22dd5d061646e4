package circle

import (
	"cmp"
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
// the periods, from d1 to that less d2 (derived; docs/reference/references.md#compatible-jobs). Rates
// do not matter. The profiles must
// be valid; the error is of type *FieldError.
func Pair(first, second *Profile) (Pairing, error) {
	for _, p := range []*Profile{first, second} {
		if err := p.Validate(); err != nil {
			return Pairing{}, fmt.Errorf("circle: job %q: %w", p.Name, err)
		}
	}
	r := relate(first, second)
	return Pairing{Modulus: r.g, Offsets: around(r.free(0), r.g)}, nil
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

// relation is how two jobs of a link constrain each other.
type relation struct {
	g units.Duration // the greatest common divisor of their periods
	// busy are the differences of start, second minus first modulo g, with which a burst of
	// one meets a burst of the other.
	busy ranges
}

// relate takes n log n for n pairs of bursts.
func relate(first, second *Profile) *relation {
	r := &relation{g: gcd(first.Period, second.Period)}
	all := make(ranges, 0, len(first.Bursts)*len(second.Bursts))
	for i := range first.Bursts {
		for j := range second.Bursts {
			a, b := &first.Bursts[i], &second.Bursts[j]
			all = append(all, Range{a.At - b.End() + 1, a.End() - b.At - 1})
		}
	}
	r.busy = turned(all, r.g)
	return r
}

// mirrored returns the relation of the second job to the first.
func (r *relation) mirrored() *relation {
	busy := make(ranges, len(r.busy))
	for i, b := range r.busy {
		busy[i] = Range{-b.To, -b.From}
	}
	return &relation{g: r.g, busy: turned(busy, r.g)}
}

// free returns the differences with which the bursts of the two jobs keep apart, and each
// ends at least margin before the other begins.
func (r *relation) free(margin units.Duration) ranges {
	busy := r.busy
	if margin > 0 {
		busy = make(ranges, len(r.busy))
		for i, b := range r.busy {
			busy[i] = Range{b.From - margin, b.To + margin}
		}
		busy = turned(busy, r.g)
	}
	return busy.rest(r.g)
}

// room returns the greatest margin for which free has a value. It is negative if there is
// none.
func (r *relation) room() units.Duration {
	most := units.Duration(-1)
	for _, f := range around(r.free(0), r.g) {
		most = max(most, f.Length()/2)
	}
	return most
}

// turned returns the values of ranges modulo a modulus. The ranges may be in any order, and
// have common values.
func turned(all ranges, modulus units.Duration) ranges {
	turn := make(ranges, 0, len(all)+1)
	for _, r := range all {
		if r.Length() >= modulus-1 {
			return ranges{{0, modulus - 1}}
		}
		from := modulo(r.From, modulus)
		if end := from + r.Length(); end >= modulus {
			turn = append(turn, Range{from, modulus - 1}, Range{0, end - modulus})
		} else {
			turn = append(turn, Range{from, end})
		}
	}
	slices.SortFunc(turn, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	merged := turn[:0]
	for _, r := range turn {
		if n := len(merged); n > 0 && r.From <= merged[n-1].To+1 {
			merged[n-1].To = max(merged[n-1].To, r.To)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// rest returns the values below a modulus that are not in ranges.
func (rs ranges) rest(modulus units.Duration) (others ranges) {
	next := units.Duration(0)
	for _, r := range rs {
		if r.From > next {
			others = append(others, Range{next, r.From - 1})
		}
		next = r.To + 1
	}
	if next < modulus {
		others = append(others, Range{next, modulus - 1})
	}
	return others
}

// holds reports whether a value is in ranges.
func (rs ranges) holds(v units.Duration) bool {
	i, found := slices.BinarySearchFunc(rs, v, func(r Range, v units.Duration) int { return cmp.Compare(r.From, v) })
	return found || i > 0 && v <= rs[i-1].To
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
	turn := make(ranges, len(rs))
	for i, r := range rs {
		turn[i] = Range{r.From + shift, r.To + shift}
	}
	turn = turned(turn, modulus)
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
