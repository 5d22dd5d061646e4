package inproc

import (
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// split splits the nodes of a plan among workers and returns each node's shard and
// the number of shards, which is at most the number of workers. Hosts are split by
// number, as their numbers follow pods and groups. A switch goes where most of its
// neighbours are that have a shard already, from the hosts up.
func split(p *plan.Plan, workers int) (shards []int, count int) {
	if workers < 2 {
		return nil, 1
	}
	neighbours := make([][]int, len(p.Nodes))
	for _, l := range p.Links {
		neighbours[l.A.Node] = append(neighbours[l.A.Node], l.B.Node)
		neighbours[l.B.Node] = append(neighbours[l.B.Node], l.A.Node)
	}
	shards = make([]int, len(p.Nodes))
	var hosts []int
	for i, spec := range p.Nodes {
		shards[i] = -1
		if spec.Switch == nil {
			hosts = append(hosts, i)
		}
	}
	if len(hosts) < workers {
		return nil, 1
	}
	for k, i := range hosts {
		shards[i] = k * workers / len(hosts)
	}
	load := make([]int, workers) // ports of switches
	level := hosts
	for len(level) > 0 {
		var next []int
		for _, h := range level {
			for _, i := range neighbours[h] {
				if shards[i] >= 0 {
					continue
				}
				votes := make([]int, workers)
				for _, n := range neighbours[i] {
					if shards[n] >= 0 {
						votes[shards[n]]++
					}
				}
				best := 0
				for s := range votes {
					if votes[s] > votes[best] || votes[s] == votes[best] && load[s] < load[best] {
						best = s
					}
				}
				shards[i] = best
				load[best] += len(neighbours[i])
				next = append(next, i)
			}
		}
		level = next
	}
	for i := range shards {
		shards[i] = max(shards[i], 0)
	}
	return shards, workers
}
