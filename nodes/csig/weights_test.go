package csig

import "testing"

// Shares follow the weights to within one tag, from the first tag on.
func TestMultiplexer(t *testing.T) {
	for _, w := range []Weights{{Delay: 1}, {1, 1, 1, 1}, {Delay: 3, ABW: 1}, {ABW: 1, ABWC: 255}, {7, 0, 5, 3}} {
		var m Multiplexer
		total := 0
		for _, n := range w {
			total += int(n)
		}
		var count [Types]int
		for i := 1; i <= 4*total; i++ {
			count[m.Next(w)]++
			for typ, n := range w {
				if off := count[typ]*total - int(n)*i; off > total || off < -total {
					t.Fatalf("weights %v: %d of %d tags have type %v, off by more than one", w, count[typ], i, Type(typ))
				}
			}
		}
		for typ, n := range w {
			if count[typ] != 4*int(n) {
				t.Errorf("weights %v: %d tags of type %v in four rounds, want %d", w, count[typ], Type(typ), 4*n)
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
