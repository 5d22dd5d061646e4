package histogram

import (
	"bytes"
	"encoding/gob"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// exact is a Histogram that keeps every value: the slow one to compare with.
type exact struct{ values, weights []int64 }

func (e *exact) add(value, weight int64) {
	if weight > 0 {
		e.values, e.weights = append(e.values, value), append(e.weights, weight)
	}
}

func (e *exact) weight() (sum int64) {
	for _, w := range e.weights {
		sum += w
	}
	return sum
}

func (e *exact) mean() float64 {
	sum := new(big.Int)
	for i, v := range e.values {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(v), big.NewInt(e.weights[i])))
	}
	mean, _ := new(big.Rat).SetFrac(sum, big.NewInt(e.weight())).Float64()
	return mean
}

func (e *exact) quantile(q float64) int64 {
	order := make([]int, len(e.values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(min(max(e.values[a]-e.values[b], -1), 1)) })
	rank := max(int64(math.Ceil(q*float64(e.weight()))), 1)
	var seen int64
	for _, i := range order {
		if seen += e.weights[i]; seen >= rank {
			return e.values[i]
		}
	}
	return 0
}

// value draws a value of any magnitude up to 2^limit, so that all powers of two are
// likely.
func value(r *rand.Rand, limit int) int64 {
	v := r.Int64N(1 << r.IntN(limit+1))
	if r.IntN(4) == 0 {
		return 1 << r.IntN(limit) // on an edge
	}
	return v
}

func TestHistogramIsTheExactOneWithinItsError(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var h Histogram
		var e exact
		limit := 1 + r.IntN(40)
		for range 1 + r.IntN(200) {
			v, w := value(r, limit), value(r, 36) // beyond 32 bits too
			h.Add(v, w)
			e.add(v, w)
		}
		compare(t, seed, &h, &e)
	}
}

func compare(t *testing.T, seed uint64, h *Histogram, e *exact) {
	t.Helper()
	if h.Weight() != e.weight() || h.Empty() != (e.weight() == 0) {
		t.Fatalf("seed %d: weight %d, want %d; empty: %t", seed, h.Weight(), e.weight(), h.Empty())
	}
	if h.Empty() {
		return
	}
	if got, want := h.Max(), slices.Max(e.values); got != want {
		t.Errorf("seed %d: greatest %d, want %d", seed, got, want)
	}
	if got, want := h.Mean(), e.mean(); math.Abs(got-want) > 1e-12*want {
		t.Errorf("seed %d: mean %v, want %v", seed, got, want)
	}
	for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
		got, want := h.Quantile(q), e.quantile(q)
		if off := math.Abs(float64(got - want)); off > MaxError*float64(want) || want < 2*resolution && off > 0 {
			t.Errorf("seed %d: quantile %v is %d, want %d: off by %.4f of it", seed, q, got, want, off/float64(want))
		}
	}
}

// Merge is the histogram of all values, in whichever order.
func TestMerge(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		var parts [3]Histogram
		var whole Histogram
		for i := range parts {
			limit := 1 + r.IntN(40)
			for range r.IntN(50) {
				v, w := value(r, limit), value(r, 34)
				parts[i].Add(v, w)
				whole.Add(v, w)
			}
		}
		var before Histogram
		before.Merge(&parts[1])
		var one, other Histogram
		for i := range parts {
			one.Merge(&parts[i])
			other.Merge(&parts[2-i])
		}
		for _, got := range []Histogram{one, other} {
			if d := cmp.Diff(got, whole, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("seed %d: merged (-) is not the whole (+):\n%s", seed, d)
			}
		}
		if d := cmp.Diff(parts[1], before); d != "" {
			t.Errorf("seed %d: Merge changed its argument:\n%s", seed, d)
		}
	}
}

// Every value lies within the bounds of its bucket, and buckets follow each other.
func TestBuckets(t *testing.T) {
	next := int64(1)
	for i := 1; ; i++ {
		low, high := bounds(i)
		if i < resolution && low != int64(i) {
			t.Fatalf("bucket %d begins at %d", i, low)
		}
		if low != next || high < low {
			t.Fatalf("bucket %d is %d to %d; the one before ends at %d", i, low, high, next-1)
		}
		if got := indexOf(low); got != i {
			t.Fatalf("%d is in bucket %d, want %d", low, got, i)
		}
		if got := indexOf(high); got != i {
			t.Fatalf("%d is in bucket %d, want %d", high, got, i)
		}
		if width := float64(high-low) / 2; width > MaxError*float64(low) {
			t.Fatalf("bucket %d, from %d to %d: its middle is off by more than %v", i, low, high, MaxError)
		}
		if high == math.MaxInt64 {
			return
		}
		next = high + 1
	}
}

// A sum beyond 64 bits: 1 MB for an hour, in byte-picoseconds.
func TestMeanOfAnHour(t *testing.T) {
	var h Histogram
	for range 3600 {
		h.Add(1_000_000, 1e12)
	}
	if got := h.Mean(); got != 1e6 {
		t.Errorf("mean %v, want 1e6", got)
	}
}

// "memory grown lazily to the greatest value seen, an idle port or flow costs next to
// nothing; steady state allocates nothing" (issue 10).
func TestMemory(t *testing.T) {
	var h Histogram
	h.Add(0, 10)
	h.Add(5, 0)
	if h.Buckets != nil {
		t.Errorf("a histogram of zeros has %d buckets", len(h.Buckets))
	}
	h.Add(1000, 1)
	h.Add(9000, 1)
	if got := len(h.Buckets); got != 5*resolution { // 512 to 16383
		t.Errorf("%d buckets for 1000 and 9000, want %d", got, 5*resolution)
	}
	if n := testing.AllocsPerRun(1000, func() { h.Add(1000, 1); h.Add(7777, 3); h.Add(0, 1) }); n != 0 {
		t.Errorf("%v allocations in the steady state", n)
	}
}

func TestEmpty(t *testing.T) {
	var h Histogram
	if !math.IsNaN(h.Mean()) || h.Quantile(0.5) != 0 || h.Max() != 0 {
		t.Errorf("an empty histogram has mean %v, median %d, greatest %d", h.Mean(), h.Quantile(0.5), h.Max())
	}
}

// Nodes send their histograms through pipes.
func TestGob(t *testing.T) {
	var h, got Histogram
	for i := range int64(50) {
		h.Add(i*i*i, i)
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&h); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&b).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, h); d != "" {
		t.Errorf("after gob (-got +sent):\n%s", d)
	}
}

// AddAll counts what Add counts, sample by sample.
func TestAddAll(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		var got, want Histogram
		for range 5 {
			samples := make([]Sample, r.IntN(40))
			for i := range samples {
				s := Sample{Value: r.Uint32() >> r.IntN(33), Weight: r.Uint32() >> r.IntN(33)}
				samples[i] = s
				want.Add(int64(s.Value), int64(s.Weight))
			}
			got.AddAll(samples)
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Fatalf("seed %d: (-got +want):\n%s", seed, d)
		}
	}
}

// AddEach counts what Add counts with a weight of 1, also when 32 bits overflow.
func TestAddEach(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		var got, want Histogram
		for _, h := range []*Histogram{&got, &want} {
			h.Add(1<<20, math.MaxUint32-20)
		}
		for range 5 {
			values := make([]uint32, r.IntN(40))
			for i := range values {
				values[i] = r.Uint32() >> r.IntN(33)
				if r.IntN(4) == 0 {
					values[i] = 1 << 20
				}
				want.Add(int64(values[i]), 1)
			}
			got.AddEach(values)
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Fatalf("seed %d: (-got +want):\n%s", seed, d)
		}
	}
}

// Depths of a queue of up to 25 packets, each for 83 ns, one by one and 32 at a time.
func BenchmarkAdd(b *testing.B) {
	samples := depths()
	b.Run("one", func(b *testing.B) {
		var h Histogram
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s := samples[i%len(samples)]
			h.Add(int64(s.Value), int64(s.Weight))
		}
	})
	b.Run("all", func(b *testing.B) {
		var h Histogram
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%32 == 0 {
				h.AddAll(samples[i%len(samples):][:32])
			}
		}
	})
}

func depths() []Sample {
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([]Sample, 4096)
	for i := range samples {
		samples[i] = Sample{Value: uint32(4150 * (1 + r.IntN(25))), Weight: 83_000}
	}
	return samples
}
