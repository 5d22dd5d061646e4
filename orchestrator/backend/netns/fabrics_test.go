package netns_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// smallFabrics has a small fabric of each kind of topology, and the transfers on it, most
// of which cross several switches. FILE is a file with the text.
var smallFabrics = map[string]struct{ topology, transfers, text string }{
	"file": {"file: FILE", "0 -> 1 20kB, 1 -> 0 20kB",
		"Nodes 2\nTiers 2\nPodsize 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 1\nRadix_Up 1\nDownlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n"},
	"fat_tree": {"fat_tree: {hosts: 4, pod: 2, tiers: [{down: 2, up: 1, rate: 100Gbps, delay: 1us, oversubscribed: 1}, {down: 1, up: 2, rate: 200Gbps, delay: 1us, bundle: 1}, {down: 4, rate: 100Gbps, delay: 2us, bundle: 2}]}",
		"0 -> 3 20kB, 2 -> 1 20kB", ""},
	"k_ary":       {"k_ary: {k: 2, rate: 100Gbps, delay: 1us}", "0 -> 1 20kB, 1 -> 0 20kB", ""},
	"leaf_spine":  {"leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, bundle: 2, rate: 50Gbps, spine_rate: 100Gbps, delay: 1us}", "0 -> 2 20kB, 3 -> 1 20kB", ""},
	"dragonfly":   {"dragonfly: {p: 1, a: 2, h: 1, rate: 100Gbps, delay: 1us}", "0 -> 5 20kB, 3 -> 0 20kB", ""},
	"rail":        {"rail: {servers: 2, nics: 2, group: 1, spines: 2, rate: 400Gbps, spine_rate: 800Gbps, delay: 1us}", "0 -> 3 20kB, 2 -> 1 20kB", ""},
	"dumbbell":    {"dumbbell: {left: 2, right: 2, rate: 100Gbps, bottleneck_rate: 40Gbps, delay: 1us}", "0 -> 2 20kB, 1 -> 3 20kB", ""},
	"parking_lot": {"parking_lot: {hops: 2, rate: 100Gbps, delay: 1us}", "0 -> 1 20kB, 2 -> 3 20kB, 4 -> 5 20kB", ""},
	"ring":        {"ring: {switches: 3, rate: 100Gbps, delay: 1us, routes: clockwise}", "0 -> 2 20kB, 1 -> 0 20kB, 2 -> 1 20kB", ""},
	"graph": {"graph: {file: FILE}", "0 -> 1 20kB, 1 -> 0 20kB",
		"delay: 1us\nnodes: [{name: a}, {name: left, kind: switch}, {name: right, kind: switch}, {name: b}]\nlinks: [{a: a, b: left, rate: 100Gbps}, {a: right, b: b, rate: 50Gbps}, {a: left, b: right, rate: 25Gbps, count: 3}]\n"},
	"clab": {"clab: {file: FILE, delay: 1us}", "0 -> 1 20kB, 1 -> 0 20kB",
		"name: x\ntopology: {nodes: {Leaf_1: {kind: nokia_srlinux}, srv.1: {kind: linux}, srv.2: {kind: linux}}, links: [{endpoints: ['srv.1:eth1', 'Leaf_1:e1'], vars: {rate: 10Gbps}}, {endpoints: ['srv.2:eth1', 'Leaf_1:e2'], vars: {rate: 40Gbps}}]}\n"},
	"ns3":   {"ns3: {file: FILE}", "0 -> 1 20kB, 1 -> 0 20kB", "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 25Gbps 1000ns 0\n"},
	"astra": {"astra: FILE", "0 -> 3 20kB, 1 -> 0 20kB", "topology: [Switch, Ring]\nnpus_count: [2, 2]\nbandwidth: [12.5, 6.25]\nlatency: [1000, 2000]\n"},
	"netbench": {"netbench: {file: FILE, rate: 100Gbps, delay: 1us}", "0 -> 1 20kB, 1 -> 0 20kB",
		"|V|=3\n|E|=4\nToRs=set(0,1)\nServers=set(0,1)\nSwitches=set(2)\n0 2\n1 2\n2 0\n2 1\n"},
}

// Issue 12, item 4: a fabric of each kind leaves the same traces in virtual time and between
// network namespaces in lockstep.
func TestFabrics(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, section := range experiment.Catalogue(experiment.StandardTables()) {
		if section.Name != "topologies" {
			continue
		}
		for _, kind := range section.Entries {
			small, ok := smallFabrics[kind.Name]
			if !ok {
				t.Errorf("topology %s is not in smallFabrics; add a small fabric of it", kind.Name)
				continue
			}
			t.Run(kind.Name, func(t *testing.T) {
				topology := small.topology
				if small.text != "" {
					name := filepath.Join(t.TempDir(), "fabric.txt")
					if err := os.WriteFile(name, []byte(small.text), 0o600); err != nil {
						t.Fatal(err)
					}
					topology = strings.Replace(topology, "FILE", name, 1)
				}
				p := backendtest.Compile(t, fmt.Sprintf("schema: 1\nname: fabrics\ntopology: {%s}\nworkload: {transfers: [%s]}\ncsig: {format: wide, locators: registry}\n", topology, small.transfers))
				want := backendtest.Virtual(t, p, nil)
				f := newRun(t, p)
				f.Processes, f.Elide = processes(true), true
				out, err := run(t, f)
				if err != nil {
					t.Fatal(err)
				}
				backendtest.Same(t, out.Nodes, want)
			})
		}
	}
}
