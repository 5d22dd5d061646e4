package backend

import "github.com/csiglab/csiglab/orchestrator/plan"

// Lanes divides the nodes of a run in lockstep among processors, and returns the
// processor of each node, counted from 0. The nodes of a pod share one: most frames then
// go between neighbours that share its cache, and most wakeups stay on it. So a fabric of
// one pod runs on one processor. The nodes above the pods are distributed over all. Where
// there is a processor for every node, each has its own.
func Lanes(p *plan.Plan, processors int) []int {
	nodes := p.Graph.Nodes
	lanes := make([]int, len(nodes))
	pods := 1
	for _, n := range nodes {
		pods = max(pods, n.Pod+1)
	}
	for i, n := range nodes {
		switch {
		case processors >= len(nodes):
			lanes[i] = i
		case n.Pod >= 0:
			lanes[i] = n.Pod * processors / pods
		case pods > 1:
			lanes[i] = n.Index % max(1, min(processors, pods))
		}
	}
	return lanes
}
