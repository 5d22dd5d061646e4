package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

const fourHosts = `Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 1
Oversubscribed 2
Downlink_Latency_ns 1000
Queue_Up 100000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
`

// Counts of docs/reference/references.md#fat-trees and #dragonflies.
func TestBuildTopology(t *testing.T) {
	file := filepath.Join(t.TempDir(), "four.topo")
	if err := os.WriteFile(file, []byte(fourHosts), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		topology string
		tree     bool
		notes    int
		want     topologies.Counts
	}{
		{"file: " + file, true, 1, topologies.Counts{Hosts: 4, Pods: 1, ToRs: 2, Aggs: 1, Links: topologies.LinkCounts{Host: 4, TorAgg: 2}}},
		{"k_ary: {k: 4, rate: 100Gbps, delay: 1us}", true, 0,
			topologies.Counts{Hosts: 16, Pods: 4, ToRs: 8, Aggs: 8, Cores: 4, Links: topologies.LinkCounts{Host: 16, TorAgg: 16, AggCore: 16}}},
		{"k_ary: {k: 8, rate: 100Gbps, delay: 1us}", true, 0,
			topologies.Counts{Hosts: 128, Pods: 8, ToRs: 32, Aggs: 32, Cores: 16, Links: topologies.LinkCounts{Host: 128, TorAgg: 128, AggCore: 128}}},
		// leaf_spine_tiny: 32 hosts, 8 down 2 up, 4 leaves, 2 spines
		{"leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}", true, 0,
			topologies.Counts{Hosts: 32, Pods: 1, ToRs: 4, Aggs: 2, Links: topologies.LinkCounts{Host: 32, TorAgg: 8}}},
		{"dragonfly: {p: 1, a: 2, h: 1, rate: 100Gbps, delay: 1us}", false, 0,
			topologies.Counts{Hosts: 6, Pods: 3, ToRs: 6, Links: topologies.LinkCounts{Host: 6, TorTor: 3 + 3}}},
		{"dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, delay: 1us}", false, 0,
			topologies.Counts{Hosts: 72, Pods: 9, ToRs: 36, Links: topologies.LinkCounts{Host: 72, TorTor: 36 + 54}}},
	} {
		set := parseText(t, "schema: 1\nname: t\ntopology: {"+c.topology+"}\nworkload: {all_to_all: {size: 1kB}}\n")
		got, err := set.Base.Topology.Build()
		if err != nil {
			t.Errorf("%s: %v", c.topology, err)
			continue
		}
		if diff := cmp.Diff(got.Graph.Counts(), c.want); diff != "" {
			t.Errorf("%s: got - want +:\n%s", c.topology, diff)
		}
		if (got.Tree != nil) != c.tree || len(got.Notes) != c.notes {
			t.Errorf("%s: tree %v, notes %q; want %v and %d", c.topology, got.Tree, got.Notes, c.tree, c.notes)
		}
	}
	for _, topology := range []experiment.Topology{{}, {Spec: experiment.TopologyFile(file + "x")}, {Spec: experiment.KAry{K: 3}}, {Spec: experiment.LeafSpine{}}, {Spec: topologies.DragonflySpec{}}} {
		if _, err := plan.Compile(&experiment.Experiment{Topology: topology}, 1); !errors.Is(err, failure.ErrConfiguration) {
			t.Errorf("%+v: got %v, want failure.ErrConfiguration", topology, err)
		}
	}
}

// Every message of an all-to-all arrives, nothing is lost or made up, and every
// packet takes a minimal path: as many transmissions as links between its hosts.
func TestAllToAll(t *testing.T) {
	for _, name := range []string{"all-to-all", "dragonfly", "dragonfly-72"} {
		for _, csig := range []bool{false, true} {
			opts := experiment.Options{Tables: experiment.StandardTables()}
			if csig {
				opts.Override = []experiment.Override{{Path: "csig.format", Value: "compact"}, {Path: "hosts.cc.csig", Value: "max-delay"}}
			}
			set, err := experiment.Load(name, opts)
			if err != nil {
				t.Fatal(err)
			}
			e := set.Variants[0].Experiment
			m, out := runVirtual(t, e, 1)
			p, err := plan.Compile(e, 1)
			if err != nil {
				t.Fatal(err)
			}
			hosts := p.Hosts()
			if len(p.Flows) != hosts*(hosts-1) || m["flows.incomplete"] != 0 {
				t.Errorf("%s: %d flows among %d hosts, %v incomplete", name, len(p.Flows), hosts, m["flows.incomplete"])
			}
			if csig != (m["tags.updated"] > 0) {
				t.Errorf("%s, csig %v: %v tags updated", name, csig, m["tags.updated"])
			}
			paths := topologies.NewPaths(p.Graph)
			var got, want int64
			for _, f := range metrics.Flows(p.Flows, out.Nodes) {
				links, _ := paths.Between(int(f.Info.Src), int(f.Info.Dst))
				want += int64(links) * (f.Sender.NewPackets + f.Sender.Retransmitted + f.Receiver.AcksSent + f.Receiver.NacksSent)
			}
			for _, r := range out.Nodes {
				for _, port := range r.Ports {
					got += port.TxPackets
				}
			}
			if got != want {
				t.Errorf("%s, csig %v: %d transmissions, want %d", name, csig, got, want)
			}
		}
	}
}
