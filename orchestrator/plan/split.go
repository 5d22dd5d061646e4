package plan

import "sort"

// Split splits the nodes of a plan among workers, so that these have about the same
// load and few packets cross. It returns the shard of each node and the number of
// shards, which is 1 if there are fewer hosts than workers. Hosts are cut by number, as
// their numbers follow pods, groups and racks: between two pods if such a cut is near
// the one that balances the load, or else between two racks. A switch goes where most of
// its neighbours are that have a shard already, from the hosts up, and among equals to
// the shard whose switches have the least load.
func (p *Plan) Split(workers int) (shards []int, count int) {
	shards = make([]int, len(p.Nodes))
	hosts := p.Hosts()
	if workers < 2 || hosts < workers {
		return shards, 1
	}
	neighbours := make([][]int32, len(p.Nodes))
	for _, l := range p.Graph.Links {
		neighbours[l.A.Node] = append(neighbours[l.A.Node], int32(l.B.Node))
		neighbours[l.B.Node] = append(neighbours[l.B.Node], int32(l.A.Node))
	}
	loads := p.hostLoads()
	settled := make([]bool, len(p.Nodes))
	var level []int // hosts first
	for s := range workers {
		end := hosts
		if s < workers-1 {
			end = p.cut(loads, neighbours, len(level), s, workers)
		}
		for h := len(level); h < end; h++ {
			shards[h], settled[h] = s, true
			level = append(level, h)
		}
	}
	loads = append(loads, make([]float64, len(p.Nodes)-len(loads))...)
	given, votes := make([]float64, workers), make([]int, workers)
	for len(level) > 0 {
		var next []int
		for _, from := range level { // each shares its load out among the switches above it
			above := 0
			for _, i := range neighbours[from] {
				if !settled[i] {
					above++
				}
			}
			for _, i := range neighbours[from] {
				if settled[i] {
					continue
				}
				if loads[i] == 0 {
					next = append(next, int(i))
				}
				loads[i] += loads[from] / float64(above)
			}
		}
		for _, i := range next {
			clear(votes)
			for _, n := range neighbours[i] {
				if settled[n] {
					votes[shards[n]]++
				}
			}
			best := 0
			for s := range votes {
				if votes[s] > votes[best] || votes[s] == votes[best] && given[s] < given[best] {
					best = s
				}
			}
			shards[i] = best
			given[best] += loads[i]
		}
		for _, i := range next {
			settled[i] = true
		}
		level = next
	}
	return shards, workers
}

// hostLoads returns the load of each host: the packets of the transfers that it sends
// and receives. A host has a load of at least 1, for the frames of which the plan does
// not know the number.
func (p *Plan) hostLoads() []float64 {
	loads := make([]float64, p.Hosts())
	for h := range loads {
		loads[h] = 1
	}
	for i := range p.Flows {
		f := &p.Flows[i]
		loads[f.Src] += float64(f.Packets)
		loads[f.Dst] += float64(f.Packets)
	}
	return loads
}

// Shares of a worker's load by which a cut between two pods, and between two racks, may be
// worse than the one that balances best. They are small: workers wait for the slowest at
// the end of every window, while a packet that crosses costs little (docs/explanation/performance.md).
const (
	podTolerance  = 0.05
	rackTolerance = 0.1
)

// cut returns the host before which the hosts of shard s end, which begin with first. At
// least one host is left for it and for each later shard.
func (p *Plan) cut(loads []float64, neighbours [][]int32, first, s, workers int) int {
	sums := make([]float64, 1, len(loads)-first+1) // loads of the hosts from first to before each
	for _, l := range loads[first:] {
		sums = append(sums, sums[len(sums)-1]+l)
	}
	share := sums[len(sums)-1] / float64(workers-s)
	least, most := first+1, len(loads)-(workers-1-s)
	at := func(h int) float64 { return sums[h-first] }
	exact := min(max(first+sort.SearchFloat64s(sums, share), least), most)
	if exact > least && share-at(exact-1) < at(exact)-share {
		exact--
	}
	miss := func(h int) float64 { return abs(at(h) - share) }
	// nearest returns the cut nearest to the exact one between two hosts that differ.
	nearest := func(differ func(a, b int) bool, tolerance float64) (best int, found bool) {
		limit := miss(exact) + tolerance*share
		for _, step := range []int{-1, 1} {
			for h := exact; h >= least && h <= most && miss(h) <= limit; h += step {
				if differ(h-1, h) {
					if !found || miss(h) < miss(best) {
						best, found = h, true
					}
					break
				}
			}
		}
		return best, found
	}
	nodes := p.Graph.Nodes
	if h, ok := nearest(func(a, b int) bool { return nodes[a].Pod != nodes[b].Pod }, podTolerance); ok {
		return h
	}
	if h, ok := nearest(func(a, b int) bool { return neighbours[a][0] != neighbours[b][0] }, rackTolerance); ok {
		return h
	}
	return exact
}

func abs(x float64) float64 { return max(x, -x) }
