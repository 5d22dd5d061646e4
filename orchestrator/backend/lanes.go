package backend

// Lanes divides the nodes of a run in lockstep among processors, and returns the
// processor of each node, counted from 0. The nodes of a pod share one: most frames then
// go between neighbours that share its cache, and most wakeups stay on it. So a fabric of
// one pod runs on one processor. The nodes above the pods are distributed over all. Where
// there is a processor for every node, each has its own.
//
// Of a run in parts, the nodes of this part are divided; the others have lane 0.
func Lanes(r *Run, processors int) []int {
	nodes := r.Plan.Graph.Nodes
	lanes := make([]int, len(nodes))
	pods, here := map[int]int{}, 0 // by pod of this part: its place among them
	for i, n := range nodes {
		if !r.Here(i) {
			continue
		}
		here++
		if _, ok := pods[n.Pod]; !ok && n.Pod >= 0 {
			pods[n.Pod] = len(pods)
		}
	}
	at := 0
	for i, n := range nodes {
		if !r.Here(i) {
			continue
		}
		switch {
		case processors >= here:
			lanes[i] = at
		case n.Pod >= 0:
			lanes[i] = pods[n.Pod] * processors / len(pods)
		case len(pods) > 1:
			lanes[i] = n.Index % max(1, min(processors, len(pods)))
		}
		at++
	}
	return lanes
}
