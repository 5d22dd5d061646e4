package forward_test

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
)

// Ports get packets in proportion to their weights, of the rack of the destination; later
// weights replace earlier ones.
func TestWCMP(t *testing.T) {
	ecmp := forward.NewECMP(table)
	a, _ := forward.Table.Lookup("wcmp")
	weights := &forward.Weights{
		Racks:  []uint16{0, 1, 2, 2, 0},
		ByRack: [][]uint8{nil, {4: 10, 5: 10, 6: 60, 7: 20}, {4: 0, 6: 200, 9: 200}},
	}
	policy, err := a.New(forward.Switch{ECMP: &ecmp, Weights: weights}, nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(dst int, want map[int]float64) {
		t.Helper()
		const n = 10_000
		got := map[int]float64{}
		for i := range uint16(n) {
			port, ok := policy.Forward(packet(9, dst, 40000+i))
			if !ok {
				t.Fatal("no route")
			}
			got[port] += 1.0 / n
		}
		for port := range 10 {
			if math.Abs(got[port]-want[port]) > 0.02 {
				t.Errorf("host %d: ports get %v, want %v", dst, got, want)
				return
			}
		}
	}
	check(0, map[int]float64{2: 1})
	check(1, map[int]float64{4: 0.1, 5: 0.1, 6: 0.6, 7: 0.2})
	check(3, map[int]float64{6: 0.5, 9: 0.5})
	set := policy.(forward.Weighted).SetWeights
	f := wire.WeightFields{Rack: 1, Sequence: 2, Count: 4}
	for i, port := range []uint8{4, 6, 200, 5} {
		f.Ports[i] = wire.PortWeight{Port: port, Weight: []uint8{1, 1, 9, 0}[i]}
	}
	set(&f)
	check(1, map[int]float64{4: 1. / 22, 6: 1. / 22, 7: 20. / 22})
	f.Sequence, f.Ports[0].Weight = 1, 200 // older
	set(&f)
	check(1, map[int]float64{4: 1. / 22, 6: 1. / 22, 7: 20. / 22})
	if weights.ByRack[1][4] != 10 {
		t.Error("the policy changed the weights of the configuration")
	}
}
