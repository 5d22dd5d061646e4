package experiment

import (
	"strings"
	"testing"
)

// What has no tunnels is refused.
func TestTunnels(t *testing.T) {
	const text = `
schema: 1
name: x
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}}
tunnels: {}
`
	for _, c := range []struct{ rest, want string }{
		{"workload: {transfers: [0 -> 1 1MB]}", ""},
		{"workload: {transfers: [0 -> 1 1MB]}\nfidelity: flow", "5:10: tunnels: runs without packets have no tunnels; leave tunnels or fidelity out"},
		{"runtime: netns\nclock: wall\ngenerators: [{host: 0, to: 1, count: 1}]\nnodes: [{name: agg0, forwards: bridge}]", "tunnels: foreign nodes are not in csiglab's tunnels; leave tunnels or nodes out"},
		{"runtime: netns\nclock: wall\ngenerators: [{host: 0, to: 1, count: 1}]\nlinks: {aqm: step}\nwall: {datapath: ebpf}", "tunnels: switches in the kernel know no tunnels; leave tunnels or wall.datapath out"},
		{"workload: {transfers: [0 -> 1 1MB]}\nvariants: {a: {tunnels: {tags: both}}}", `unknown value "both"; known: outer inner`},
	} {
		_, err := Parse("x.yaml", "", []byte(text+c.rest+"\n"), Options{Tables: StandardTables()})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.rest, err, c.want)
		}
	}
}
