package circle

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// field is the jobs of a search.
type field struct {
	profiles []Profile
	kinds    []int // of each job; jobs with the same period and bursts have the same
	places   []int // of each job; jobs on the same links have the same
	// share reports whether two jobs share a link; nil: all do.
	share func(i, j int) bool
	known map[[2]int]*relation // by the kinds of two jobs
}

// newField returns a field of jobs that all share a link.
func newField(profiles []Profile) *field {
	f := &field{profiles: profiles, kinds: make([]int, len(profiles)), places: make([]int, len(profiles)), known: map[[2]int]*relation{}}
	seen := map[string][]int{} // the first jobs of each kind, by what most kinds differ in
	for i := range profiles {
		p := &profiles[i]
		key := fmt.Sprint(p.Period, len(p.Bursts), p.Bursts[0])
		f.kinds[i] = i
		for _, j := range seen[key] {
			if slices.Equal(profiles[j].Bursts, p.Bursts) {
				f.kinds[i] = j
				break
			}
		}
		if f.kinds[i] == i {
			seen[key] = append(seen[key], i)
		}
	}
	return f
}

// of returns the field of some of the jobs, which all share a link.
func (f *field) of(jobs []int) *field {
	part := &field{profiles: some(f.profiles, jobs), kinds: make([]int, len(jobs)), places: make([]int, len(jobs)), known: f.known}
	for i, j := range jobs {
		part.kinds[i] = f.kinds[j]
	}
	return part
}

// twins are jobs with the same profile on the same links. A search need not try both orders
// of two of them.
type twins struct {
	twin []int // of each job: the first of its twins
	seen []int // of each first twin: the call of distinct that has met it
	call int
}

func newTwins(f *field) twins {
	t, first := twins{twin: make([]int, len(f.kinds)), seen: make([]int, len(f.kinds))}, map[[2]int]int{}
	for i := range t.twin {
		key := [2]int{f.kinds[i], f.places[i]}
		if _, ok := first[key]; !ok {
			first[key] = i
		}
		t.twin[i] = first[key]
	}
	return t
}

// distinct returns jobs without those whose twin comes before them.
func (t *twins) distinct(jobs []int) []int {
	t.call++
	some := make([]int, 0, len(jobs))
	for _, j := range jobs {
		if k := t.twin[j]; t.seen[k] != t.call {
			t.seen[k] = t.call
			some = append(some, j)
		}
	}
	return some
}

// relation returns how two jobs constrain each other; nil: it takes more work than is left.
func (f *field) relation(i, j int, work *int) *relation {
	key := [2]int{f.kinds[i], f.kinds[j]}
	if r, ok := f.known[key]; ok {
		return r
	}
	if r, ok := f.known[[2]int{key[1], key[0]}]; ok {
		f.known[key] = r.mirrored()
		return f.known[key]
	}
	n := len(f.profiles[i].Bursts) * len(f.profiles[j].Bursts)
	if *work -= n * bits.Len(uint(n)); *work < 0 {
		return nil
	}
	r := relate(&f.profiles[i], &f.profiles[j])
	f.known[key] = r
	return r
}

// widest returns a gap that no start offsets exceed. It looks at relations that are known.
func (f *field) widest() units.Duration {
	least := units.Duration(-1)
	for i := range f.profiles {
		for j := range i {
			if f.share != nil && !f.share(i, j) {
				continue
			}
			if gap := f.known[[2]int{f.kinds[i], f.kinds[j]}].room(); least < 0 || gap < least {
				least = gap
			}
		}
	}
	return max(least, 0)
}
