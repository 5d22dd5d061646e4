package plan

// largeNodes is the number of nodes from which on nearly all of the heap of a run in virtual
// time is in use until its end, so that a collection finds little: 1 GB for 0.4 s of CPU time.
const largeNodes = 5000

// HeapGrowth returns by how many percent of what is in use the heap of a run of so many nodes
// may grow before it is collected. 100 is what Go's collector does by itself.
func HeapGrowth(nodes int) int {
	if nodes >= largeNodes {
		return 30
	}
	return 100
}
