package plan

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/topologies"
)

// shareLinks says of each job which other jobs it shares links with: jobs that may send
// through one port, by the shortest paths without faults, among which ECMP chooses.
func (s *Shape) shareLinks(jobs []metrics.JobInfo, flows []metrics.FlowInfo) {
	if len(jobs) < 2 {
		return
	}
	adjacency := s.graph.Adjacency()
	routed := make([]routedPorts, len(jobs))
	for i := range flows {
		if f := &flows[i]; f.Messages > 0 && int(f.Job) < len(jobs) {
			routed[f.Job].add(s, adjacency, int(f.Src), int(f.Dst))
		}
	}
	for i := range jobs {
		for k := range jobs {
			if i == k {
				continue
			}
			share := metrics.Share{Job: jobs[k].Job}
			for link := range s.graph.Links {
				for direction := range 2 {
					if routed[i].has(link, direction) && routed[k].has(link, direction) {
						share.Ports++
						l := &s.graph.Links[link]
						if share.Ports > 1 && l.Rate >= share.Rate {
							continue
						}
						from := l.A
						if direction == 1 {
							from = l.B
						}
						share.Rate, share.Node, share.Port = l.Rate, int32(from.Node), int32(from.Port)
					}
				}
			}
			if share.Ports > 0 {
				jobs[i].Shares = append(jobs[i].Shares, share)
			}
		}
	}
}

// routedPorts is the ports that the connections of a job may send through.
type routedPorts struct {
	links [][2]bool               // by link and direction: from A, from B
	seen  map[routedStep]struct{} // switches that send to a host
}

type routedStep struct{ node, to int }

func (r *routedPorts) has(link, direction int) bool {
	return link < len(r.links) && r.links[link][direction]
}

// add adds the paths from one host to another.
func (r *routedPorts) add(s *Shape, adjacency [][]topologies.Adjacent, src, dst int) {
	if r.links == nil {
		r.links, r.seen = make([][2]bool, len(s.graph.Links)), map[routedStep]struct{}{}
	}
	next := []routedStep{{s.cross(r, adjacency, src, 0), dst}}
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if _, ok := r.seen[at]; ok || at.node == dst {
			continue
		}
		r.seen[at] = struct{}{}
		for _, port := range s.routes[at.node].To(dst) {
			next = append(next, routedStep{s.cross(r, adjacency, at.node, int(port)), dst})
		}
	}
}

// cross notes the port of a node and returns the node to which it leads.
func (s *Shape) cross(r *routedPorts, adjacency [][]topologies.Adjacent, node, port int) int {
	a := adjacency[node][port]
	direction := 0
	if s.graph.Links[a.Link].A.Node != node {
		direction = 1
	}
	r.links[a.Link][direction] = true
	return a.Peer.Node
}
