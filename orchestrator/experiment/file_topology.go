package experiment

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/topologies/htsim"
)

// TopologyFile is the name of an htsim .topo file.
type TopologyFile string

// Build implements TopologySpec.
func (f TopologyFile) Build() (Built, error) {
	name := string(f)
	r, err := openInput(name, maxTopologyFile)
	if err != nil {
		return Built{}, err
	}
	defer r.Close() // opened for reading
	for ending, kind := range map[string]string{".clab.yml": "clab", ".clab.yaml": "clab", ".topology": "netbench", ".yaml": "graph", ".yml": "graph"} {
		if strings.HasSuffix(name, ending) && (kind != "graph" || !strings.Contains(name, ".clab.")) {
			return Built{}, fmt.Errorf("%s is no htsim file; write topology: {%s: {file: %s}}", name, kind, filepath.Base(name))
		}
	}
	tree, err := htsim.ReadTopology(name, r)
	if err != nil {
		return Built{}, inputError{err}
	}
	size, err := tree.Size()
	if err == nil {
		err = fits(size, topologies.Checked) // validate does not know it before
	}
	var b Built
	if err == nil {
		b, err = buildTree(tree, nil)
	}
	if err != nil {
		return Built{}, inputError{fmt.Errorf("%s: %w", name, err)}
	}
	for _, t := range tree.Tiers {
		if t.QueueUp != 0 || t.QueueDown != 0 {
			b.Notes = append(b.Notes, name+": Queue_Up and Queue_Down are not used, as in the reference simulator; set the size of queues with links.queue")
			break
		}
	}
	return b, nil
}
