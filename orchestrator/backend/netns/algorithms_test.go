package netns_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
)

// contended is traffic with queues, marks and trims on a fabric with several paths.
const contended = `schema: 1
name: contended
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 120kB, 1 -> 3 120kB, 2 -> 3 60kB, 3 -> 1 60kB, 0 -> 2 40kB at 20us]}
csig: {format: compact}
`

// algorithmOf is a setting of an experiment that chooses an algorithm: where the setting is,
// and the algorithms that it knows.
type algorithmOf struct {
	key   string // such as hosts.cc
	specs []algorithm.Spec
}

// tables are all of them: a new entry of a table is covered, and so is each value of its
// enumerated and boolean parameters. TestRoutingParity has routing, which needs another
// fabric.
var tables = []algorithmOf{
	{"hosts.cc", congestion.Table.Specs()},
	{"hosts.lb", balance.Table.Specs()},
	{"links.aqm", aqm.Table.Specs()},
}

// options are settings of the transport, alone and with the algorithms that they go with.
var options = []string{
	"hosts: {credits: true}",
	"hosts: {credits: true, cc: {name: swift}}",
	"hosts: {cc: {name: dcqcn}, recovery: go_back_n, lb: single}",
	"links: {trim: false, queue: 30kB}",
	"links: {trim: false, queue: 30kB}\nhosts: {recovery: go_back_n, lb: single}",
	"links: {trim: false, queue: 30kB}\nhosts: {cc: rccc}",
	"links: {trim: false, queue: 30kB}\nhosts: {recovery: sleek}",
}

// chosen returns the setting as YAML, which is a mapping in a mapping.
func chosen(key, name string, values algorithm.Values) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{name: %s", name)
	for _, p := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, ", %s: %q", p, values[p])
	}
	b.WriteString("}")
	outer, inner, nested := strings.Cut(key, ".")
	if !nested {
		return outer + ": " + b.String()
	}
	return outer + ": {" + inner + ": " + b.String() + "}"
}

// TestEveryAlgorithm: each algorithm that an experiment can choose leaves the same trace in
// virtual time and with real frames in lockstep, node by node. With CSIGLAB_E2E=1 each
// value of its enumerated and boolean parameters does.
func TestEveryAlgorithm(t *testing.T) {
	checkout.SkipSlowRace(t)
	thorough := os.Getenv("CSIGLAB_E2E") != ""
	for _, table := range tables {
		for _, spec := range table.specs {
			for i, values := range algorithmtest.Choices(spec) {
				if i > 0 && !thorough {
					break
				}
				t.Run(fmt.Sprintf("%s/%s/%v", table.key, spec.Name, values), func(t *testing.T) {
					sameTrace(t, chosen(table.key, spec.Name, values))
				})
			}
		}
	}
	for _, r := range transport.Recovery(0).Names() {
		t.Run("hosts.recovery/"+r, func(t *testing.T) { sameTrace(t, "hosts: {recovery: "+r+"}") })
	}
	for _, o := range options {
		t.Run(o, func(t *testing.T) { sameTrace(t, o) })
	}
}

// sameTrace compares a run with a setting in virtual time and in lockstep.
func sameTrace(t *testing.T, setting string) {
	t.Helper()
	p := backendtest.Compile(t, contended+setting+"\n")
	want := backendtest.Virtual(t, p, nil)
	if !delivered(want) {
		t.Fatalf("%s: the transfers do not complete in virtual time", setting)
	}
	f := newRun(t, p)
	f.Processes = processes(true)
	out, err := run(t, f)
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Same(t, out.Nodes, want)
}

// delivered reports whether every transfer of a run is complete.
func delivered(nodes []backendtest.Result) bool {
	transfers := 0
	for _, n := range nodes {
		for _, r := range n.Receivers {
			if transfers++; r.Done == units.Never {
				return false
			}
		}
	}
	return transfers > 0
}
