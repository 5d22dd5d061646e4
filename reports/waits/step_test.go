package waits

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// TestComputeBefore compares the index of computes with a look at every operation.
func TestComputeBefore(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		s := NewStep(&runfolder.Job{Ranks: make([]int32, 3)}, nil, 1)
		for range 1 + random.IntN(40) {
			start := float64(random.IntN(6))
			s.Ops = append(s.Ops, Op{
				Rank: random.Int32N(3), op: random.Int64N(20), Kind: metrics.OperationCompute - metrics.OperationKind(random.IntN(2)),
				StartUS: start, EndUS: start + float64(random.IntN(3)),
			})
		}
		s.settle()
		for i := range s.Ops {
			o := &s.Ops[i]
			var want *Op
			for _, k := range s.byOp {
				c := &s.Ops[k]
				if c.Rank == o.Rank && c.Kind == metrics.OperationCompute && c != o && c.EndUS == o.StartUS && c.StartUS < c.EndUS {
					want = c
					break
				}
			}
			if got := s.before(o); got != want {
				t.Fatalf("seed %d: before %+v: %+v, want %+v", seed, o, got, want)
			}
		}
	}
}
