package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/topologies"
)

// Values of Job.Placement: how the ranks of a job take its hosts.
const (
	placeAuto   = algorithm.Auto // given where the job names its hosts, otherwise packed
	placePacked = "packed"       // rack after rack
	placeSpread = "spread"       // the next server is in the next rack
	placeRail   = "rail"         // the next rank is at the next server, on the same rail
	placeGiven  = "given"        // in the order of the job's hosts
)

// placements are the values of Job.Placement, the default first.
var placements = []string{placeAuto, placePacked, placeSpread, placeRail, placeGiven}

// Values of Job.Order: the order of the ranks in rings and trees.
const (
	orderGiven    = "given"    // of their numbers
	orderTopology = "topology" // rack after rack, and server after server
	orderRandom   = "random"   // by Job.OrderSeed
)

// orders are the values of Job.Order, the default first.
var orders = []string{orderGiven, orderTopology, orderRandom}

// location is where a host is: which hosts have short ways to each other.
type location struct{ rack, server, nic int }

// fabric is the locations of the hosts of a graph.
type fabric struct {
	nics int // per server
	of   []location
	link topologies.Link // of host 0
}

// newFabric finds the rack of each host: the switch of the server's first NIC.
func newFabric(g *topologies.Graph) *fabric {
	f := &fabric{nics: max(1, g.NICs), of: make([]location, g.Hosts())}
	adjacency := g.Adjacency()
	for h := range f.of {
		first := h - h%f.nics
		f.of[h] = location{rack: adjacency[first][0].Peer.Node, server: g.Server(h), nic: h % f.nics}
	}
	f.link = g.Links[adjacency[0][0].Link]
	return f
}

// byRack compares hosts by their place in the fabric.
func (f *fabric) byRack(a, b int) int {
	x, y := f.of[a], f.of[b]
	return cmp.Or(cmp.Compare(x.rack, y.rack), cmp.Compare(x.server, y.server), cmp.Compare(a, b))
}

// byRail compares hosts by their rail.
func (f *fabric) byRail(a, b int) int {
	return cmp.Or(cmp.Compare(f.of[a].nic, f.of[b].nic), f.byRack(a, b))
}

// spread returns hosts so that each server is in another rack than the one before, while
// there are several racks with servers left.
func (f *fabric) spread(hosts []int) []int {
	hosts = slices.Clone(hosts)
	slices.SortFunc(hosts, f.byRack)
	var racks [][][]int // hosts, by rack and server
	for i, h := range hosts {
		newRack := i == 0 || f.of[h].rack != f.of[hosts[i-1]].rack
		if newRack {
			racks = append(racks, nil)
		}
		r := &racks[len(racks)-1]
		if newRack || f.of[h].server != f.of[hosts[i-1]].server {
			*r = append(*r, nil)
		}
		(*r)[len(*r)-1] = append((*r)[len(*r)-1], h)
	}
	list := make([]int, 0, len(hosts))
	for k := 0; len(list) < len(hosts); k++ {
		for _, servers := range racks {
			if k < len(servers) {
				list = append(list, servers[k]...)
			}
		}
	}
	return list
}

// sorted returns the hosts of a job in the order in which its ranks take them. given says
// that the job names them. f is nil before there is a fabric.
func (j *Job) sorted(hosts []int, given bool, f *fabric) ([]int, error) {
	if f == nil || j.Placement == placeGiven || j.Placement == placeAuto && given {
		return hosts, nil
	}
	switch j.Placement {
	case placeSpread:
		return f.spread(hosts), nil
	case placeRail:
		if f.nics < 2 {
			return nil, errors.New("rail needs a fabric whose servers have several NICs, such as topology.rail")
		}
		return slices.SortedFunc(slices.Values(hosts), f.byRail), nil
	}
	return slices.SortedFunc(slices.Values(hosts), f.byRack), nil
}

// order returns the ranks in the job's order. hosts are those of the ranks.
func (j *Job) order(hosts []int, f *fabric) []int {
	ranks := make([]int, len(hosts))
	for r := range ranks {
		ranks[r] = r
	}
	switch j.Order {
	case orderTopology:
		slices.SortStableFunc(ranks, func(a, b int) int { return f.byRack(hosts[a], hosts[b]) })
	case orderRandom:
		random := rand.New(rand.NewPCG(j.OrderSeed, 0x6f726472)) // "ordr": a stream of its own
		random.Shuffle(len(ranks), func(a, b int) { ranks[a], ranks[b] = ranks[b], ranks[a] })
	}
	return ranks
}

// placeJobs returns the host of each rank of each job. A job that names its hosts has
// these, which other jobs may name too. The others take their hosts from those that no job
// names, in the order of the jobs; with a Scheduler from what it has free. Before there is a
// fabric, f is nil, and hosts is the number of hosts, or 0 if that is not known; then only what
// is wrong in any fabric is an error, and places mean nothing. The error is a *PathError.
func (e *Experiment) placeJobs(hosts int, f *fabric) ([][]int, error) {
	given, free, err := e.jobHosts(hosts)
	if err != nil {
		return nil, err
	}
	var cluster *allocator
	if e.Scheduler != nil && f != nil && len(free) > 0 {
		cluster = e.Scheduler.newAllocator(free, f)
	}
	placed := make([][]int, len(e.Jobs))
	for i := range e.Jobs {
		j, path, list := &e.Jobs[i], fmt.Sprintf("jobs[%d]", i), given[i]
		if list == nil {
			list = free
		}
		if len(list) == 0 && hosts > 0 {
			return nil, &PathError{path, fmt.Errorf("no host is left for job %s: the other jobs have all %d; give ranks or hosts to some of them", j.Name, hosts)}
		}
		ranks, err := j.Spec.Ranks(j.Ranks, len(list)*j.RanksPerHost)
		if err != nil {
			return nil, e.inJob(i, err)
		}
		if len(list) == 0 || ranks == 0 {
			continue // nothing is known of the fabric
		}
		if room := len(list) * j.RanksPerHost; ranks > room {
			return nil, &PathError{path, errors.New(j.tooFew(ranks, list, given[i] != nil, hosts))}
		}
		allocated := cluster != nil && given[i] == nil
		if allocated {
			if list = cluster.take((ranks + j.RanksPerHost - 1) / j.RanksPerHost); ranks > len(list)*j.RanksPerHost {
				return nil, &PathError{path, errors.New(j.tooFew(ranks, list, false, hosts))}
			}
		}
		list, err = j.sorted(list, given[i] != nil || allocated, f)
		if err != nil {
			return nil, &PathError{path + ".placement", err}
		}
		for r := range ranks {
			placed[i] = append(placed[i], list[r/j.RanksPerHost])
		}
		if given[i] == nil {
			taken := make(map[int]bool, len(placed[i]))
			for _, h := range placed[i] {
				taken[h] = true
			}
			free = slices.DeleteFunc(slices.Clone(free), func(h int) bool { return taken[h] })
		}
	}
	return placed, nil
}

// tooFew says in words that a job has more ranks than places.
func (j *Job) tooFew(ranks int, list []int, given bool, hosts int) string {
	text := fmt.Sprintf("%d ranks, ", ranks)
	if factors, ok := j.Spec.(interface{ Factors(ranks int) string }); ok {
		text = factors.Factors(ranks) + " = " + text
	}
	switch n := len(list); {
	case given:
		text += fmt.Sprintf("hosts names %d", n)
	case n < hosts:
		text += fmt.Sprintf("the other jobs leave %d of %d hosts", n, hosts)
	default:
		text += fmt.Sprintf("the fabric has %d hosts", n)
	}
	if j.RanksPerHost > 1 {
		text += fmt.Sprintf(" with %d ranks each", j.RanksPerHost)
	}
	return text
}

// jobHosts returns the hosts that each job names, nil where it names none, and those that
// no job names.
func (e *Experiment) jobHosts(hosts int) (given [][]int, free []int, err error) {
	taken, total := make([]bool, hosts), 0
	given = make([][]int, len(e.Jobs))
	for i := range e.Jobs {
		j, at := &e.Jobs[i], fmt.Sprintf("jobs[%d].hosts", i)
		if given[i], err = ParseHosts(j.Hosts, maxHosts-total); err != nil {
			return nil, nil, &PathError{at, err}
		}
		total += len(given[i])
		seen := map[int]bool{}
		for _, h := range given[i] {
			switch {
			case hosts > 0 && h >= hosts:
				return nil, nil, &PathError{at, fmt.Errorf("no host %d; hosts go from 0 to %d", h, hosts-1)}
			case seen[h] && j.Placement != placeGiven && j.Placement != placeAuto:
				return nil, nil, &PathError{at, fmt.Errorf("host %d is given twice, which only placement %s allows", h, placeGiven)}
			case hosts > 0:
				taken[h] = true
			}
			seen[h] = true
		}
	}
	for h, used := range taken {
		if !used {
			free = append(free, h)
		}
	}
	return given, free, nil
}
