package waits

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Operations that make no sense, with ranks that there are none of and circles of what is
// ready after what, end in a path of bounded length.
func TestHostileOperations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []string{"send", "recv", "compute", "span", "", "unknown"}
	for round := range 300 {
		ranks := random.IntN(4)
		job := &runfolder.Job{Ranks: make([]int32, ranks), Collectives: []runfolder.Collective{{Name: "c", Kind: "k"}}}
		s := NewStep(job, []string{"h"}, 1)
		number := func() *int64 {
			if random.IntN(4) == 0 {
				return nil
			}
			n := random.Int64N(12) - 2
			return &n
		}
		small := func() *int32 {
			if n := number(); n != nil {
				m := int32(*n)
				return &m
			}
			return nil
		}
		for range random.IntN(40) {
			row := runfolder.OperationRow{Rank: int32(random.IntN(6) - 2), Op: random.Int64N(10), Kind: kinds[random.IntN(len(kinds))], Peer: small(), Flow: small(), Channel: small(), Message: number(), After: number(),
				ReadyUS: float64(random.IntN(9)), StartUS: float64(random.IntN(9)), EndUS: float64(random.IntN(9))}
			if random.IntN(2) == 0 {
				row.Collective = "c"
			}
			s.Add(&row)
		}
		s.settle()
		p := &Path{ToUS: 9}
		for _, name := range []string{"", "c"} {
			if last := s.last(name, -1, 0, 9); last != nil {
				p.Whole = s.path(last, 0)
			}
		}
		if len(p.Whole) > 2*len(s.Ops)*len(s.Ops)+2 {
			t.Errorf("round %d: %d pieces of %d operations", round, len(p.Whole), len(s.Ops))
		}
	}
	if operationKinds["span"] != metrics.OperationSpan {
		t.Error("the kinds of operations have other names in the table")
	}
}
