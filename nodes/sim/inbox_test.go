package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Whatever arrives at a node is collected in the window in which it arrives, in order of
// time, tie key, port and sending, however far ahead it was sent.
func TestInboxAgainstSort(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 100 {
		width := units.Duration([]int{10, 1000}[round%2])
		tieSeed := uint64(round % 3)
		s := &Sim{cfg: Config{TieSeed: tieSeed}, nodes: []simNode{{turn: &turn{next: units.Never}}}, inboxes: make([][]arrival, 1), booked: []units.Time{0}}
		w := &shard{sim: s, calendar: newCalendar(width)}
		n := &s.nodes[0]
		var got, want []arrival
		sent := uint64(0)
		for window := range 200 {
			w.start = units.Time(window) * units.Time(width)
			w.horizon = w.start.Add(width)
			w.collect(n)
			for n.turn.next != units.Never {
				if r.IntN(50) == 0 { // a run that is stopped and goes on
					w.putBack(n)
					w.collect(n)
				}
				a := n.turn.take()
				if a.arrives < w.start || a.arrives >= w.horizon {
					t.Fatalf("seed %d: arrival at %v in the window of %v", seed, a.arrives, w.start)
				}
				got = append(got, *a)
			}
			if first := n.later; first < w.horizon {
				t.Fatalf("seed %d: what stays is due at %v, the window ends at %v", seed, first, w.horizon)
			}
			for range r.IntN(8) * []int{1, 1, 1, 12}[window%4] {
				ahead := 1 + r.IntN(3*int(width))
				if r.IntN(4) == 0 {
					ahead = 1 + r.IntN(60*int(width))
				}
				// The digest numbers them.
				a := arrival{packet: new(wire.Packet), digest: sent, arrives: w.horizon.Add(units.Duration(ahead - 1)), port: int32(r.IntN(3))}
				sent++
				w.deliver(0, &a)
				if a.arrives < units.Time(200*width) {
					want = append(want, a)
				}
			}
		}
		slices.SortFunc(want, func(a, b arrival) int {
			return cmp.Or(cmp.Compare(a.arrives, b.arrives),
				cmp.Compare(node.TieKey(tieSeed, 0, a.arrives, int(a.port)), node.TieKey(tieSeed, 0, b.arrives, int(b.port))),
				cmp.Compare(a.port, b.port), cmp.Compare(a.digest, b.digest))
		})
		if len(got) != len(want) {
			t.Fatalf("seed %d, round %d: %d arrivals, want %d", seed, round, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("seed %d, round %d: arrival %d is %+v, want %+v", seed, round, i, got[i], want[i])
			}
		}
	}
}
