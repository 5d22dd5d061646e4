package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics"
)

// sack returns what asking for each PSN returns, also for those that the receiver has had
// long ago and for those that its bitmap has no place for.
func TestSack(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		r := NewReceiver(ReceiverConfig{Common: &Common{Records: 1, Sink: metrics.Discard}, Packets: 5000})
		front := uint32(0)
		for range 500 {
			if random.IntN(3) > 0 {
				front += uint32(random.IntN(3))
			}
			r.accept(front - min(front, uint32(random.IntN(100))))
			for _, base := range []uint32{front, front - min(front, 300), r.cum - min(r.cum, 63), r.cum + 1, r.cum + uint32(random.IntN(600))} {
				var want uint64
				for i := range uint32(64) {
					if r.outOfOrder > 0 && r.has(base+i) {
						want |= 1 << i
					}
				}
				if got := r.sack(base); got != want {
					t.Fatalf("seed %d: received to %d and %d beyond: from %d the bits are %064b, want %064b", seed, r.cum, r.outOfOrder, base, got, want)
				}
			}
		}
	}
}
