package campaign

import (
	"slices"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/inproc"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/parts"
)

// table has the backends of this program. All programs have these two.
var table = []backend.Runtime{
	inproc.Runtime,
	{Runtime: netns.Runtime.Runtime, Backend: netns.Runtime.Backend, Cut: parts.Local{}},
}

func init() {
	for _, r := range table {
		runtimes.Add(r.Runtime)
	}
}

// Add adds a backend to this program, before it reads an experiment. An experiment may name
// its runtime.
func Add(r backend.Runtime) {
	table = append(table, r)
	runtimes.Add(r.Runtime)
}

func lookup(name string) (backend.Runtime, bool) {
	i := slices.IndexFunc(table, func(r backend.Runtime) bool { return r.Name == name })
	if i < 0 {
		return backend.Runtime{}, false
	}
	return table[i], true
}

// Finders returns the finders of the backends of this program. They find and remove the
// remains of runs on this machine.
func Finders() []runs.Finder {
	list := make([]runs.Finder, len(table))
	for i, r := range table {
		list[i] = r
	}
	return list
}
