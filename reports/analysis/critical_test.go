package analysis

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
		s := newStepOps(&runfolder.Job{Ranks: make([]int32, 3)}, 1, func(int32) string { return "h" })
		for range 1 + random.IntN(40) {
			start := float64(random.IntN(6))
			s.ops = append(s.ops, stepOp{
				rank: random.Int32N(3), op: random.Int64N(20), kind: metrics.OperationCompute - metrics.OperationKind(random.IntN(2)),
				startUS: start, endUS: start + float64(random.IntN(3)),
			})
		}
		s.settle()
		for i := range s.ops {
			o := &s.ops[i]
			var want *stepOp
			for _, k := range s.byOp {
				c := &s.ops[k]
				if c.rank == o.rank && c.kind == metrics.OperationCompute && c != o && c.endUS == o.startUS && c.startUS < c.endUS {
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
