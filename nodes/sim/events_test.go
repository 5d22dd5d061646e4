package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/units"
)

// The heap gives events in the order that sorting gives, whatever the mix of
// pushes and takes.
func TestHeapAgainstSort(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 200 {
		var h eventHeap
		var slow []event
		span := 1 + r.IntN(1000) // few instants make many ties in time
		for step := range 500 {
			if r.IntN(5) < 3 {
				// order is unique, so that equal events cannot hide a mistake.
				e := event{at: units.Time(r.IntN(span)), order: uint64(r.IntN(4))<<62 | uint64(step)}
				h.push(e)
				slow = append(slow, e)
				continue
			}
			if len(slow) == 0 {
				if at := h.first(); at != units.Never {
					t.Fatalf("seed %d, round %d: first of an empty heap is %v, want never", seed, round, at)
				}
				continue
			}
			slices.SortFunc(slow, func(a, b event) int {
				if a.at != b.at {
					return int(a.at - b.at)
				}
				if a.order < b.order {
					return -1
				}
				return 1
			})
			want := slow[0]
			slow = slow[1:]
			if at := h.first(); at != want.at {
				t.Fatalf("seed %d, round %d: first = %v, want %v", seed, round, at, want.at)
			}
			if got := h.take(); got != want {
				t.Fatalf("seed %d, round %d: take = %+v, want %+v", seed, round, got, want)
			}
		}
		if got := h.size(); got != len(slow) {
			t.Fatalf("seed %d, round %d: %d events left, want %d", seed, round, got, len(slow))
		}
	}
}

// size returns the number of events.
func (h *eventHeap) size() int {
	h.first() // closes the hole
	return len(h.events)
}

// The hold model: each event that is taken causes another.
func BenchmarkHeap(b *testing.B) {
	for _, size := range []int{64, 1024, 65536} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var h eventHeap
			for i := range size {
				h.push(event{at: units.Time(r.IntN(1_000_000)), order: uint64(i)})
			}
			later := make([]units.Time, 4096)
			for i := range later {
				later[i] = units.Time(r.IntN(1_000_000))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h.first()
				e := h.take()
				e.at += later[i&4095]
				h.push(e)
			}
		})
	}
}
