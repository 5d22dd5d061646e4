package experiment

import (
	"math/rand/v2"
	"slices"
)

// Scheduler says where a shared cluster puts the jobs that name no hosts: on what a first-fit
// scheduler finds free after other jobs have come and gone. The other jobs send nothing, and
// have left when the run begins.
type Scheduler struct {
	Seed  uint64 `yaml:"seed" default:"1" doc:"which jobs have come and gone; the run's seeds do not change it"`
	Ranks string `yaml:"ranks" is:"sorted|shuffled" default:"sorted" doc:"how the ranks of a job with placement 'auto' take its hosts: 'sorted', rack after rack, as Slurm numbers tasks; 'shuffled', in no order, as Kubernetes numbers pods"`
}

// shuffled is a value of Scheduler.Ranks.
const shuffled = "shuffled"

// turnover is how many of the others' jobs end before the first job of the experiment comes,
// for each server of the cluster.
const turnover = 10

// allocator is the state of a cluster whose servers are numbered in the order of its racks.
type allocator struct {
	random  *rand.Rand
	shuffle bool
	servers [][]int // hosts of each
	free    []int   // servers, ascending
	others  [][]int // servers of each job that is not the experiment's
	next    int     // servers that the next of these wants
}

// newAllocator returns a cluster of hosts in which other jobs have come and gone.
func (s *Scheduler) newAllocator(hosts []int, f *fabric) *allocator {
	a := &allocator{random: rand.New(rand.NewPCG(s.Seed, 0x66726167)), shuffle: s.Ranks == shuffled} // "frag": a stream of its own
	for i, h := range slices.SortedFunc(slices.Values(hosts), f.byRack) {
		if i == 0 || f.of[h].server != f.of[a.servers[len(a.servers)-1][0]].server {
			a.free, a.servers = append(a.free, len(a.servers)), append(a.servers, nil)
		}
		last := &a.servers[len(a.servers)-1]
		*last = append(*last, h)
	}
	a.draw()
	a.admit()
	for range turnover * len(a.servers) {
		a.end()
		a.admit()
	}
	return a
}

// draw draws the size of the next of the others' jobs: a power of two, up to a quarter of the
// cluster, each as likely.
func (a *allocator) draw() {
	sizes := 1
	for 4<<sizes <= len(a.servers) {
		sizes++
	}
	a.next = 1 << a.random.IntN(sizes)
}

// admit lets the others' jobs in while the next one has room.
func (a *allocator) admit() {
	for a.next <= len(a.free) {
		a.others = append(a.others, a.first(a.next))
		a.draw()
	}
}

// first takes the first n free servers.
func (a *allocator) first(n int) []int {
	taken := slices.Clone(a.free[:n])
	a.free = a.free[n:]
	return taken
}

// end ends one of the others' jobs, each as likely.
func (a *allocator) end() {
	i := a.random.IntN(len(a.others))
	a.free = slices.Sorted(slices.Values(append(a.free, a.others[i]...)))
	a.others = slices.Delete(a.others, i, i+1)
}

// take returns n hosts for a job of the experiment, in whole servers but for the last; fewer if
// the cluster has no more. It waits until so many servers are free, and no other job comes
// before it.
func (a *allocator) take(n int) (hosts []int) {
	room := func() (hosts int) {
		for _, s := range a.free {
			hosts += len(a.servers[s])
		}
		return hosts
	}
	for room() < n && len(a.others) > 0 {
		a.end()
	}
	servers := 0
	for taken := 0; taken < n && servers < len(a.free); servers++ {
		taken += len(a.servers[a.free[servers]])
	}
	chosen := a.first(servers)
	if a.shuffle {
		a.random.Shuffle(len(chosen), func(i, k int) { chosen[i], chosen[k] = chosen[k], chosen[i] })
	}
	for _, s := range chosen {
		hosts = append(hosts, a.servers[s]...)
	}
	return hosts[:min(n, len(hosts))]
}
