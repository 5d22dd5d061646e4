package netns

import (
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/backend"
)

// affinity pins the nodes of a lane to one processor.
type affinity struct {
	all  unix.CPUSet // what the supervisor may use
	cpus []int
	of   []int // node -> place in cpus
}

func newAffinity(r *backend.Run) *affinity {
	a := new(affinity)
	if unix.SchedGetaffinity(0, &a.all) != nil {
		return a
	}
	for cpu := range len(a.all) * 64 {
		if a.all.IsSet(cpu) {
			a.cpus = append(a.cpus, cpu)
		}
	}
	a.of = backend.Lanes(r, len(a.cpus))
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
