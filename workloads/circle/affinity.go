package circle

import "slices"

// affinity is the graph of jobs and links. A job's node is its position; a link's is behind
// those of the jobs. Links with one job are not in it. Without a loop a job has one shift (CASSINI):
// t' = t - w + w' modulo T' leads over a link from a job's shift t to another's, where w and w' are
// the shifts on that link alone.
type affinity struct {
	jobs int
	next [][]int // of each node, ascending
}

func newAffinity(jobs int, links []Link) *affinity {
	g := &affinity{jobs: jobs, next: make([][]int, jobs+len(links))}
	for k, l := range links {
		if len(l.Jobs) < 2 {
			continue
		}
		for _, j := range l.Jobs {
			g.next[j] = append(g.next[j], jobs+k)
			g.next[jobs+k] = append(g.next[jobs+k], j)
		}
		slices.Sort(g.next[jobs+k])
	}
	return g
}

// Clusters returns which of so many jobs hang together by links, by their first job. The
// profiles of a cluster need a common grid.
func Clusters(jobs int, links []Link) [][]int {
	var all [][]int
	for _, c := range newAffinity(jobs, links).clusters() {
		all = append(all, c.Jobs)
	}
	return all
}

// clusters returns the jobs that hang together, by their first job, with their links.
func (g *affinity) clusters() (all []Cluster) {
	seen := make([]bool, len(g.next))
	for j := range g.jobs {
		if seen[j] {
			continue
		}
		jobs, links := g.reach(j, seen, nil)
		all = append(all, Cluster{Jobs: jobs, Links: links})
	}
	return all
}

// reach returns the nodes that can be reached from one without the bridges, and marks them.
func (g *affinity) reach(from int, seen []bool, bridges map[[2]int]bool) (jobs, links []int) {
	seen[from] = true
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		if v < g.jobs {
			jobs = append(jobs, v)
		} else {
			links = append(links, v-g.jobs)
		}
		for _, w := range g.next[v] {
			if !seen[w] && !bridges[[2]int{v, w}] {
				seen[w] = true
				queue = append(queue, w)
			}
		}
	}
	slices.Sort(jobs)
	slices.Sort(links)
	return jobs, links
}

// loops returns what remains of the graph without its bridges, which are the edges whose
// removal separates their ends, and without the nodes that stand alone then.
func (g *affinity) loops() (all []Loop) {
	bridges := g.bridges()
	seen := make([]bool, len(g.next))
	for j := range g.jobs {
		if seen[j] {
			continue
		}
		if jobs, links := g.reach(j, seen, bridges); len(links) > 0 {
			all = append(all, Loop{jobs, links})
		}
	}
	return all
}

// bridges returns the edges that are on no way back to their begin, in both directions. It
// walks the graph depth first: an edge is a bridge if nothing behind it leads to a node
// before it.
func (g *affinity) bridges() map[[2]int]bool {
	bridges := map[[2]int]bool{}
	order := make([]int, len(g.next)) // in which nodes were met, from 1
	low := make([]int, len(g.next))   // the first node that one leads back to
	met := 0
	var walk func(v, parent int)
	walk = func(v, parent int) {
		met++
		order[v], low[v] = met, met
		for _, w := range g.next[v] {
			switch {
			case w == parent:
			case order[w] > 0:
				low[v] = min(low[v], order[w])
			default:
				walk(w, v)
				low[v] = min(low[v], low[w])
				if low[w] > order[v] {
					bridges[[2]int{v, w}], bridges[[2]int{w, v}] = true, true
				}
			}
		}
	}
	for v := range g.next {
		if order[v] == 0 {
			walk(v, -1)
		}
	}
	return bridges
}
