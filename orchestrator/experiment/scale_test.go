package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
)

// scaledFabrics has a fabric of each kind of topology, with links that differ.
var scaledFabrics = map[string]string{
	"fat_tree":    "{hosts: 4, pod: 2, tiers: [{down: 1, up: 1, rate: 1Gbps, delay: 1us}, {down: 2, up: 1, rate: 2Gbps, delay: 3us, switch_delay: 1us}, {down: 2, rate: 4Gbps, delay: 5us}]}",
	"k_ary":       "{k: 4, rate: 1Gbps, delay: 1us, switch_delay: 2us}",
	"leaf_spine":  "{leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, spine_rate: 2Gbps, delay: 1us, switch_delay: 1us}",
	"dragonfly":   "{p: 1, a: 2, h: 1, rate: 1Gbps, global_rate: 4Gbps, delay: 1us, local_delay: 2us}",
	"dumbbell":    "{left: 1, right: 1, rate: 1Gbps, bottleneck_delay: 7us, delay: 1us}",
	"ring":        "{switches: 3, rate: 1Gbps, ring_rate: 2Gbps, delay: 1us, routes: clockwise}",
	"rail":        "{servers: 2, nics: 2, spines: 1, rate: 1Gbps, spine_rate: 3Gbps, delay: 1us}",
	"parking_lot": "{hops: 2, rate: 1Gbps, bottleneck_rate: 2Gbps, delay: 1us}",
	"graph":       "{rate: 3Gbps, nodes: [{name: s, kind: switch, delay: 1us}, {name: a}, {name: b}], links: [{a: a, b: s, rate: 1Gbps, delay: 1us}, {a: b, b: s, delay: 2us}]}",
	"clab":        "{file: testdata/fabric.clab.yml, rate: 100Gbps, delay: 2us}",
	"netbench":    "{file: testdata/pair.topology, rate: 1Gbps, host_rate: 2Gbps, delay: 1us}",
	"ns3":         "{file: testdata/pair.txt, switch_delay: 1us}",
	"astra":       "testdata/npus.yml",
	"file":        "",
}

const smallTopo = `Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Up 1
Radix_Down 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Downlink_Latency_ns 500
`

// Every kind of topology can be scaled: each link of the fabric has the multiple of its rate,
// or of its delay, and nothing else changes. A kind without a fabric here fails.
func TestScaleTopologies(t *testing.T) {
	dir := t.TempDir()
	topo := filepath.Join(dir, "small.topo")
	if err := os.WriteFile(topo, []byte(smallTopo), 0o600); err != nil {
		t.Fatal(err)
	}
	graph := filepath.Join(dir, "graph.yaml")
	if err := os.WriteFile(graph, []byte("rate: 1Gbps\nnodes: [{name: s, kind: switch, tier: core}, {name: a}, {name: b}]\nlinks: [{a: a, b: s, delay: 1us, count: 1}, {a: s, b: b, delay: 2us}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fabrics := map[string]string{"graph in a file": fmt.Sprintf("graph: {file: %q}", graph)}
	for _, k := range kinds[topologySection] {
		text, ok := scaledFabrics[k.Name]
		if !ok {
			t.Errorf("no fabric of kind %s: add one to scaledFabrics", k.Name)
		}
		if k.Name == "file" {
			text = fmt.Sprintf("%q", topo)
		}
		fabrics[k.Name] = k.Name + ": " + text
	}
	for name, fabric := range fabrics {
		text := "schema: 1\nname: t\ntopology: {" + fabric + "}\nworkload: {transfers: [0 -> 1 1kB]}\n"
		build := func(list []Override) *topologies.Graph {
			set, err := Parse("t.yaml", ".", []byte(text), Options{Override: list, Tables: StandardTables()})
			if err != nil {
				t.Fatalf("%s: %v\n%+v", name, err, list)
			}
			b, err := set.Base.Topology.Build()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return b.Graph
		}
		set, err := Parse("t.yaml", ".", []byte(text), Options{Tables: StandardTables()})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := build(nil)
		for _, by := range []Scaling{{0.25, 1}, {4, 1}, {1, 0.5}, {1, 4}} {
			list, err := set.Base.Topology.Scale(by)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range list {
				list[i].Origin = "scale"
			}
			after := build(list)
			want := slices.Clone(before.Links)
			for i := range want {
				want[i].Rate, want[i].Delay = by.rate(want[i].Rate), by.delay(want[i].Delay)
			}
			if diff := cmp.Diff(want, after.Links); diff != "" {
				t.Errorf("%s %+v: links (-want +got):\n%s", name, by, diff)
			}
			nodes := func(g *topologies.Graph) (list []topologies.Node) {
				for _, n := range g.Nodes {
					n.Pod, n.Index = 0, 0 // a graph that is written out has no pods
					list = append(list, n)
				}
				return list
			}
			if diff := cmp.Diff(nodes(before), nodes(after)); diff != "" {
				t.Errorf("%s %+v: nodes (-want +got):\n%s", name, by, diff)
			}
		}
	}
}

// What a load has of rates and times is scaled; sizes, and times that hosts compute for, stay.
func TestScaleWorkloads(t *testing.T) {
	for _, c := range []struct{ workload, want string }{
		{"transfers: [0 -> 1 1kB, 1 -> 0 1kB at 10us]", "workload.transfers[1].start=2.5us"},
		{"permutation: {size: 1kB}", ""},
		{"traffic: [{name: a, poisson: {size: 1kB, rate: 100Mbps, for: 1ms}}]", "workload.traffic[0].poisson.rate=400Mbps workload.traffic[0].poisson.for=250us"},
		{"traffic: [{name: a, rpc: {clients: [0], servers: [1], size: 1kB, response: 1kB, count: 3, every: 8us, service: 1us}}]", "workload.traffic[0].rpc.every=2us"},
	} {
		text := "schema: 1\nname: t\ntopology: {dumbbell: {left: 1, right: 1, rate: 1Gbps, delay: 1us}}\nworkload: {" + c.workload + "}\n"
		set, err := Parse("t.yaml", ".", []byte(text), Options{Tables: StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range set.Base.Workload.Scale(4, 0.25) {
			got = append(got, o.Path+"="+o.Value)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.workload, got, c.want)
		}
	}
}
