package sim

import (
	"cmp"
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

// frees gives the ports in the order that sorting gives.
func TestFreesAgainstSort(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 200 {
		var f frees
		var slow []event
		now, ports := units.Time(0), 1+r.IntN(40)
		for step := range 500 {
			port := uint64(r.IntN(ports))
			busy := slices.ContainsFunc(slow, func(e event) bool { return e.order == port })
			switch {
			case !busy && r.IntN(5) < 4:
				e := event{now + units.Time(1+r.IntN(2)*50+r.IntN(1+round%4)), port}
				f.push(e.at, int(port))
				slow = append(slow, e)
				slices.SortFunc(slow, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
			case len(slow) == 0:
				if at := f.first(); at != units.Never {
					t.Fatalf("seed %d, round %d, step %d: first of none is %v, want never", seed, round, step, at)
				}
			default:
				want := slow[0]
				slow, now = slow[1:], want.at
				at := f.first()
				if got := (event{at, uint64(f.take())}); got != want {
					t.Fatalf("seed %d, round %d, step %d: %+v, want %+v", seed, round, step, got, want)
				}
			}
		}
		if cap(f.events) > 4*ports+4 {
			t.Errorf("seed %d, round %d: room for %d events, want at most 4 a port of %d", seed, round, cap(f.events), ports)
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
