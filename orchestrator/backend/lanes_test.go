package backend_test

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
)

// TestLanes: the nodes of a fabric, also of one that is a single pod, are divided
// evenly among processors, and each has its own where there are enough.
func TestLanes(t *testing.T) {
	p := backendtest.Compile(t, `schema: 1
name: lanes
topology: {leaf_spine: {leaves: 4, hosts_per_leaf: 4, spines: 2, rate: 10Gbps, delay: 1us}}
workload: {permutation: {size: 1kB}}
`)
	for _, processors := range []int{1, 2, 4, 16, 20} {
		lanes := backend.Lanes(p, processors)
		hosts := make([]int, processors)
		for node, lane := range lanes {
			if p.Nodes[node].Switch == nil {
				hosts[lane]++
			}
		}
		if slices.Min(hosts) != 16/processors || slices.Max(hosts) != (16+processors-1)/processors {
			t.Errorf("%d processors have %v hosts", processors, hosts)
		}
	}
	for _, processors := range []int{22, 64} {
		lanes := backend.Lanes(p, processors)
		slices.Sort(lanes)
		if len(slices.Compact(lanes)) != len(p.Nodes) {
			t.Errorf("%d nodes on %d processors share some", len(p.Nodes), processors)
		}
	}
}
