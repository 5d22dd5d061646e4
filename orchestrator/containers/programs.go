package containers

import (
	"fmt"
	"os"

	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
)

// attach gives the hosts of f.Applications the interface of their programs, whose
// other end is a port of the host's node.
func (r *run) attach() error {
	for _, host := range r.fabric.Applications {
		n := &r.deployed.Nodes[host]
		err := r.inSpace(host, func(space *os.File) error {
			index, err := application.Attach(space, host, containerlab.Interface(shim.NIC), containerlab.Interface(shim.Application), r.fabric.ApplicationMTU)
			n.Interfaces = append(n.Interfaces, index)
			return err
		})
		if err != nil {
			return fmt.Errorf("node %s: %w", r.names[host], err)
		}
	}
	return nil
}

// inSpace calls do with the network namespace of a node.
func (r *run) inSpace(node int, do func(*os.File) error) error {
	space, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", r.deployed.Nodes[node].PID))
	if err != nil {
		return err
	}
	defer space.Close() // one that is held outlives its container
	return do(space)
}

// programs returns the programs of the run, on this machine's files; nil without.
// Stop must be called in the end.
func (r *run) programs() (*application.Set, error) {
	f := r.fabric
	if len(f.Programs) == 0 {
		return nil, nil
	}
	spaces := map[int]*os.File{}
	defer func() {
		for _, s := range spaces {
			s.Close()
		}
	}()
	for _, host := range f.Applications {
		space, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", r.deployed.Nodes[host].PID))
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", r.names[host], err)
		}
		spaces[host] = space
	}
	starter, err := application.NewLocal(spaces)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return application.NewSet(f.Programs, *f.Wall, f.End, starter), nil
}
