package topologies

// Built is a topology as a graph.
type Built struct {
	Graph *Graph
	Tree  *FatTree // what Graph was built from; nil if it is no fat tree or leaf-spine fabric
	Notes []string // what the user should know of how a file was read
}

// built returns a fabric that is no tree.
func built(g *Graph, err error) (Built, error) { return Built{Graph: g}, err }
