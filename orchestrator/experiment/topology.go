package experiment

import (
	"errors"

	"github.com/csiglab/csiglab/topologies"
)

// Topology is the fabric: the value of one kind of topology.
type Topology struct {
	Spec TopologySpec // nil: none is given, which only an unresolved experiment has
}

// TopologySpec is the value of a kind of topology: what the keys below the kind's
// name say. It may be a TopologyChecker, Sized and a Deriver, too.
type TopologySpec interface {
	// Build returns the topology.
	Build() (Built, error)
}

// Built is a topology as a graph.
type Built = topologies.Built

// TopologyChecker is a TopologySpec that knows what is wrong with its values. Without it, a
// Sized one is checked by its size, and a file when it is read.
type TopologyChecker interface {
	// Check reports values that do not fit one another. It returns the number of
	// hosts, or 0 if that is not known before the topology is built.
	Check(c *Check) (hosts int)
}

// Sized is a TopologySpec whose size is known without building it. Its error may be a
// *topologies.PortsError or a *topologies.KeyError.
type Sized interface {
	Size() (topologies.Size, error)
}

// Deriver is a TopologySpec with keys that may be auto.
type Deriver interface {
	// Auto returns in words what the value auto of a key below the kind's name became.
	Auto(key string) string
}

// Build reads or generates the topology. Its error is a *PathError, unless it is
// about a place in an input file.
func (t Topology) Build() (Built, error) {
	if t.Spec == nil {
		return Built{}, &PathError{topologySection, errors.New("none is given")}
	}
	b, err := t.Spec.Build()
	if err == nil {
		limits := topologies.Checked
		if _, sized := t.Spec.(Sized); sized {
			limits = topologies.Largest
		}
		err = fits(b.Graph.Size(), limits)
	}
	return b, inValue(topologySection, err)
}

// Auto returns in words what the value auto of a key below the kind's name became, "" if the
// kind has no such keys.
func (t Topology) Auto(key string) string {
	if d, ok := t.Spec.(Deriver); ok {
		return d.Auto(key)
	}
	return ""
}

// fits refuses a fabric that is too large.
func fits(s topologies.Size, limits topologies.Limits) error {
	if excess := s.Excess(limits); excess != "" {
		return errors.New("too large: " + excess)
	}
	return nil
}

// buildTree returns the graph of a fat tree, unless it is too large. A generator's error is
// passed on.
func buildTree(tree topologies.FatTree, err error) (Built, error) {
	if err != nil {
		return Built{}, err
	}
	size, err := tree.Size()
	if err == nil {
		err = fits(size, topologies.Largest) // before it takes the memory
	}
	if err != nil {
		return Built{}, err
	}
	graph, err := tree.Build()
	return Built{Graph: graph, Tree: &tree}, err
}

// buildCustom returns the fabric of a file, unless it is too large.
func buildCustom(c *topologies.Custom) (Built, error) {
	size, err := c.Size()
	if err == nil {
		err = fits(size, topologies.Checked) // before it takes the memory
	}
	if err != nil {
		return Built{}, err
	}
	return buildGraph(c.Build())
}

// buildGraph returns a fabric that is no tree. A generator's error is passed on.
func buildGraph(g *topologies.Graph, err error) (Built, error) { return Built{Graph: g}, err }
