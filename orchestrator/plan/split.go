package plan

// Split splits the nodes of a plan among workers. It returns the shard of each node
// and the number of shards, which is 1 if there are fewer hosts than workers. Hosts
// are split by number, as their numbers follow pods and groups. A switch goes where
// most of its neighbours are that have a shard already, from the hosts up, and among
// equals to the shard whose switches have the fewest ports.
func (p *Plan) Split(workers int) (shards []int, count int) {
	shards = make([]int, len(p.Nodes))
	var hosts []int
	for i, spec := range p.Nodes {
		if spec.Switch == nil {
			hosts = append(hosts, i)
		}
	}
	if workers < 2 || len(hosts) < workers {
		return shards, 1
	}
	neighbours := make([][]int, len(p.Nodes))
	for _, l := range p.Links {
		neighbours[l.A.Node] = append(neighbours[l.A.Node], l.B.Node)
		neighbours[l.B.Node] = append(neighbours[l.B.Node], l.A.Node)
	}
	settled := make([]bool, len(p.Nodes))
	for k, i := range hosts {
		shards[i], settled[i] = k*workers/len(hosts), true
	}
	ports, votes := make([]int, workers), make([]int, workers)
	for level := hosts; len(level) > 0; {
		var next []int
		for _, from := range level {
			for _, i := range neighbours[from] {
				if settled[i] {
					continue
				}
				clear(votes)
				for _, n := range neighbours[i] {
					if settled[n] {
						votes[shards[n]]++
					}
				}
				best := 0
				for s := range votes {
					if votes[s] > votes[best] || votes[s] == votes[best] && ports[s] < ports[best] {
						best = s
					}
				}
				shards[i], settled[i] = best, true
				ports[best] += len(neighbours[i])
				next = append(next, i)
			}
		}
		level = next
	}
	return shards, workers
}
