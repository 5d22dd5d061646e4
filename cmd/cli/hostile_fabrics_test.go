package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// fabricInput is an experiment whose topology comes from a file with a text. FILE stands
// for the file.
func fabricInput(name, topology, text string, valid ...bool) hostile {
	return hostile{name: name, valid: len(valid) > 0, place: func(t *testing.T, path string) string {
		t.Helper()
		if err := os.WriteFile(path+".fabric", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		topology := strings.Replace(topology, "FILE", path+".fabric", 1)
		return content(hostileHead+"topology: {"+topology+"}\nworkload: {transfers: [0 -> 1 1kB]}\n")(t, path)
	}}
}

// bench is a NetBench file: hosts 0 to hosts-1, then switches, and links in both directions.
func bench(hosts, switches int, links [][2]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "|V|=%d\nServers=incl_range(0,%d)\nSwitches=incl_range(%d,%d)\n", hosts+switches, hosts-1, hosts, hosts+switches-1)
	for _, l := range links {
		fmt.Fprintf(&b, "%d %d\n%d %d\n", l[0], l[1], l[1], l[0])
	}
	return b.String()
}

// star, chain and mesh are links among hosts and switches as bench numbers them.
func star(hosts int) (links [][2]int) {
	for h := range hosts {
		links = append(links, [2]int{h, hosts})
	}
	return links
}

func chain(switches int) (links [][2]int) {
	links = [][2]int{{0, 2}, {1, 1 + switches}}
	for s := range switches - 1 {
		links = append(links, [2]int{2 + s, 3 + s})
	}
	return links
}

func mesh(switches int) (links [][2]int) {
	for s := range switches {
		links = append(links, [2]int{s, switches + s})
		for other := range s {
			links = append(links, [2]int{switches + other, switches + s})
		}
	}
	return links
}

func fabricInputs() []hostile {
	const (
		netbench = "netbench: {file: FILE, rate: 1Gbps, delay: 1us}"
		graph    = "graph: {file: FILE}"
		clab     = "clab: {file: FILE, rate: 1Gbps, delay: 1us}"
	)
	dangling := append(chain(2), chain(40_000)[2:]...) // switches without hosts
	graphOf := func(hosts int) string {
		return "rate: 1Gbps\ndelay: 1us\nnodes:\n  - {name: s, kind: switch}\n" + repeated(hosts, func(i int) string { return fmt.Sprintf("  - {name: h%d}\n", i) }) +
			"links:\n" + repeated(hosts, func(i int) string { return fmt.Sprintf("  - {a: h%d, b: s}\n", i) })
	}
	clabOf := func(hosts int) string {
		return "name: x\ntopology:\n  nodes:\n    s: {kind: bridge}\n" + repeated(hosts, func(i int) string { return fmt.Sprintf("    h%d: {kind: linux}\n", i) }) +
			"  links:\n" + repeated(hosts, func(i int) string { return fmt.Sprintf("    - endpoints: [\"h%d:eth1\", \"s:e%d\"]\n", i, i) })
	}
	return []hostile{
		fabricInput("star of 4096 hosts", netbench, bench(4096, 1, star(4096)), true),
		fabricInput("star of 40,000 hosts", netbench, bench(40_000, 1, star(40_000))),
		fabricInput("star with too many ports", netbench, bench(70_000, 1, star(66_000))),
		fabricInput("chain of 63 switches", netbench, bench(2, 63, chain(63)), true),
		fabricInput("chain of 100 switches", netbench, bench(2, 100, chain(100))),
		fabricInput("chain of 30,000 switches", netbench, bench(2, 30_000, chain(30_000))),
		fabricInput("long dead end", netbench, bench(2, 40_000, dangling)),
		fabricInput("mesh of 150 switches", netbench, bench(150, 150, mesh(150)), true),
		fabricInput("many servers in ToRs", "netbench: {file: FILE, rate: 1Gbps, delay: 1us, servers: 4095}", "|V|=2\nServers=set(0,1)\nToRs=set(0,1)\n0 1\n1 0\n", true),
		fabricInput("no ToRs with servers", "netbench: {file: FILE, rate: 1Gbps, delay: 1us, servers: 4096}", bench(400, 1, star(400))+"\n", true),
		fabricInput("too many servers of ToRs", "netbench: {file: FILE, rate: 1Gbps, delay: 1us, servers: 4096}",
			strings.Replace(bench(400, 1, star(400)), "Servers", "ToRs=incl_range(0,399)\nServers", 1)),
		fabricInput("10^9 nodes", netbench, "|V|=1000000000\nServers=incl_range(0,999999999)\n0 1\n"),
		fabricInput("a node 20 digits long", netbench, "|V|=4\nServers=incl_range(0,99999999999999999999)\n0 1\n"),
		fabricInput("a long set", netbench, "|V|=9\nServers=set(0"+strings.Repeat(",1", 30_000)+")\n0 1\n"),
		fabricInput("a link many times", netbench, bench(2, 2, append(chain(2), chain(2)...))+strings.Repeat("2 3\n3 2\n", 60_000)),
		fabricInput("graph of 4000 hosts", graph, graphOf(4000), true),
		fabricInput("graph of 20,000 hosts", graph, graphOf(20_000)),
		fabricInput("graph with one name", graph, "rate: 1Gbps\ndelay: 1us\nnodes: ["+strings.Repeat("{name: a},", 20_000)+"]\nlinks: [{a: a, b: a}]\n"),
		fabricInput("graph with unknown names", graph, "rate: 1Gbps\ndelay: 1us\nnodes: [{name: a}]\nlinks: ["+strings.Repeat("{a: b, b: c},", 10_000)+"]\n"),
		fabricInput("graph with many unknown keys", graph, "nodes: ["+strings.Repeat("{nam: a},", 20_000)+"]\nlinks: []\n"),
		fabricInput("graph nested deeply", graph, "nodes: "+strings.Repeat("[", 50_000)),
		fabricInput("containerlab file of 900 nodes", clab, clabOf(900), true),
		fabricInput("containerlab file of 5000 nodes", clab, clabOf(5000)),
		fabricInput("containerlab file with unknown nodes", clab, "name: x\ntopology:\n  nodes: {a: {kind: linux}}\n  links:\n"+strings.Repeat("    - endpoints: [\"b:c\", \"d:e\"]\n", 15_000)),
		fabricInput("containerlab file with unknown kinds", clab, "name: x\ntopology:\n  nodes:\n"+repeated(900, func(i int) string { return fmt.Sprintf("    n%d: {kind: kind%d}\n", i, i) })+"  links: []\n"),
		fabricInput("containerlab file of another form", clab, "- a\n- b\n"),
	}
}
