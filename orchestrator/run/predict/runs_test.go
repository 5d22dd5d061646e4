package predict

import (
	"runtime"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
)

// A run gets a core for 120 hosts; several runs share the cores. Three-flow alone takes as
// long on eight cores as on one.
func TestCoresOfAPrediction(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	small := estimate.Work{Hosts: 16, Nodes: 29, Ports: 56, Flows: 3, PacketHops: 50_000_000, DataPackets: 6_000_000, BusyPorts: 10, InFlight: 100}
	large := small
	large.Hosts = 1024
	wall := func(e estimate.Work, runs, cores int) float64 {
		p := Runs([]Load{{e, runs}}, Way{Parallel: cores})
		return p.Wall.Seconds()
	}
	for _, c := range []struct {
		name        string
		a, b        float64
		least, most float64 // of a/b
	}{
		{"a small run on eight cores and on one", wall(small, 1, 8), wall(small, 1, 1), 0.999, 1.001},
		{"a large run on two cores and on one", wall(large, 1, 2), wall(large, 1, 1), 0.5, 0.65},
		{"a large run on eight cores and on two", wall(large, 1, 8), wall(large, 1, 2), 0.2, 0.5},
		{"two small runs on two cores and on one", wall(small, 2, 2), wall(small, 2, 1), 0.49, 0.55},
		{"eight small runs and one on eight cores", wall(small, 8, 8), wall(small, 1, 8), 0.9, 1.2},
	} {
		if ratio := c.a / c.b; ratio < c.least || ratio > c.most {
			t.Errorf("%s: %.2f s and %.2f s", c.name, c.a, c.b)
		}
	}
}
