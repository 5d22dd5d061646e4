package workloads

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/csiglab/csiglab/units"
)

// add appends a transfer that starts at 0, labelled with its number from 1.
func (w *Workload) add(src, dst int, size units.Size) *Transfer {
	w.Transfers = append(w.Transfers, Transfer{
		Label: strconv.Itoa(len(w.Transfers) + 1), Src: src, Dst: dst, Size: size,
		After: None, SendDone: None, RecvDone: None,
	})
	return &w.Transfers[len(w.Transfers)-1]
}

// checkPositive refuses numbers of hosts and sizes that make no traffic.
func checkPositive(name string, hosts int, size units.Size) error {
	if hosts < 2 {
		return fmt.Errorf("%w: %s: %d hosts, want 2 or more", ErrInvalid, name, hosts)
	}
	if size <= 0 {
		return fmt.Errorf("%w: %s: size %v is not positive", ErrInvalid, name, size)
	}
	return nil
}

// Permutations is a stream of random permutations of hosts.
type Permutations struct {
	hosts  int
	size   units.Size
	random *rand.Rand
}

// NewPermutations returns the stream of a seed, whose transfers have a size.
func NewPermutations(hosts int, size units.Size, seed uint64) (*Permutations, error) {
	if err := checkPositive("permutation", hosts, size); err != nil {
		return nil, err
	}
	return &Permutations{hosts, size, rand.New(rand.NewPCG(seed, 0x7065726d))}, nil // "perm": a stream of its own
}

// Next returns one transfer from every host to another, each host
// receiving from one. The choice is uniform over all permutations that leave no
// host in its place. Transfers are in the order of their sources.
func (p *Permutations) Next() *Workload {
	// About one permutation in e leaves no host in its place.
	destination := p.random.Perm(p.hosts)
	for fixedPoint(destination) {
		destination = p.random.Perm(p.hosts)
	}
	w := &Workload{Name: "permutation", Hosts: p.hosts}
	for src, dst := range destination {
		w.add(src, dst, p.size)
	}
	return w
}

// Permutation returns the first permutation of a seed; see Permutations.Next.
func Permutation(hosts int, size units.Size, seed uint64) (*Workload, error) {
	p, err := NewPermutations(hosts, size, seed)
	if err != nil {
		return nil, err
	}
	return p.Next(), nil
}

// Shift returns the permutation in which every host sends to the one that is by further
// on, around the end. In a Dragonfly, by the hosts of a group, every host of a group sends
// to the next group: the adversarial traffic of Kim et al., ISCA 2008.
func Shift(hosts, by int, size units.Size) (*Workload, error) {
	if err := checkPositive("permutation", hosts, size); err != nil {
		return nil, err
	}
	if by < 1 || by >= hosts {
		return nil, fmt.Errorf("%w: permutation: a shift by %d, want 1 to %d", ErrInvalid, by, hosts-1)
	}
	w := &Workload{Name: "permutation", Hosts: hosts}
	for src := range hosts {
		w.add(src, (src+by)%hosts, size)
	}
	return w, nil
}

func fixedPoint(destination []int) bool {
	for src, dst := range destination {
		if src == dst {
			return true
		}
	}
	return false
}

// Incast returns transfers from fanIn hosts, the lowest but dst, to dst.
func Incast(hosts, dst, fanIn int, size units.Size) (*Workload, error) {
	if err := checkPositive("incast", hosts, size); err != nil {
		return nil, err
	}
	if dst < 0 || dst >= hosts {
		return nil, fmt.Errorf("%w: incast: destination %d, hosts go from 0 to %d", ErrInvalid, dst, hosts-1)
	}
	if fanIn < 1 || fanIn > hosts-1 {
		return nil, fmt.Errorf("%w: incast: fan-in %d, want 1 to %d", ErrInvalid, fanIn, hosts-1)
	}
	w := &Workload{Name: "incast", Hosts: hosts}
	for src := 0; len(w.Transfers) < fanIn; src++ {
		if src != dst {
			w.add(src, dst, size)
		}
	}
	return w, nil
}

// MaxTransfers is the most that a workload has; more is a mistake rather than a
// workload. Every host of 1024 may send to every other.
const MaxTransfers = 1 << 20

// AllToAll returns a transfer of size from every host to every other. Host i
// sends to i+1, i+2, … modulo hosts. With parallel 0 all start at once;
// otherwise each host has that many under way: a transfer starts when the one
// parallel places before it from the same host has its last byte acknowledged.
func AllToAll(hosts, parallel int, size units.Size) (*Workload, error) {
	if err := checkPositive("all-to-all", hosts, size); err != nil {
		return nil, err
	}
	if parallel < 0 {
		return nil, fmt.Errorf("%w: all-to-all: parallel %d is negative", ErrInvalid, parallel)
	}
	if hosts*(hosts-1) > MaxTransfers {
		return nil, fmt.Errorf("%w: all-to-all: %d transfers among %d hosts, the limit is %d", ErrInvalid, hosts*(hosts-1), hosts, MaxTransfers)
	}
	w := &Workload{Name: "all-to-all", Hosts: hosts, Transfers: make([]Transfer, 0, hosts*(hosts-1))}
	for src := range hosts {
		first := len(w.Transfers)
		for step := 1; step < hosts; step++ {
			t := w.add(src, (src+step)%hosts, size)
			if parallel == 0 || step <= parallel {
				continue
			}
			t.After = len(w.Triggers)
			w.Transfers[first+step-1-parallel].SendDone = t.After
			w.Triggers = append(w.Triggers, Trigger{Label: strconv.Itoa(t.After + 1), Kind: OneShot})
		}
	}
	return w, nil
}
