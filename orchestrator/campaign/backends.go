package campaign

import (
	"slices"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/containers"
	"github.com/csiglab/csiglab/orchestrator/inproc"
	"github.com/csiglab/csiglab/orchestrator/kubernetes"
	"github.com/csiglab/csiglab/orchestrator/netns"
	"github.com/csiglab/csiglab/orchestrator/runs"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
)

// table has every backend. A new one is its package and a line here.
var table = []backend.Runtime{
	inproc.Runtime,
	netns.Runtime,
	containers.Runtime,
	kubernetes.Runtime,
}

func init() {
	// An experiment may name every runtime of the table.
	for _, r := range table {
		runtimes.Add(r.Runtime)
	}
}

func lookup(name string) (backend.Runtime, bool) {
	i := slices.IndexFunc(table, func(r backend.Runtime) bool { return r.Name == name })
	if i < 0 {
		return backend.Runtime{}, false
	}
	return table[i], true
}

// Finders returns the finder of every backend. They find and remove the remains of
// runs on this machine.
func Finders() []runs.Finder {
	list := make([]runs.Finder, len(table))
	for i, r := range table {
		list[i] = r
	}
	return list
}
