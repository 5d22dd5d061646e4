package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// generated is an experiment with a topology and a workload of one line each.
func generated(topology, workload string) string {
	return fmt.Sprintf("schema: 1\nname: x\ntopology:\n  %s\nworkload:\n  %s\n", topology, workload)
}

const (
	kAry      = "k_ary: {k: 4, rate: 100Gbps, delay: 1us}"
	leafSpine = "leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}"
	dragonfly = "dragonfly: {p: 1, a: 2, h: 1, rate: 100Gbps, delay: 1us}"
	allToAll  = "all_to_all: {size: 4kB}"
)

func TestGenerators(t *testing.T) {
	const us = units.Microsecond
	for _, c := range []struct {
		topology, workload string
		want               Topology
		load               AllToAll
	}{
		{kAry, allToAll, Topology{KAry{K: 4, Rate: 100 * units.Gbps, Delay: us}}, AllToAll{Size: 4 * units.KB}},
		{"k_ary: {k: 8, rate: 100Gbps, delay: 1us, switch_delay: 500ns}", "all_to_all: {size: 1MB, parallel: 2, hosts: 128}",
			Topology{KAry{K: 8, Rate: 100 * units.Gbps, Delay: us, SwitchDelay: us / 2}}, AllToAll{Size: units.MB, Parallel: 2, Hosts: 128}},
		{leafSpine, "all_to_all: {size: 4kB, parallel: all, hosts: all}",
			Topology{LeafSpine{Leaves: 4, Spines: 2, HostsPerLeaf: 8, Bundle: 1, Rate: 100 * units.Gbps, Delay: us}}, AllToAll{Size: 4 * units.KB}},
		{"leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 8, bundle: 2, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us, switch_delay: 0us}", allToAll,
			Topology{LeafSpine{Leaves: 4, Spines: 2, HostsPerLeaf: 8, Bundle: 2, Rate: 100 * units.Gbps, SpineRate: 400 * units.Gbps, Delay: us}}, AllToAll{Size: 4 * units.KB}},
		{dragonfly, allToAll, Topology{topologies.DragonflySpec{HostsPerRouter: 1, Routers: 2, Global: 1, Rate: 100 * units.Gbps, Delay: us}}, AllToAll{Size: 4 * units.KB}},
		{"dragonfly: {p: 2, a: 4, h: 2, groups: 5, rate: 200Gbps, global_rate: 400Gbps, delay: 1us, global_delay: 3us, switch_delay: 100ns}", "all_to_all: {size: 4kB, hosts: 40}",
			Topology{topologies.DragonflySpec{HostsPerRouter: 2, Routers: 4, Global: 2, Groups: 5, Rate: 200 * units.Gbps, GlobalRate: 400 * units.Gbps, Delay: us, GlobalDelay: 3 * us, SwitchDelay: us / 10}}, AllToAll{Size: 4 * units.KB, Hosts: 40}},
	} {
		set := parse(t, generated(c.topology, c.workload))
		if diff := cmp.Diff(set.Base.Topology, c.want); diff != "" {
			t.Errorf("%s, got - want +:\n%s", c.topology, diff)
		}
		if diff := cmp.Diff(set.Base.Workload.Spec, WorkloadSpec(c.load)); diff != "" {
			t.Errorf("%s, got - want +:\n%s", c.workload, diff)
		}
		roundTrip(t, set, testTables())
	}
}

func TestAGeneratorReplacesAnother(t *testing.T) {
	set := parse(t, small+"variants:\n  tree: {}\n  fly: {topology."+dragonfly+", workload."+allToAll+"}\n")
	e := set.Variants[1].Experiment
	_, fly := e.Topology.Spec.(topologies.DragonflySpec)
	if _, all := e.Workload.Spec.(AllToAll); !fly || !all {
		t.Errorf("got %+v and %+v, want a Dragonfly and an all-to-all alone", e.Topology, e.Workload)
	}
	roundTrip(t, set, testTables())
}

// TestWrongGenerators has one mistake per entry, in line 4 or 6, and the whole
// message that must come of it.
func TestWrongGenerators(t *testing.T) {
	for _, c := range []struct{ topology, workload, want string }{
		{"k_ary: {rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:11: topology.k_ary: the key "k" is missing`},
		{"k_ary: {k: 5, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:14: topology.k_ary.k: 5 is odd; half of a switch's ports lead up`},
		{"k_ary: {k: 1, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:14: topology.k_ary.k: 1 is too small; the least is 2`},
		{"k_ary: {k: 162, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:14: topology.k_ary.k: 162 is too large; the most is 160`},
		{"k_ary: {k: 4, rate: 100, delay: 1us}", allToAll, `x.yaml:4:23: topology.k_ary.rate: rate "100": a unit is missing; write a number and one of Tbps Gbps Mbps kbps bps`},
		{"k_ary: {k: 4, rate: 100Gbps, delay: 0us}", allToAll, `x.yaml:4:39: topology.k_ary.delay: 0us is too small; the least is 1ns`},
		{"k_ary: {k: 4, rate: 100Gbps, delay: 1us, pods: 4}", allToAll, `x.yaml:4:44: topology.k_ary.pods: unknown key "pods"`},
		{"kary: {k: 4, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:3: topology.kary: unknown key "kary" (did you mean "k_ary"?)`},
		{"file_: x", allToAll, `x.yaml:4:3: topology.file_: unknown key "file_" (did you mean "file"?)`},
		{kAry + "\n  " + dragonfly, allToAll, `x.yaml:5:15: topology.dragonfly: excludes topology.k_ary; give one of them`},
		{"leaf_spine: {leaves: 4, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:16: topology.leaf_spine: the key "spines" is missing`},
		{"leaf_spine: {leaves: 4, spines: 0, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:35: topology.leaf_spine.spines: 0 is too small; the least is 1`},
		{"leaf_spine: {leaves: 1024, spines: 2, hosts_per_leaf: 2048, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:24: topology.leaf_spine.leaves: hosts is 2097152, want 2 to 1048576`},
		{"leaf_spine: {leaves: 1024, spines: 2, hosts_per_leaf: 8, bundle: 8, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:24: topology.leaf_spine.leaves: tier 1: radix_down is 8192, want 1 to 4096`},
		{"leaf_spine: {leaves: 4, spines: 1024, hosts_per_leaf: 8, bundle: 8, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:35: topology.leaf_spine.spines: tier 0: radix_up is 8192, want 1 to 4096`},
		{"dragonfly: {p: 1, a: 2, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:15: topology.dragonfly: the key "h" is missing`},
		{"dragonfly: {p: 1, a: 2, h: 1, groups: 4, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:41: topology.dragonfly.groups: 4 is too large; the most is 3, as a group has 2 global links`},
		{"dragonfly: {p: 1, a: 2, h: 1, groups: 1, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:41: topology.dragonfly.groups: 1 is too small; the least is 2`},
		{"dragonfly: {p: 1, a: 2, h: 1, rate: 100Gbps, delay: 1us, global_rate: 400}", allToAll, `x.yaml:4:73: topology.dragonfly.global_rate: rate "400": a unit is missing`},
		{"dragonfly: {p: 1, a: 2, h: 1, rate: 100Gbps, delay: 1us, global_delay: 2s}", allToAll, `x.yaml:4:74: topology.dragonfly.global_delay: 2s is too large; the most is 1s`},
		{"dragonfly: {p: 4000, a: 64, h: 64, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:15: topology.dragonfly: dragonfly p=4000 a=64 h=64: each must be positive and a router has at most 4096 ports`},
		{"dragonfly: {p: 16, a: 64, h: 64, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:4:15: topology.dragonfly: dragonfly p=16 a=64 h=64 has 4195328 hosts, the limit is 1048576`},
		{kAry, "all_to_all: {}", `x.yaml:6:15: workload.all_to_all: the key "size" is missing`},
		{kAry, "all_to_all: {size: 4}", `x.yaml:6:22: workload.all_to_all.size: size "4": a unit is missing`},
		{kAry, "all_to_all: {size: 4kB, parallel: -1}", `x.yaml:6:37: workload.all_to_all.parallel: -1 is too small; the least is 1`},
		{kAry, "all_to_all: {size: 4kB, hosts: 17}", `x.yaml:6:34: workload.all_to_all.hosts: 17 is too large; the topology has 16 hosts`},
		{dragonfly, "all_to_all: {size: 4kB, hosts: 7}", `x.yaml:6:34: workload.all_to_all.hosts: 7 is too large; the topology has 6 hosts`},
		{"k_ary: {k: 32, rate: 100Gbps, delay: 1us}", allToAll, `x.yaml:6:16: workload.all_to_all: 8192 hosts would send 67100672 messages; the most is 1048576`},
		{leafSpine, "incast: {fan_in: 32, size: 1MB}", `x.yaml:6:20: workload.incast.fan_in: 32 senders and a receiver need more than 32 hosts`},
		{dragonfly, "transfers: [0 -> 6 1MB]", `x.yaml:6:15: workload.transfers[0].dst: no host 6; hosts go from 0 to 5`},
	} {
		_, err := Parse("x.yaml", t.TempDir(), []byte(generated(c.topology, c.workload)), Options{Tables: testTables()})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s, %s\ngot  %v\nwant %s", c.topology, c.workload, err, c.want)
		}
	}
}
