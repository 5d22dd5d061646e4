package experiment

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScheduler: every host has one job at most, servers stay whole, a seed is a history.
func TestScheduler(t *testing.T) {
	t.Parallel()
	const fabric = "topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 8, rate: 1Gbps, delay: 1us}}\n"
	const servers = "topology: {rail: {servers: 16, nics: 4, group: 4, spines: 1, rate: 1Gbps, delay: 1us}}\n"
	place := func(fabric, scheduler string) [][]int {
		return hostsOf(t, fabric+"scheduler: {"+scheduler+"}\njobs: [{name: a, ranks: 4, collective: {}}, {name: b, ranks: 12, collective: {}}, {name: c, hosts: [0], ranks_per_host: 2, collective: {}}, {name: d, ranks: 12, collective: {}}]")
	}
	different, crossing := map[string]bool{}, 0
	for seed := range 40 {
		for _, on := range []string{fabric, servers} {
			jobs := place(on, fmt.Sprintf("seed: %d", seed))
			if again := place(on, fmt.Sprintf("seed: %d", seed)); !cmp.Equal(jobs, again) {
				t.Fatalf("seed %d: %v, then %v", seed, jobs, again)
			}
			if diff := cmp.Diff([]int{4, 12, 2, 12}, []int{len(jobs[0]), len(jobs[1]), len(jobs[2]), len(jobs[3])}); diff != "" || !cmp.Equal(jobs[2], []int{0, 0}) {
				t.Fatalf("seed %d: ranks (-want +got):\n%s%v", seed, diff, jobs)
			}
			all := slices.Concat(jobs[0], jobs[1], jobs[3])
			slices.Sort(all)
			if len(slices.Compact(all)) != 28 || all[0] == 0 {
				t.Fatalf("seed %d: a host has two jobs: %v", seed, jobs)
			}
			for _, i := range []int{0, 1, 3} {
				if !slices.IsSorted(jobs[i]) {
					t.Errorf("seed %d: not sorted: %v", seed, jobs[i])
				}
			}
			mixed := place(on, fmt.Sprintf("seed: %d, ranks: shuffled", seed))
			if on == fabric {
				different[fmt.Sprint(jobs)] = true
				if jobs[0][0]/8 != jobs[0][3]/8 {
					crossing++
				}
				if slices.IsSorted(mixed[1]) && slices.IsSorted(mixed[3]) {
					t.Errorf("seed %d: shuffled ranks are in order: %v", seed, mixed)
				}
				continue
			}
			for k := 1; k < 12; k++ { // the NICs of a server stay together, but for server 0, which c has a part of
				if k%4 != 0 && jobs[1][0] > 3 && mixed[1][k]/4 != mixed[1][k-1]/4 && mixed[1][0] > 3 && !slices.Contains(mixed[1], 1) {
					t.Errorf("seed %d: server divided: %v", seed, mixed[1])
				}
			}
		}
	}
	if len(different) < 35 || crossing < 10 || crossing == 40 {
		t.Errorf("%d of 40 histories differ, and a crosses racks in %d", len(different), crossing)
	}
}
