package jobs

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/waits"
)

// Operations that make no sense, with ranks that there are none of, have a picture of bounded
// size, and so does a path through them.
func TestHostileOperations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds, pieces := []string{"send", "recv", "compute", "span", "hold", "", "unknown"}, []waits.Kind{waits.KindCompute, waits.KindTransfer, waits.KindLocal, waits.KindIdle, "unknown"}
	for range 300 {
		ranks := random.IntN(30)
		job := &runfolder.Job{Ranks: make([]int32, ranks), Collectives: []runfolder.Collective{{Name: "c", Kind: "k"}}}
		s := waits.NewStep(job, []string{"h"}, 1)
		of := &waits.Path{ToUS: 9}
		for range random.IntN(40) {
			row := runfolder.OperationRow{Rank: int32(random.IntN(ranks+6) - 2), Op: random.Int64N(10), Kind: kinds[random.IntN(len(kinds))],
				ReadyUS: float64(random.IntN(9)), StartUS: float64(random.IntN(9)), EndUS: float64(random.IntN(9))}
			if random.IntN(2) == 0 {
				row.Collective = "c"
			}
			s.Add(&row)
			of.Whole = append(of.Whole, waits.Piece{Kind: pieces[random.IntN(len(pieces))], Rank: row.Rank, Peer: int32(random.IntN(ranks+6) - 2), FromUS: row.ReadyUS, ToUS: row.EndUS, UnloadedUS: row.StartUS})
		}
		p := newPath(of)
		c := newPicture(s, of)
		c.choose(p)
		if d := c.gantt(p).Draw(390); len(d.SVG()) > 100_000 {
			t.Fatalf("%d bytes of %d operations", len(d.SVG()), len(s.Ops))
		}
	}
}
