package containers

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/runs"
)

const runtimeName = "containerlab"

// network returns the file of a process's network namespace.
func network(pid int) string { return fmt.Sprintf("/proc/%d/ns/net", pid) }

// describe returns the nodes and links for the list of runs.
func (f *Fabric) describe(d *containerlab.Deployed) ([]runs.Node, []runs.Link) {
	nodes, links := runs.Describe(f.Graph, containerlab.Interface, nil)
	runs.AddPrograms(nodes, f.Applications, application.Interface)
	for i, n := range d.Nodes {
		nodes[i].PID, nodes[i].Container = n.PID, n.Name
		nodes[i].Network = network(n.PID)
	}
	for i, side := range d.Sides {
		nodes[f.Applications[i]].Application = side.Name
	}
	return nodes, links
}

// Remains is what runs in containers have left; it is a runs.Backend. Containers
// carry their run's id as a label. Without an engine there are none.
type Remains struct{}

// answerTime is how long an engine may take to answer before there is none.
const answerTime = 5 * time.Second

// engine returns the engine, or why there is none.
func (Remains) engine(ctx context.Context) (*containerlab.Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return open(ctx) // who runs containers here is root
}

// Find counts the containers of the runs, and adds runs that only the engine
// knows.
func (r Remains) Find(ctx context.Context, list []runs.Run) ([]runs.Run, error) {
	engine, err := r.engine(ctx)
	if err != nil {
		return list, nil
	}
	defer engine.Close()
	labs, err := engine.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range labs {
		i := slices.IndexFunc(list, func(r runs.Run) bool { return r.ID == l.RunID })
		if i < 0 {
			i = len(list)
			list = append(list, runs.Run{
				ID: l.RunID, Name: l.Lab, Runtime: runtimeName, Folder: filepath.Dir(l.Topology), Started: l.Created,
			})
		}
		list[i].Containers = l.Containers
	}
	return list, nil
}

// Remove removes the containers of a run. It is an error that there is no engine
// to ask for those of a run in containers.
func (r Remains) Remove(ctx context.Context, of runs.Run) (removed []string, err error) {
	engine, err := r.engine(ctx)
	if err != nil && of.Runtime == runtimeName {
		return nil, fmt.Errorf("look for its containers: %w", err)
	}
	if err != nil {
		return nil, nil
	}
	defer engine.Close()
	n, err := engine.Clean(ctx, of.ID)
	if n > 0 {
		removed = append(removed, fmt.Sprintf("%d containers of run %s", n, of.ID))
	}
	return removed, err
}
