package netns

import (
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/topologies"
)

// affinity pins the nodes of a pod to one processor: most frames then go between
// neighbours that share its cache. The nodes above the pods are distributed over all
// processors.
type affinity struct {
	all  unix.CPUSet // what the supervisor may use
	cpus []int
	of   []int // node -> place in cpus
}

func newAffinity(g *topologies.Graph) *affinity {
	a := &affinity{of: make([]int, len(g.Nodes))}
	if unix.SchedGetaffinity(0, &a.all) != nil {
		return a
	}
	for cpu := range len(a.all) * 64 {
		if a.all.IsSet(cpu) {
			a.cpus = append(a.cpus, cpu)
		}
	}
	pods := 1
	for _, n := range g.Nodes {
		pods = max(pods, n.Pod+1)
	}
	for i, n := range g.Nodes {
		if n.Pod >= 0 {
			a.of[i] = n.Pod * len(a.cpus) / pods
		} else {
			a.of[i] = n.Index % max(1, len(a.cpus))
		}
	}
	return a
}

// pin moves the calling thread, and processes that it starts, to the node's processor.
func (a *affinity) pin(node int) {
	if len(a.cpus) > 1 {
		var set unix.CPUSet
		set.Set(a.cpus[a.of[node]])
		unix.SchedSetaffinity(0, &set)
	}
}

// restore gives the calling thread all processors back.
func (a *affinity) restore() {
	if len(a.cpus) > 1 {
		unix.SchedSetaffinity(0, &a.all)
	}
}
