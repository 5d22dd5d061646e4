package fifo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/internal/fifo"
)

func TestAgainstSlice(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	var q fifo.Queue[int]
	var slow []int
	for step := range 20000 {
		var got, want int
		var ok bool
		n := len(slow)
		wantOK := n > 0
		// Phases of growing and of draining, so that the ring wraps and grows at
		// every offset.
		switch op := r.IntN(10); {
		case op < 4 || op < 7 && step/500%8 == 0:
			q.Push(step)
			slow = append(slow, step)
			continue
		case op < 8:
			if got, ok = q.Pop(); wantOK {
				want, slow = slow[0], slow[1:]
			}
		case op < 9:
			if got, ok = q.PopTail(); wantOK {
				want, slow = slow[n-1], slow[:n-1]
			}
		default:
			if got, ok = q.Peek(); wantOK {
				want = slow[0]
			}
		}
		if got != want || ok != wantOK || q.Len() != len(slow) {
			t.Fatalf("seed %d, step %d: got %d, %v, length %d, want %d, %v, %d", seed, step, got, ok, q.Len(), want, wantOK, len(slow))
		}
	}
}

func TestStopsAllocating(t *testing.T) {
	var q fifo.Queue[int]
	for i := range 100 {
		q.Push(i)
	}
	allocs := testing.AllocsPerRun(1000, func() {
		v, _ := q.Pop()
		q.Push(v)
	})
	if allocs != 0 {
		t.Errorf("a full turn costs %v allocations", allocs)
	}
}

func ExampleQueue() {
	var q fifo.Queue[string]
	q.Push("first")
	q.Push("second")
	q.Push("last")
	fmt.Println(q.Pop())
	fmt.Println(q.PopTail())
	fmt.Println(q.Len())
	// Output:
	// first true
	// last true
	// 1
}
