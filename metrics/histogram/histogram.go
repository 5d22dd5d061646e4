// Package histogram counts values in buckets, for percentiles of what a machine has
// measured: the depth of a queue over time, the delay of each packet. A Histogram is
// plain data. It knows neither time nor units: a value is a number that is not
// negative, and its weight says how often, or for how long, it was there.
//
// Buckets are log-linear: each power of two is divided into Resolution buckets of equal
// width, and values below Resolution have buckets of their own. A quantile is the middle
// of a bucket, and so off by at most MaxError of the value; sums, weights and the
// extremes are exact.
package histogram

import (
	"math"
	"math/bits"
)

// resolution is the number of buckets of a power of two. MaxError is how far a quantile
// may be off, as a share of the value: half a bucket, which is 3.1 %.
const (
	resolution = 1 << resolutionBits
	MaxError   = 1.0 / (2 * resolution)

	resolutionBits = 4
)

// Histogram counts values with their weights. The zero value is empty. It holds the
// buckets from the least value above 0 to the greatest, in whole powers of two: an
// empty one, or one of zeros alone, takes no memory but its own. Its fields are
// exported for encoding; use the methods. Weights must not sum up to more than 2^63-1.
//
// The counters are two halves of 32 bits each, so that a power of two has one cache line
// for as long as its weights are small: the buckets of many ports compete for the cache.
type Histogram struct {
	Buckets []uint32 // lower halves of the weights by bucket
	Carries []uint32 // upper halves; nil if all are 0
	First   int32    // index of the first bucket, a multiple of Resolution
	Zeros   int64    // weight of the value 0
	Most    int64    // greatest value
	// High and Low are the two halves of the sum of value times weight.
	High, Low uint64
}

// Add counts a value, which must not be negative, with a weight. A weight of 0 counts
// nothing. It allocates memory only for a value in a power of two beyond those seen
// before, and for a weight that no longer fits into 32 bits.
func (h *Histogram) Add(value, weight int64) {
	if weight <= 0 {
		return
	}
	if value <= 0 {
		h.Zeros += weight
		return
	}
	h.Most = max(h.Most, value)
	high, low := bits.Mul64(uint64(value), uint64(weight))
	var carry uint64
	h.Low, carry = bits.Add64(h.Low, low, 0)
	h.High += high + carry
	h.count(indexOf(value), uint64(weight))
}

// Sample is a value with its weight, for AddAll. Both are below 2^32.
type Sample struct{ Value, Weight uint32 }

// AddAll counts samples as Add does, faster: while the processor waits for the bucket of
// one sample, it looks for those of the next.
func (h *Histogram) AddAll(samples []Sample) {
	buckets, first := h.Buckets, int(h.First)
	most, high, low := h.Most, h.High, h.Low
	for _, s := range samples {
		value, weight := int64(s.Value), uint64(s.Weight)
		if value == 0 || weight == 0 {
			h.Zeros += int64(weight)
			continue
		}
		most = max(most, value)
		var carry uint64
		low, carry = bits.Add64(low, uint64(value)*weight, 0)
		high += carry
		index := indexOf(value)
		if i := index - first; uint(i) < uint(len(buckets)) {
			sum := uint64(buckets[i]) + weight
			buckets[i] = uint32(sum)
			if sum>>32 == 0 {
				continue
			}
			h.carry(i, 1)
		} else {
			h.count(index, weight)
			buckets, first = h.Buckets, int(h.First)
		}
	}
	h.Most, h.High, h.Low = most, high, low
}

// AddEach counts values as Add does with a weight of 1, faster, as AddAll.
func (h *Histogram) AddEach(values []uint32) {
	buckets, first := h.Buckets, int(h.First)
	var most uint32
	var sum uint64
	for _, v := range values {
		if v == 0 {
			h.Zeros++
			continue
		}
		most = max(most, v)
		sum += uint64(v)
		index := indexOf(int64(v))
		if i := index - first; uint(i) < uint(len(buckets)) && buckets[i] != math.MaxUint32 {
			buckets[i]++
		} else {
			h.count(index, 1)
			buckets, first = h.Buckets, int(h.First)
		}
	}
	h.Most = max(h.Most, int64(most))
	var carry uint64
	h.Low, carry = bits.Add64(h.Low, sum, 0)
	h.High += carry
}

// count adds a weight to a bucket.
func (h *Histogram) count(index int, weight uint64) {
	i := index - int(h.First)
	if uint(i) >= uint(len(h.Buckets)) {
		i = h.grow(index)
	}
	sum := uint64(h.Buckets[i]) + weight
	h.Buckets[i] = uint32(sum)
	if over := uint32(sum >> 32); over != 0 {
		h.carry(i, over)
	}
}

// carry adds to the upper half of the weight of bucket First+i.
func (h *Histogram) carry(i int, over uint32) {
	if h.Carries == nil {
		h.Carries = make([]uint32, len(h.Buckets))
	}
	h.Carries[i] += over
}

// grow makes room for a bucket and returns where it is now.
func (h *Histogram) grow(index int) int {
	octave := index &^ (resolution - 1)
	if len(h.Buckets) == 0 {
		h.First = int32(octave)
	}
	was := int(h.First)
	first, end := min(was, octave), max(was+len(h.Buckets), octave+resolution)
	larger := func(old []uint32) []uint32 {
		grown := make([]uint32, end-first)
		copy(grown[was-first:], old)
		return grown
	}
	h.Buckets = larger(h.Buckets)
	if h.Carries != nil {
		h.Carries = larger(h.Carries)
	}
	h.First = int32(first)
	return index - first
}

// of returns the weight of bucket First+i.
func (h *Histogram) of(i int) int64 {
	weight := uint64(h.Buckets[i])
	if h.Carries != nil {
		weight |= uint64(h.Carries[i]) << 32
	}
	return int64(weight)
}

// Weight returns the weight of all values.
func (h *Histogram) Weight() int64 {
	sum := h.Zeros
	for i := range h.Buckets {
		sum += h.of(i)
	}
	return sum
}

// Empty reports whether there are no values.
func (h *Histogram) Empty() bool { return h.Zeros == 0 && h.Most == 0 }

// indexOf returns the bucket of a value above 0. Values below Resolution are their own
// indices; the powers of two from there on follow each other.
func indexOf(value int64) int {
	shift := bits.Len64(uint64(value)) - 1 - resolutionBits
	if shift <= 0 {
		return int(value)
	}
	return shift<<resolutionBits + int(value>>shift)
}

// bounds returns the least and the greatest value of a bucket.
func bounds(index int) (low, high int64) {
	shift := index>>resolutionBits - 1
	if shift <= 0 {
		return int64(index), int64(index)
	}
	low = int64(index&(resolution-1)|resolution) << shift
	return low, low + (1<<shift - 1)
}

// Merge counts all of other's values. other stays as it is.
func (h *Histogram) Merge(other *Histogram) {
	h.Zeros += other.Zeros
	h.Most = max(h.Most, other.Most)
	var carry uint64
	h.Low, carry = bits.Add64(h.Low, other.Low, 0)
	h.High += other.High + carry
	for i := range other.Buckets {
		if weight := other.of(i); weight > 0 {
			h.count(i+int(other.First), uint64(weight))
		}
	}
}

// Mean returns the mean of the values by their weights; NaN if there are none.
func (h *Histogram) Mean() float64 {
	if h.Empty() {
		return math.NaN()
	}
	return (math.Ldexp(float64(h.High), 64) + float64(h.Low)) / float64(h.Weight())
}

// Max returns the greatest value; 0 if there are none.
func (h *Histogram) Max() int64 { return h.Most }

// Quantile returns the least value that a share q of the weight does not exceed, q from
// 0 to 1: 0.99 is the 99th percentile. It is off by at most MaxError of that value, and
// exact for 0 and for values below 2*Resolution. It returns 0 if there are no values.
func (h *Histogram) Quantile(q float64) int64 {
	// The rank is the weight that the value and those below it have at least.
	total := h.Weight()
	rank := min(max(int64(math.Ceil(q*float64(total))), 1), total)
	seen := h.Zeros
	if seen >= rank {
		return 0
	}
	for i := range h.Buckets {
		if seen += h.of(i); seen >= rank {
			low, high := bounds(i + int(h.First))
			high = min(high, h.Most)
			return low + (high-low)/2
		}
	}
	return h.Most
}
