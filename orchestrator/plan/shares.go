package plan

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
)

// newShares returns of each job which other jobs it shares links with: jobs that may send
// through one port, by the shortest paths without faults, among which ECMP chooses. Only
// jobs that meet at a port are compared. nil: there are no two jobs.
func newShares(f *fabric, w *workload) [][]metrics.Share {
	if len(w.jobs) < 2 {
		return nil
	}
	at := jobsAtPorts(f, w)
	own := make([][]int, len(w.jobs)) // ports of each job that it does not have for itself, ascending
	for port, jobs := range at {
		if len(jobs) > 1 {
			for _, job := range jobs {
				own[job] = append(own[job], port)
			}
		}
	}
	all := make([][]metrics.Share, len(w.jobs))
	with := make([]metrics.Share, len(w.jobs)) // of one job, by the other one
	for i, ports := range own {
		var others []int32
		for _, port := range ports {
			l := &f.graph.Links[port/2]
			for _, k := range at[port] {
				if int(k) == i {
					continue
				}
				share := &with[k]
				if share.Ports++; share.Ports == 1 {
					others = append(others, k)
				} else if l.Rate >= share.Rate {
					continue
				}
				from := l.A
				if port%2 == 1 {
					from = l.B
				}
				share.Job, share.Rate, share.Node, share.Port = k, l.Rate, int32(from.Node), int32(from.Port)
			}
		}
		slices.Sort(others)
		for _, k := range others {
			all[i] = append(all[i], with[k])
			with[k] = metrics.Share{}
		}
	}
	return all
}

// jobsAtPorts returns the jobs that may send through each port, ascending. The ports of a
// link are 2 link, that of its end A, and 2 link + 1.
func jobsAtPorts(f *fabric, w *workload) [][]int32 {
	at := make([][]int32, 2*len(f.graph.Links))
	type step struct{ node, to int }
	seen := map[step]struct{}{} // switches that send to a host, for one job
	var next []step
	for job := range w.jobs {
		clear(seen)
		cross := func(node, port, to int) {
			a := f.adjacency[node][port]
			p := 2 * a.Link
			if f.graph.Links[a.Link].A.Node != node {
				p++
			}
			if n := len(at[p]); n == 0 || int(at[p][n-1]) != job {
				at[p] = append(at[p], int32(job))
			}
			next = append(next, step{a.Peer.Node, to})
		}
		for i := range w.jobs[job].streams {
			transfer := w.jobs[job].streams[i].transfer
			if transfer == within {
				continue
			}
			t := &w.Transfers[transfer]
			cross(t.Src, 0, t.Dst)
			for len(next) > 0 {
				here := next[len(next)-1]
				next = next[:len(next)-1]
				if _, ok := seen[here]; ok || here.node == t.Dst {
					continue
				}
				seen[here] = struct{}{}
				for _, port := range f.routes[here.node].To(t.Dst) {
					cross(here.node, int(port), t.Dst)
				}
			}
		}
	}
	return at
}

// sameStreams reports whether the jobs of two seeds send between the same ranks.
func sameStreams(a, b []jobTraffic) bool {
	return slices.EqualFunc(a, b, func(a, b jobTraffic) bool {
		return slices.EqualFunc(a.streams, b.streams, func(a, b streamTraffic) bool { return a.Stream == b.Stream })
	})
}
