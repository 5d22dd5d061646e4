package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
)

func splitPlan(t testing.TB, topology, workload string) *Plan {
	t.Helper()
	text := fmt.Sprintf("schema: 1\nname: split\ntopology: {%s}\nworkload: {%s}\n", topology, workload)
	set, err := experiment.Parse("split.yaml", t.TempDir(), []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Nodes are cut between pods, groups and racks, never through a rack where there are
// enough; the shards have about the same load of hosts, and of the switches of each tier.
func TestSplitBalances(t *testing.T) {
	for _, c := range []struct {
		name, topology, workload string
		workers                  int
		pods                     bool    // no pod is cut
		most                     float64 // load of a shard over the mean
	}{
		{"pods", "k_ary: {k: 8, rate: 1Gbps, delay: 1us}", "permutation: {size: 1MB}", 4, true, 1.001},
		{"pods that workers do not divide", "k_ary: {k: 8, rate: 1Gbps, delay: 1us}", "permutation: {size: 1MB}", 3, false, 1.04},
		{"groups", "dragonfly: {p: 2, a: 4, h: 2, rate: 1Gbps, delay: 1us}", "permutation: {size: 1MB}", 3, true, 1.001},
		{"leaves", "leaf_spine: {leaves: 16, spines: 4, hosts_per_leaf: 8, rate: 1Gbps, delay: 1us}", "permutation: {size: 1MB}", 4, false, 1.001},
		{"most load in one pod", "k_ary: {k: 8, rate: 1Gbps, delay: 1us}", "all_to_all: {size: 100kB, hosts: 16}", 2, false, 1.3},
		{"one receiver", "leaf_spine: {leaves: 16, spines: 4, hosts_per_leaf: 8, rate: 1Gbps, delay: 1us}", "incast: {fan_in: 127, size: 100kB, dst: 60}", 2, false, 1.55}, // half of the load is at one host,
	} {
		p := splitPlan(t, c.topology, c.workload)
		shards, count := p.Split(c.workers)
		if count != c.workers {
			t.Errorf("%s: %d shards, want %d", c.name, count, c.workers)
			continue
		}
		loads, sums, whole := p.hostLoads(), make([]float64, count), 0.0
		for h, l := range loads {
			sums[shards[h]] += l
			whole += l
		}
		switches := map[topologies.Tier][]int{}
		for i, n := range p.Graph.Nodes[p.Hosts():] {
			if switches[n.Tier] == nil {
				switches[n.Tier] = make([]int, count)
			}
			switches[n.Tier][shards[p.Hosts()+i]]++
		}
		for s := range sums {
			if over := sums[s] / (whole / float64(count)); over > c.most {
				t.Errorf("%s: shard %d has %.3f times the mean load, want at most %.3f", c.name, s, over, c.most)
			}
			if c.most < 1.01 { // everywhere the same load
				for tier, n := range switches {
					if least := len(p.Graph.Nodes) / count / 10; n[s] == 0 || tier == topologies.TierToR && n[s] < least {
						t.Errorf("%s: shard %d has %d switches of tier %v: %v", c.name, s, n[s], tier, n)
					}
				}
			}
		}
		for _, l := range p.Graph.Links {
			a, b := &p.Graph.Nodes[l.A.Node], &p.Graph.Nodes[l.B.Node]
			crosses := shards[l.A.Node] != shards[l.B.Node]
			if crosses && (a.Kind == topologies.Host || c.pods && a.Pod == b.Pod && a.Pod >= 0) {
				t.Errorf("%s: the link %s-%s crosses shards", c.name, a.Name, b.Name)
			}
		}
	}
}

// A fabric of 8192 hosts is split in a fraction of the time that its plan takes.
func TestSplitIsQuick(t *testing.T) {
	p := splitPlan(t, "k_ary: {k: 32, rate: 100Gbps, delay: 1us}", "permutation: {size: 1MB}")
	best := time.Hour // of several, as the machine may have other work
	for range 5 {
		started := time.Now()
		p.Split(2)
		best = min(best, time.Since(started))
	}
	if best > 200*time.Millisecond {
		t.Errorf("it took %v, want at most 200ms", best)
	}
}
