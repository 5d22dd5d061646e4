package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/internal/heap"
)

// TestOrder: elements come in the order of the heap, whatever order they went in.
func TestOrder(t *testing.T) {
	before := func(a, b int) bool { return a < b }
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 40 {
		want := make([]int, n)
		var h []int
		for i := range want {
			want[i] = r.IntN(20)
			h = heap.Push(h, want[i], before)
		}
		slices.Sort(want)
		got := make([]int, n)
		for i := range got {
			got[i], h = heap.Pop(h, before)
		}
		if !slices.Equal(got, want) || len(h) > 0 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
