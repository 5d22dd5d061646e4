package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// wrongFabric is a topology that cannot be, and what csiglab says about it. FILE is the
// experiment in want, a file with the text in topology and INPUT in want.
type wrongFabric struct{ topology, text, want string }

const (
	goodGraph = "rate: 1Gbps\ndelay: 1us\nnodes:\n  - {name: s, kind: switch, ports: 4}\n  - {name: a}\n  - {name: b}\nlinks:\n  - {a: a, b: s}\n  - {a: b, b: s}\n"
	goodClab  = "name: x\ntopology:\n  nodes:\n    leaf1: {kind: nokia_srlinux, labels: {csiglab.ports: \"4\"}}\n    a: {kind: linux}\n    b: {kind: linux}\n  links:\n    - {endpoints: [\"a:eth1\", \"leaf1:e1\"], vars: {rate: 1Gbps, delay: 1us}}\n    - {endpoints: [\"b:eth1\", \"leaf1:e2\"], vars: {rate: 1Gbps, delay: 1us}}\n"
	goodBench = "|V|=3\n|E|=4\nServers=set(0,1)\nSwitches=set(2)\n0 2\n2 0\n1 2\n2 1\n"
)

// graphWith, clabWith and benchWith return a fabric from a good file with a change.
func graphWith(old, changed, want string) wrongFabric {
	return wrongFabric{"graph: {file: INPUT}", strings.Replace(goodGraph, old, changed, 1), "INPUT:" + want}
}

func clabWith(old, changed, want string) wrongFabric {
	return wrongFabric{"clab: {file: INPUT}", strings.Replace(goodClab, old, changed, 1), "INPUT:" + want}
}

func benchWith(old, changed, want string) wrongFabric {
	return wrongFabric{"netbench: {file: INPUT, rate: 1Gbps, delay: 1us, ports: 4}", strings.Replace(goodBench, old, changed, 1), "INPUT:" + want}
}

var wrongFabrics = []wrongFabric{
	// 8 ports of a 4-port switch.
	{"dumbbell: {left: 7, right: 2, rate: 1Gbps, delay: 1us, ports: 4}", "", "FILE:4:65: topology.dumbbell.ports: 4 are too few: switch s0 needs 8"},
	{"parking_lot: {hops: 3, pairs: 3, rate: 1Gbps, delay: 1us, ports: 4}", "", "FILE:4:68: topology.parking_lot.ports: 4 are too few: switch s1 needs 8"},
	{"ring: {switches: 4, hosts: 6, rate: 1Gbps, delay: 1us, ports: 4}", "", "FILE:4:65: topology.ring.ports: 4 are too few: switch s0 needs 8"},
	{"rail: {servers: 4, nics: 2, spines: 4, rate: 1Gbps, delay: 1us, ports: 4}", "", "FILE:4:74: topology.rail.ports: 4 are too few: switch g0.rail0 needs 8"},
	{"leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 4, rate: 1Gbps, delay: 1us, ports: 4}", "", "FILE:4:89: topology.leaf_spine.ports: 4 are too few: switch tor0 needs 8"},
	{"leaf_spine: {leaves: 8, spines: 1, hosts_per_leaf: 2, rate: 1Gbps, delay: 1us, ports: 4}", "", "FILE:4:89: topology.leaf_spine.ports: 4 are too few: switch agg0 needs 8"},
	{"fat_tree: {hosts: 8, pod: 8, tiers: [{down: 4, up: 4, rate: 1Gbps, delay: 1us, ports: 4}, {down: 2, rate: 1Gbps, delay: 1us}]}", "", "FILE:4:89: topology.fat_tree.tiers[0].ports: 4 are too few: switch tor0 needs 8"},
	graphWith("  - {a: a, b: s}\n", "  - {a: a, b: s, count: 1}\n  - {a: s, b: t, count: 6}\n", "9:15: topology.graph.links[1].b: no node is called \"t\""),
	graphWith("  - {name: b}\n", "  - {name: b}\n  - {name: t, kind: switch}\n  - {name: u, kind: switch}\n", "7:6: topology.graph.nodes[3]: switch t has no link"),
	{"graph: {file: INPUT}", strings.Replace(goodGraph, "  - {name: b}\n", "  - {name: b}\n  - {name: t, kind: switch}\n", 1) + "  - {a: t, b: s, count: 6}\n", "INPUT:4:36: topology.graph.nodes[0].ports: switch s has 4 ports and 8 links"},
	{"clab: {file: INPUT}", strings.Replace(goodClab, "\"4\"", "\"1\"", 1), "INPUT:4:5: topology.nodes.leaf1: switch leaf1 has 1 ports and 2 links"},
	{"netbench: {file: INPUT, rate: 1Gbps, delay: 1us, servers: 8, ports: 4}", "|V|=2\nServers=set(0,1)\nToRs=set(0,1)\n0 1\n1 0\n", "INPUT:2:9: switch n0 has 4 ports and 9 links"},

	// Too large, refused before memory is taken.
	{"dumbbell: {left: 1000000000, right: 2, rate: 1Gbps, delay: 1us}", "", "FILE:4:20: topology.dumbbell.left: 1000000000 is too large; the most is 4096"},
	{"parking_lot: {hops: 1000000000, rate: 1Gbps, delay: 1us}", "", "FILE:4:23: topology.parking_lot.hops: 1000000000 is too large; the most is 4096"},
	{"parking_lot: {hops: 4096, pairs: 4096, rate: 1Gbps, delay: 1us}", "", "FILE:4:17: topology.parking_lot: too large: 33554434 hosts, 4097 switches and 33558530 links would take an estimated "},
	{"ring: {switches: 3, hosts: 1000000000, rate: 1Gbps, delay: 1us}", "", "FILE:4:30: topology.ring.hosts: 1000000000 is too large; the most is 4096"},
	{"rail: {servers: 1000000000, nics: 1, rate: 1Gbps, delay: 1us}", "", "FILE:4:19: topology.rail.servers: 1000000000 is too large; the most is 4096"},
	{"rail: {servers: 4096, nics: 4096, spines: 1, rate: 1Gbps, delay: 1us}", "", "FILE:4:10: topology.rail: rail: 16777216 NICs in all, the limit is 1048576"},
	{"k_ary: {k: 1000000000, rate: 1Gbps, delay: 1us}", "", "FILE:4:14: topology.k_ary.k: 1000000000 is too large; the most is 160"},
	{"leaf_spine: {leaves: 1000000000, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}", "", "FILE:4:24: topology.leaf_spine.leaves: 1000000000 is too large; the most is 4096"},
	{"fat_tree: {hosts: 1000000000, pod: 8, tiers: []}", "", "FILE:4:21: topology.fat_tree.hosts: 1000000000 is too large; the most is 1048576"},
	{"dragonfly: {p: 1000000000, a: 2, h: 1, rate: 1Gbps, delay: 1us}", "", "FILE:4:18: topology.dragonfly.p: 1000000000 is too large; the most is 4096"},
	graphWith("{a: a, b: s}", "{a: a, b: s, count: 1000000000}", "8:25: topology.graph.links[0].count: 1000000000 is too large; the most is 4096"),
	benchWith("|V|=3", "|V|=1000000000", "1:5: |V| is 1000000000, want 1 to 131072"),
	{"netbench: {servers: 1000000000, rate: 1Gbps, delay: 1us, file: INPUT}", goodBench, "FILE:4:23: topology.netbench.servers: 1000000000 is too large; the most is 4096"},
	{"file: INPUT", "Nodes 1000000000\nTiers 2\nPodsize 8\n", "INPUT:1:7: Nodes is 1000000000, want 2 to 1048576"},

	// Unknown kinds and keys.
	{"dumbell: {left: 2, right: 2, rate: 1Gbps, delay: 1us}", "", `FILE:4:3: topology.dumbell: unknown key "dumbell" (did you mean "dumbbell"?)`},
	{"ring: {switches: 4, rate: 1Gbps, delay: 1us, routes: clockwize}", "", `FILE:4:56: topology.ring.routes: unknown value "clockwize"; known: shortest clockwise (did you mean "clockwise"?)`},
	{"parking_lot: {hop: 4, rate: 1Gbps, delay: 1us}", "", `FILE:4:17: topology.parking_lot.hop: unknown key "hop" (did you mean "hops"?)`},
	{"rail: {servers: 4, nics: 2, spine: 4, rate: 1Gbps, delay: 1us}", "", `FILE:4:31: topology.rail.spine: unknown key "spine" (did you mean "spines"?)`},
	graphWith("kind: switch", "kind: swich", `4:21: topology.graph.nodes[0].kind: unknown value "swich"; known: host switch (did you mean "switch"?)`),
	graphWith("kind: switch", "knd: switch", `4:15: topology.graph.nodes[0].knd: unknown key "knd" (did you mean "kind"?)`),
	graphWith("links:", "link:", `7:1: topology.graph.link: unknown key "link" (did you mean "links"?)`),
	graphWith("b: s}", "b: S}", `8:15: topology.graph.links[0].b: no node is called "S" (did you mean "s"?)`),
	clabWith("nokia_srlinux", "nokia_srlnux", `4:19: topology.nodes.leaf1.kind: unknown kind "nokia_srlnux" (did you mean "nokia_srlinux"?)`),
	clabWith("a: {kind: linux}", "a: {kid: linux}", `5:9: topology.nodes.a.kid: unknown key "kid" (did you mean "kind"?)`),
	clabWith("  nodes:", "  node:", `3:3: topology.node: unknown key "node" (did you mean "nodes"?)`),
	clabWith("csiglab.ports: \"4\"", "csiglab.role: swich", `4:57: topology.nodes.leaf1.labels.csiglab.role: unknown role "swich"; known: host switch none (did you mean "switch"?)`),
	clabWith("leaf1:e1", "leaf2:e1", `8:30: topology.links[0].endpoints[1]: no node is called "leaf2" (did you mean "leaf1"?)`),
	clabWith("rate: 1Gbps", "rat: 1Gbps", `8:50: topology.links[0].vars.rat: unknown variable "rat" (did you mean "rate"?)`),
	clabWith("rate: 1Gbps, ", "", `8:8: topology.links[0]: the link has no rate; write vars: {rate: 100Gbps}, or topology.clab.rate for all links`),
	clabWith("rate: 1Gbps", "rate: 1gbit", `8:56: topology.links[0].vars.rate: rate "1gbit": unknown unit "gbit"`),
	clabWith("name: x", "name: {{ .x }}", `1:7: a template; write the file that containerlab makes of it with containerlab deploy --export-rendered`),
	benchWith("Servers=", "Server=", `3:1: unknown key "Server" (did you mean "Servers"?)`),
	{"file: x.clab.yml", "", `FILE:4:9: topology.file: file `},

	// Fabrics in parts, hosts without a link, links that cannot be.
	{"graph: {file: INPUT}", strings.Replace(goodGraph, "  - {name: b}\n", "  - {name: b}\n  - {name: t, kind: switch}\n", 1)[:len(goodGraph)+len("  - {name: t, kind: switch}\n")-len("  - {a: b, b: s}\n")] + "  - {a: b, b: t}\n", "INPUT:6:6: topology.graph.nodes[2]: the fabric is not connected: no way leads from s to b, t"},
	graphWith("  - {a: b, b: s}\n", "", "6:6: topology.graph.nodes[2]: host b has no link"),
	graphWith("{a: b, b: s}", "{a: b, b: b}", "9:6: topology.graph.links[1]: joins b to itself"),
	graphWith("{a: b, b: s}", "{a: s, b: a}", "9:6: topology.graph.links[1]: links[0] joins s and a already; parallel links are one entry with a count"),
	graphWith("{a: a, b: s}", "{a: a, b: s, count: 2}", "8:6: topology.graph.links[0]: the second link of host a; a host has one link, so that a server with several NICs is a host for each"),
	graphWith("rate: 1Gbps\n", "", "7:6: topology.graph.links[0].rate: the link has no rate; give it one, or all links one with topology.graph.rate"),
	clabWith("b:eth1", "leaf1:e3", "9:8: topology.links: joins leaf1 to itself"),
	clabWith("leaf1:e2", "leaf1:e1", "9:30: topology.links[1].endpoints[1]: interface e1 of leaf1 is that of links[0] already"),
	benchWith("1 2\n2 1\n", "1 1\n1 1\n", "7:1: joins node 1 to itself"),
	benchWith("|E|=4\n", "|E|=2\n", "2:5: |E| is 2, and there are 4 edges; each direction counts"),
	{"rail: {servers: 4, nics: 2, group: 2, rate: 1Gbps, delay: 1us}", "", "FILE:4:10: topology.rail: rail: without spines nothing joins the 2 groups"},
	{"rail: {servers: 5, nics: 2, group: 2, spines: 1, rate: 1Gbps, delay: 1us}", "", "FILE:4:10: topology.rail: rail: 5 servers are not whole groups of 2"},
	{"graph: {nodes: [{name: a}]}", "", "FILE:4:11: topology.graph: want nodes and links, or a file that has them"},
	{"parking_lot: {hops: 100, rate: 1Gbps, delay: 1us}", "", "FILE:4:3: topology: a path has 101 switches; packets cross at most 63, as the TTL of IP ends"},
}

// validated returns the exit code of validate and what it writes to standard error.
func validated(t *testing.T, file string) (code int, stderr string) {
	t.Helper()
	var errs bytes.Buffer
	code = execute(t.Context(), command.Linked{}, newWork(command.Linked{}), []string{"validate", file}, nil, io.Discard, &errs)
	return code, errs.String()
}

// Issue 12, item 9: fabrics that cannot be end validate with exit 2, a place and words,
// soon and without their memory.
func TestWrongFabrics(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range wrongFabrics {
		dir := t.TempDir()
		input := filepath.Join(dir, "input.txt")
		if err := os.WriteFile(input, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		file := write(t, "x.yaml", "schema: 1\nname: x\ntopology:\n  "+strings.ReplaceAll(c.topology, "INPUT", input)+"\nworkload: {transfers: [0 -> 1 1kB]}\n")
		before := time.Now()
		code, stderr := validated(t, file)
		want := strings.NewReplacer("FILE", file, "INPUT", input).Replace(c.want)
		if code != command.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s:\ngot  %d %s\nwant %d %s", c.topology, code, stderr, command.ExitUsage, want)
		}
		if took := time.Since(before); took > 5*time.Second {
			t.Errorf("%s: took %v", c.topology, took)
		}
	}
	for _, good := range []wrongFabric{graphWith("", "", ""), clabWith("", "", ""), benchWith("", "", "")} {
		input := filepath.Join(t.TempDir(), "input.txt")
		if err := os.WriteFile(input, []byte(good.text), 0o600); err != nil {
			t.Fatal(err)
		}
		file := write(t, "x.yaml", "schema: 1\nname: x\ntopology:\n  "+strings.ReplaceAll(good.topology, "INPUT", input)+"\nworkload: {transfers: [0 -> 1 1kB]}\n")
		if code, stderr := validated(t, file); code != 0 {
			t.Errorf("%s: %d %s", good.topology, code, stderr)
		}
	}
}
