package csig

import (
	"math"
	"math/bits"
)

// fullShare is the greatest value of the types held in ppm.
const fullShare = 1_000_000

// limit is the greatest raw value that t can have.
func (t Type) limit() uint64 {
	return definitions[t].Unit.limit()
}

// limit is the greatest raw value in the unit.
func (u Unit) limit() uint64 {
	if u == PPM {
		return fullShare
	}
	return math.MaxUint64
}

const (
	maxBands       = 32
	noRank   int16 = math.MinInt16 // the code is neither a band's nor the initial one
)

// bands is the quantiser of a compact tag for one type: up to 32 ranges, each
// with its code. Codes are compared by the rank of their range, never by their
// number.
type bands struct {
	lower [maxBands]uint64 // lower edges, ascending from 0; unused ones are MaxUint64
	last  int16            // rank of the last range
	code  [maxBands]uint8  // by rank
	rank  [maxBands]int16  // by code; -1 or last+1 for an initial code that no range has
	high  [maxBands]uint64 // by rank, inclusive
	point [maxBands]uint64 // by rank
	worst uint8            // code of the worst range
	open  bool             // the last range has no upper edge
}

// newBands compiles a resolved quantiser.
func newBands(q Quantiser, t Type, mode DecodeMode) bands {
	n := len(q.Edges)
	d := bands{last: int16(n - 1), open: t.limit() == math.MaxUint64}
	for code := range d.rank {
		d.rank[code] = noRank
	}
	// A fresh tag is better than every range, unless a range has its code.
	if t.Min() {
		d.rank[initCode(t.Min(), 5)] = int16(n)
	} else {
		d.rank[initCode(t.Min(), 5)] = -1
	}
	for i := range d.lower {
		if i >= n {
			d.lower[i] = math.MaxUint64
			continue
		}
		d.lower[i], d.code[i] = q.Edges[i], uint8(i)
		if q.Bands != nil {
			d.code[i] = q.Bands[i]
		}
		d.rank[d.code[i]] = int16(i)
		upper := q.top
		if i+1 < n {
			upper = q.Edges[i+1]
		}
		d.high[i], d.point[i] = upper-1, point(q.Edges[i], upper, mode)
	}
	d.high[n-1] = t.limit()
	d.worst = d.code[n-1]
	if t.Min() {
		d.worst = d.code[0]
	}
	return d
}

// rankOf returns the rank of the range that holds v: a binary search without
// an unpredictable branch on the number of ranges.
func (d *bands) rankOf(v uint64) int16 {
	i := 0
	for step := maxBands / 2; step > 0; step /= 2 {
		if v >= d.lower[(i+step)%maxBands] {
			i += step
		}
	}
	return min(int16(i), d.last)
}

func (d *bands) decode(code uint16, s *Sample) bool {
	r := d.rank[code%maxBands]
	if r < 0 || r > d.last {
		return false
	}
	s.Code = uint32(code)
	s.Low, s.High, s.Point = d.lower[r], d.high[r], d.point[r]
	s.Saturated = d.open && r == d.last
	return true
}

// linear is the quantiser of a wide tag for one type: equal steps of a power of
// two above a base, clamped at both ends (docs/reference/references.md#wide-quantiser).
type linear struct {
	base  uint64
	shift uint8
	limit uint64
	top   uint32 // greatest code that the quantiser gives
	worst uint32
	mode  DecodeMode
}

// newLinear compiles a resolved quantiser.
func newLinear(q Quantiser, t Type, mode DecodeMode) linear {
	d := linear{base: q.Base, shift: uint8(bits.TrailingZeros64(q.Step)), limit: t.limit(), mode: mode}
	d.top = d.code(math.MaxUint64)
	if !t.Min() {
		d.worst = d.top
	}
	return d
}

func (d *linear) code(v uint64) uint32 {
	v = min(v, d.limit)
	if v < d.base {
		return 0
	}
	return uint32(min((v-d.base)>>d.shift, wideSignalMask))
}

func (d *linear) decode(code uint32, s *Sample) bool {
	if code > d.top {
		return false
	}
	s.Code = code
	s.Low = d.base + uint64(code)<<d.shift
	upper := s.Low + 1<<d.shift
	s.High, s.Point = min(upper-1, d.limit), point(s.Low, upper, d.mode)
	s.Point = min(s.Point, s.High)
	if code == 0 && d.base > 0 {
		s.Low, s.Saturated = 0, true
	}
	if code == wideSignalMask && s.High < d.limit {
		s.High, s.Saturated = d.limit, true
	}
	return true
}

// point returns the value that stands for the range from low to below upper.
func point(low, upper uint64, mode DecodeMode) uint64 {
	switch {
	case mode == DecodeLower:
		return low
	case mode == DecodeGeometric && low > 0:
		return uint64(math.Round(math.Sqrt(float64(low) * float64(upper))))
	}
	return low + (upper-low)/2
}
