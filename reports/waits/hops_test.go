package waits

import (
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Without packets the busiest port on the way is the one that limits a transfer; none is named if
// that is the sender's NIC.
func TestByLoad(t *testing.T) {
	r := &Route{
		Ports: []*runfolder.Port{{Node: 0, Name: "h0-tor0"}, {Node: 8, Port: 2, Name: "tor0-agg0"}, {Node: 9, Port: 1, Name: "tor1-h5"}},
		Hops:  []int32{0, 1, 2}, flow: true,
	}
	at := func(node, port int32) reading.PortID { return reading.PortID{Node: node, Port: port} }
	for want, busy := range map[string]map[reading.PortID]float64{
		"tor0-agg0": {at(0, 0): 40, at(8, 2): 100, at(9, 1): 30},
		"tor1-h5":   {at(0, 0): 40, at(8, 2): 60, at(9, 1): 90, at(7, 7): 100},
		"":          {at(0, 0): 100, at(8, 2): 60},
	} {
		p := &hopPiece{Piece: &Piece{}, busy: busy}
		p.settle(r, nil)
		if p.Hop != want || p.ByLoad != (want != "") || p.HopShare != 1 {
			t.Errorf("hop %q, by load %t, share %g; want %q", p.Hop, p.ByLoad, p.HopShare, want)
		}
	}
}
