package backend

import "github.com/csiglab/csiglab/orchestrator/plan"

// Lanes divides the nodes of a run in lockstep among processors, and returns the
// processor of each node, counted from 0. Neighbours share one where they can: most
// frames then stay in its cache. Where there is a processor for every node, each has
// its own.
func Lanes(p *plan.Plan, processors int) []int {
	if processors >= len(p.Nodes) {
		lanes := make([]int, len(p.Nodes))
		for i := range lanes {
			lanes[i] = i
		}
		return lanes
	}
	lanes, _ := p.Split(max(1, min(processors, p.Graph.Hosts())))
	return lanes
}
