package csig

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Shares follow the weights to within one tag, from the first tag on. With rounds that
// begin at a drawn place they do so at the end of each round, to within one tag for two
// types and to within two for more.
func TestMultiplexer(t *testing.T) {
	weights := []Weights{{Delay: 1}, {1, 1, 1, 1}, {Delay: 3, ABW: 1}, {ABW: 1, ABWC: 255}, {7, 0, 5, 3}, {Delay: 6, NQD: 2}, {100, 50, 3, 255}}
	for _, w := range weights {
		checkShares(t, w, Multiplexer{}, 1)
		types := 0
		for _, n := range w {
			types += min(int(n), 1)
		}
		for seed := range uint64(20) {
			checkShares(t, w, NewMultiplexer(rand.New(rand.NewPCG(seed, 0))), min(types, 3)-1)
		}
	}
}

// checkShares checks four rounds of tags, of which the number of each type may be off
// by limit.
func checkShares(t *testing.T, w Weights, m Multiplexer, limit int) {
	t.Helper()
	total := 0
	for _, n := range w {
		total += int(n)
	}
	var count [Types]int
	for i := 1; i <= 4*total; i++ {
		count[m.Next(w)]++
		for typ, n := range w {
			if off := count[typ]*total - int(n)*i; off > limit*total || off < -limit*total || i%w.round() == 0 && off != 0 {
				t.Fatalf("weights %v: %d of %d tags have type %v, off by more than %d", w, count[typ], i, Type(typ), limit)
			}
		}
	}
	for typ, n := range w {
		if count[typ] != 4*int(n) {
			t.Errorf("weights %v: %d tags of type %v in four rounds, want %d", w, count[typ], Type(typ), 4*n)
		}
	}
}

// Where only every nth tag comes back, each type still gets its share: the rounds begin
// at drawn places.
func TestMultiplexerLocksOntoNothing(t *testing.T) {
	for _, w := range []Weights{{Delay: 1, ABW: 1}, {Delay: 1, ABW: 3}, {1, 1, 1, 1}, {Delay: 2, NQD: 6}, {Delay: 1, ABW: 7}} {
		for _, every := range []int{1, 2, 3, 4, 8, 16} {
			m := NewMultiplexer(rand.New(rand.NewPCG(7, uint64(every))))
			total, count := 0, [Types]int{}
			for _, n := range w {
				total += int(n)
			}
			const back = 4000
			for range back {
				for range every - 1 {
					m.Next(w)
				}
				count[m.Next(w)]++
			}
			for typ, n := range w {
				// Four standard deviations of a share of 1/2 in 4000 draws are 3.2 %.
				if got, want := float64(count[typ])/back, float64(n)/float64(total); math.Abs(got-want) > 0.032 {
					t.Errorf("weights %v, one tag of %d comes back: %.3f are %v, want %.3f", w, every, got, Type(typ), want)
				}
			}
		}
	}
}

// A type that is no longer wanted is not sent again, and one that comes back has
// saved nothing up.
func TestMultiplexerFollowsItsWeights(t *testing.T) {
	var m Multiplexer
	for range 3 {
		m.Next(Weights{Delay: 2, NQD: 1})
	}
	for range 5 {
		if got := m.Next(Only(ABW)); got != ABW {
			t.Fatalf("tag of type %v, want abw alone", got)
		}
	}
	var count [Types]int
	for range 30 {
		count[m.Next(Weights{Delay: 1, ABW: 1})]++
	}
	if count[Delay] != 15 || count[ABW] != 15 {
		t.Errorf("types %v of 30, want 15 and 15", count)
	}
}

func TestWeights(t *testing.T) {
	if (Weights{}).Any() || !Only(NQD).Any() {
		t.Error("Any of no weight and of one is wrong")
	}
	if got := (Weights{ABW: 1, Delay: 3}).String(); got != "abw:1 delay:3" || (Weights{}).String() != "nothing" {
		t.Errorf("weights are written %q and %q", got, (Weights{}).String())
	}
	if got, want := Only(Delay).Merge(Weights{Delay: 2, ABW: 255}).Merge(Only(ABW)), (Weights{Delay: 3, ABW: 255}); got != want {
		t.Errorf("merged %v, want %v", got, want)
	}
}
