package netns

import (
	"context"
	"fmt"
	"os"

	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/runs"
)

// places is where the supervisor has put the nodes.
type places struct {
	Supervisor int   // its process
	PIDs       []int // of what drives each node
	Spaces     []int // descriptors of the supervisor's, of the nodes' namespaces
}

// tell tells csiglab where the nodes are; those without a process in nodes, which
// may be nil, are the supervisor's.
func (s *supervisor) tell(d *deployment, nodes *fleet) {
	p := places{Supervisor: os.Getpid()}
	for i := range d.spaces {
		p.PIDs, p.Spaces = append(p.PIDs, p.Supervisor), append(p.Spaces, int(d.spaces[i].file.Fd()))
	}
	if nodes != nil {
		for _, n := range nodes.all {
			p.PIDs[n.node] = n.cmd.Process.Pid
		}
	}
	s.say(message{Places: &p}) //nolint:errcheck // without csiglab the supervisor dies
}

// describe returns the nodes and links for the list of runs.
func (f *Fabric) describe(p *places) ([]runs.Node, []runs.Link) {
	wires, _ := f.Wires()
	nodes, links := runs.Describe(f.Graph, portName, func(link int) bool { return f.inMemory(wires[link]) })
	runs.AddPrograms(nodes, f.Applications, application.Interface)
	for i := range nodes {
		nodes[i].PID = p.PIDs[i]
		nodes[i].Network = fmt.Sprintf("/proc/%d/fd/%d", p.Supervisor, p.Spaces[i])
		if os.Geteuid() != 0 {
			nodes[i].User = fmt.Sprintf("/proc/%d/ns/user", p.Supervisor)
		}
	}
	return nodes, links
}

// Remains is what runs in network namespaces have left; it is a runs.Backend. A
// run's processes carry its id in their environment; namespaces and links go with
// the processes.
type Remains struct{}

// Find notes the processes of the runs.
func (Remains) Find(_ context.Context, list []runs.Run) ([]runs.Run, error) {
	owned := runs.Processes()
	for i := range list {
		list[i].Processes = owned[list[i].ID]
	}
	return list, nil
}

// Remove kills the processes of a run.
func (Remains) Remove(_ context.Context, r runs.Run) (removed []string, err error) {
	return runs.Kill(r.ID)
}
