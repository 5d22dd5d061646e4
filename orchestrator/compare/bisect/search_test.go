package bisect

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// history is a sequence of verdicts, the first good and the last bad.
type history []Verdict

// judge returns a judge of the history that fails the test if a candidate is judged that
// must not be.
func (h history) judge(t *testing.T, judged map[int]int) Judge {
	return func(_ context.Context, i int) (Verdict, error) {
		if i <= 0 || i >= len(h)-1 {
			t.Fatalf("%v: judges %d", h, i)
		}
		if judged[i]++; judged[i] > 1 {
			t.Fatalf("%v: judges %d twice", h, i)
		}
		return h[i], nil
	}
}

// transition looks at every candidate: it returns the last good and the first bad of a
// history that turns bad once.
func (h history) transition() (good, bad int) {
	for i, v := range h {
		switch {
		case v == Good:
			good = i
		case v == Bad && bad == 0:
			bad = i
		}
	}
	return good, bad
}

// random returns a history that turns bad once, with holes.
func random(r *rand.Rand, most int) history {
	h := make(history, 2+r.IntN(most))
	turn := 1 + r.IntN(len(h)-1)
	for i := range h {
		h[i] = Good
		if i >= turn {
			h[i] = Bad
		}
	}
	for range r.IntN(4) { // runs of holes
		from := r.IntN(len(h))
		for i := from; i < min(len(h), from+1+r.IntN(1+len(h)/3)); i++ {
			h[i] = Skipped
		}
	}
	if share := r.Float64() - 0.5; share > 0 { // single holes
		for i := range h {
			if r.Float64() < share {
				h[i] = Skipped
			}
		}
	}
	h[0], h[len(h)-1] = Good, Bad
	return h
}

// The search finds what looking at every candidate finds, whatever is skipped, and takes no
// more than the logarithm of steps besides the skipped ones.
func TestSearch(t *testing.T) {
	const seed = 20261123
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		h := random(r, 70)
		judged := map[int]int{}
		good, bad, err := Search(t.Context(), len(h)-1, h.judge(t, judged))
		wantGood, wantBad := h.transition()
		if err != nil || good != wantGood || bad != wantBad {
			t.Fatalf("%v: good %d, bad %d, %v; want %d and %d", h, good, bad, err, wantGood, wantBad)
		}
		verdicts, holes := 0, 0
		for i := range judged {
			if h[i] == Skipped {
				holes++
			} else {
				verdicts++
			}
		}
		if holes == 0 && verdicts > Steps(len(h)-1) {
			t.Fatalf("%v: %d verdicts, want at most %d", h, verdicts, Steps(len(h)-1))
		}
		// A hole shifts a step from the middle, but never more than there are holes.
		if verdicts > Steps(len(h)-1)+holes {
			t.Fatalf("%v: %d verdicts after %d holes", h, verdicts, holes)
		}
	}
}

// A history that turns bad more than once: the search ends at one of these places.
func TestSearchOfManyChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(20261124, 0))
	for range 5_000 {
		h := random(r, 40)
		for i := 1; i < len(h)-1; i++ {
			h[i] = Verdict(r.IntN(3))
		}
		good, bad, err := Search(t.Context(), len(h)-1, h.judge(t, map[int]int{}))
		if err != nil || h[good] != Good || h[bad] != Bad || good >= bad {
			t.Fatalf("%v: good %d, bad %d, %v", h, good, bad, err)
		}
		for i := good + 1; i < bad; i++ {
			if h[i] != Skipped {
				t.Fatalf("%v: good %d, bad %d, but %d is %v", h, good, bad, i, h[i])
			}
		}
	}
}

// Broken commits in a row cost few steps: in the middle of 1,000 commits, 300 do not build.
func TestSearchJumpsOverHoles(t *testing.T) {
	h := make(history, 1001)
	for i := range h {
		switch h[i] = Good; {
		case i >= 350 && i < 650:
			h[i] = Skipped
		case i >= 800:
			h[i] = Bad
		}
	}
	judged := map[int]int{}
	good, bad, err := Search(t.Context(), 1000, h.judge(t, judged))
	if err != nil || good != 799 || bad != 800 {
		t.Fatalf("good %d, bad %d, %v", good, bad, err)
	}
	if len(judged) > 16 {
		t.Errorf("%d candidates are judged, want at most 16", len(judged))
	}
}

func TestSearchEnds(t *testing.T) {
	broken := errors.New("the disk is full")
	if _, _, err := Search(t.Context(), 10, func(context.Context, int) (Verdict, error) { return Good, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	// Two candidates need no judge.
	if good, bad, err := Search(t.Context(), 1, nil); good != 0 || bad != 1 || err != nil {
		t.Errorf("good %d, bad %d, %v", good, bad, err)
	}
	for last, want := range map[int]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 32: 5, 33: 6} {
		if got := Steps(last); got != want {
			t.Errorf("Steps(%d) = %d, want %d", last, got, want)
		}
	}
}
