package netns_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
)

// routed is traffic with several paths between its hosts, in a Dragonfly with two links
// between each pair of groups.
const routed = `schema: 1
name: routed
topology: {dragonfly: {p: 2, a: 2, h: 2, groups: 3, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 4 60kB, 1 -> 5 60kB, 2 -> 6 60kB, 3 -> 7 60kB, 8 -> 0 40kB, 9 -> 3 40kB]}
csig: {format: compact}
hosts: {cc: {name: nscc, csig: max-delay}}
routing: NAME
`

// TestRoutingParity: each routing policy leaves the same trace with real frames as in
// virtual time, and leads every packet to its host.
func TestRoutingParity(t *testing.T) {
	for _, name := range forward.Table.Names() {
		t.Run(name, func(t *testing.T) {
			p := backendtest.Compile(t, strings.ReplaceAll(routed, "NAME", name))
			want := backendtest.Virtual(t, p, nil)
			f := newRun(t, p)
			f.Processes = processes(true)
			out, err := run(t, f)
			if err != nil {
				t.Fatal(err)
			}
			backendtest.Same(t, out.Nodes, want)
		})
	}
}
