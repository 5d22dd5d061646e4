package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
)

// Topology is an experiment's topology, built.
type Topology struct {
	Graph *topologies.Graph
	Tree  *topologies.FatTree // what Graph was built from; nil if it is no fat tree or leaf-spine fabric
	Notes []string            // what the user should know of how a file was read
}

// BuildTopology reads or generates the topology of a resolved experiment. The
// error wraps failure.ErrConfiguration.
func BuildTopology(t experiment.Topology) (Topology, error) {
	if t.Dragonfly != nil {
		g, err := topologies.Dragonfly(t.Dragonfly.Generator())
		if err != nil {
			return Topology{}, failure.Configuration(fmt.Errorf("topology: %w", err))
		}
		return Topology{Graph: g}, nil
	}
	var out Topology
	var tree topologies.FatTree
	var err error
	switch {
	case t.File != "":
		tree, out.Notes, err = readTree(t.File)
		if err != nil {
			return out, err
		}
	case t.KAry != nil:
		tree, err = t.KAry.Generator()
	case t.LeafSpine != nil:
		tree, err = t.LeafSpine.Generator()
	default:
		tree = t.FatTree.Generator()
	}
	if err != nil {
		return out, failure.Configuration(fmt.Errorf("topology: %w", err))
	}
	out.Tree = &tree
	out.Graph, err = buildFatTree(tree)
	return out, err
}
