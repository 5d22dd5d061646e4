package backend_test

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
)

// TestLanes: pods are divided evenly among processors, each with its nodes in one; a
// fabric of one pod has one; and each node has its own where there are enough.
func TestLanes(t *testing.T) {
	const text = "schema: 1\nname: lanes\nworkload: {permutation: {size: 1kB}}\ntopology: "
	pods := backendtest.Compile(t, text+"{k_ary: {k: 4, rate: 10Gbps, delay: 1us}}\n")
	for _, processors := range []int{1, 2, 4} {
		hosts, of := make([]int, processors), map[int]int{}
		for i, lane := range backend.Lanes(&backend.Run{Plan: pods}, processors) {
			n := pods.Graph.Nodes[i]
			if pods.Nodes[i].Switch == nil {
				hosts[lane]++
			}
			if first, ok := of[n.Pod]; ok && n.Pod >= 0 && lane != first {
				t.Errorf("%d processors: pod %d is in lanes %d and %d", processors, n.Pod, first, lane)
			}
			of[n.Pod] = lane
		}
		for _, n := range hosts {
			if n != 16/processors {
				t.Errorf("%d processors have %v hosts", processors, hosts)
			}
		}
	}
	one := backendtest.Compile(t, text+"{leaf_spine: {leaves: 4, hosts_per_leaf: 4, spines: 2, rate: 10Gbps, delay: 1us}}\n")
	if lanes := backend.Lanes(&backend.Run{Plan: one}, 2); slices.Max(lanes) != 0 {
		t.Errorf("the nodes of one pod are in lanes %v", lanes)
	}
	lanes := backend.Lanes(&backend.Run{Plan: one}, 64)
	slices.Sort(lanes)
	if len(slices.Compact(lanes)) != len(one.Nodes) {
		t.Errorf("%d nodes on 64 processors share some", len(one.Nodes))
	}
}
