package csig

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/units"
)

// One packet of each N is tagged, wherever N begins, and every place in the N is as
// likely as another.
func TestOneOfN(t *testing.T) {
	const blocks = 4000
	for _, n := range []int{2, 4, 16, 64} {
		s := NewSampler(Sampling{Every: n}, rand.New(rand.NewPCG(1, uint64(n))))
		places := make([]int, n)
		for b := range blocks {
			tags := 0
			for i := range n {
				if s.Due(units.Time(b*n + i)) {
					places[i]++
					tags++
				}
			}
			if tags != 1 {
				t.Fatalf("1/%d: %d tags in block %d, want 1", n, tags, b)
			}
		}
		for i, count := range places {
			// Five standard deviations of a binomial distribution.
			mean := float64(blocks) / float64(n)
			if off := float64(count) - mean; off*off > 25*mean {
				t.Errorf("1/%d: place %d was drawn %d times of %d, want about %.0f", n, i, count, blocks, mean)
			}
		}
	}
}

// A period in the traffic meets tags at the same share as any other packets: what
// comes at every fourth packet is not always, or never, the one that is tagged.
func TestSamplingLocksOntoNothing(t *testing.T) {
	for seed := range uint64(12) {
		s := NewSampler(Sampling{Every: 4}, rand.New(rand.NewPCG(seed, 0)))
		tagged := 0
		for i := range 4000 {
			if s.Due(units.Time(i)) && i%4 == 3 {
				tagged++
			}
		}
		if tagged < 180 || tagged > 320 {
			t.Errorf("seed %d: of the 1000 packets that end a group of four %d have a tag, want about 250", seed, tagged)
		}
	}
}

func TestSamplerModes(t *testing.T) {
	for _, test := range []struct {
		sampling Sampling
		want     []int // of ten packets, a microsecond apart
	}{
		{Sampling{}, nil},
		{All, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{Sampling{Every: 4, Stride: true}, []int{3, 7}},
		{Sampling{Every: 4}, []int{3, 4, 8}},
		{Sampling{Every: 1, Spacing: 3 * units.Microsecond}, []int{0, 3, 6, 9}},
		{Sampling{Every: 1, Spacing: 2500 * units.Nanosecond}, []int{0, 3, 6, 9}},
	} {
		s := NewSampler(test.sampling, rand.New(rand.NewPCG(3, 0)))
		var got []int
		for i := range 10 {
			if s.Due(units.Time(i) * units.Time(units.Microsecond)) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: tags %v, want %v", test.sampling, got, test.want)
		}
	}
}

func TestParseSampling(t *testing.T) {
	for text, want := range map[string]Sampling{
		"every": All, "none": {}, "1/4": {Every: 4}, "1/1": All, "stride/16": {Every: 16, Stride: true},
		"1/20us": {Every: 1, Spacing: 20 * units.Microsecond}, "1/1.5ms": {Every: 1, Spacing: 1500 * units.Microsecond}, "1/20": {Every: 20},
	} {
		if got, err := ParseSampling(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "1/", "1/0", "1/0us", "1/1ps", "stride/0", "stride", "1/-4", "1/+4", "1/4 ", "2/4", "stride/20us", "1/5kB", "1/1000000000", "every/2"} {
		if got, err := ParseSampling(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
