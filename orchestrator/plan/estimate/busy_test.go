package estimate

import (
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
)

// The working set is of the ports that packets cross: all of a permutation, few of one
// flow, and of an incast those on the way to one host less than those of the senders.
func TestBusyPorts(t *testing.T) {
	const fabric = "schema: 1\nname: t\ntopology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}\nworkload: "
	busy := func(workload string) float64 { return Of(backendtest.Compile(t, fabric+workload+"\n"), nil).BusyPorts }
	for _, c := range []struct {
		workload    string
		least, most float64
	}{
		{"{permutation: {size: 2MB}}", 600, 768}, // ports of the fabric
		{"{transfers: [0 -> 100 2MB]}", 12, 90},  // 6 hops and back, by 4 and 16 ways
		{"{incast: {fan_in: 127, size: 2MB}}", 60, 300},
	} {
		if got := busy(c.workload); got < c.least || got > c.most {
			t.Errorf("%s: %.0f ports, want %v to %v", c.workload, got, c.least, c.most)
		}
	}
}
