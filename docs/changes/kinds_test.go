// Package changes_test makes the changes whose cost docs/architecture.md states, from
// outside of the packages concerned: a change that needed more files than these would
// not compile or would fail here. costs_test.go lists all kinds of changes, with their
// files and the tests that make them.
//
// A kind of topology is two files: its entry, here ring_topology_test.go, and its
// generator in package topologies. A kind of workload is two files as well: its entry,
// here ring_workload_test.go, and its generator in package workloads. Both generators
// are in ring_test.go. A scalar metric is one entry, in metric_test.go. A backend is
// its package, testdata/memory, and one line with its import, in backend_test.go.
package changes_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/units"
)

const ring = `schema: 1
name: ring
topology:
  loop: {switches: 5, hosts: 2, cables: [{after: 1, delay: 3us}, {after: 2}]}
workload:
  neighbours: {size: 64kB, reach: 3}
variants:
  near: {}
  far: {workload.neighbours.reach: 4, topology.loop.cables.1.delay: 9us}
  tree: {topology.k_ary: {k: 4, rate: 100Gbps, delay: 1us}, workload.incast: {fan_in: 2, size: 1kB}}
`

func options(t *testing.T, env []string, sets ...string) experiment.Options {
	t.Helper()
	opts := experiment.Options{Tables: experiment.StandardTables(), Env: env}
	for _, text := range sets {
		o, err := experiment.ParseSet("--set", text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Override = append(opts.Override, o)
	}
	return opts
}

func TestKindsAreReadAndWritten(t *testing.T) {
	set, err := experiment.Parse("ring.yaml", "", []byte(ring), options(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := Ring{Switches: 5, Hosts: 2, Rate: 100 * units.Gbps, Delay: units.Microsecond, Cables: []Cable{{1, 3 * units.Microsecond}, {2, 0}}}
	if diff := cmp.Diff(set.Base.Topology.Spec, experiment.TopologySpec(want)); diff != "" {
		t.Errorf("topology, got - want +:\n%s", diff)
	}
	if got, want := set.Variants[1].Experiment.Workload.Spec, (Neighbours{64 * units.KB, 4}); got != want {
		t.Errorf("workload of far: got %+v, want %+v", got, want)
	}
	if _, ok := set.Variants[2].Experiment.Topology.Spec.(experiment.KAry); !ok {
		t.Errorf("topology of tree: got %+v", set.Variants[2].Experiment.Topology.Spec)
	}
	text, err := set.Base.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := experiment.Parse("ring.yaml", "", text, options(t, nil))
	if err != nil {
		t.Fatalf("%v\nof:\n%s", err, text)
	}
	if diff := cmp.Diff(again, set, cmpopts.IgnoreUnexported(experiment.Resolved{})); diff != "" {
		t.Errorf("reread - original +:\n%s", diff)
	}
}

// A variable and an option reach a key of a kind, and choose it.
func TestKindsAreOverridden(t *testing.T) {
	one, _, _ := strings.Cut(ring, "variants:")
	set, err := experiment.Parse("ring.yaml", "", []byte(one), options(t, []string{"CSIGLAB_TOPOLOGY_LOOP_RATE=200Gbps"}, "workload.neighbours.reach=2"))
	if err != nil {
		t.Fatal(err)
	}
	r, n := set.Base.Topology.Spec.(Ring), set.Base.Workload.Spec.(Neighbours)
	if r.Rate != 200*units.Gbps || n.Reach != 2 {
		t.Errorf("got %+v and %+v, want 200Gbps and 2", r, n)
	}
	set, err = experiment.Load("one", options(t, nil, "topology.loop={switches: 16}", "workload.neighbours.size=1kB"))
	if err != nil {
		t.Fatal(err)
	}
	if r := set.Base.Topology.Spec.(Ring); r.Switches != 16 || r.Hosts != 1 || r.Rate != 100*units.Gbps {
		t.Errorf("got %+v, want 16 switches and defaults", r)
	}
}

func TestKindsAreChecked(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"switches: 5", "switches: 2", `ring.yaml:4:20: topology.loop.switches: 2 is too small; the least is 3`},
		{"switches: 5, ", "", `ring.yaml:4:10: topology.loop: the key "switches" is missing`},
		{"hosts: 2", "host: 2", `ring.yaml:4:23: topology.loop.host: unknown key "host" (did you mean "hosts"?)`},
		{"after: 1, delay: 3us", "after: 7, delay: 3", `ring.yaml:4:60: topology.loop.cables[0].delay: duration "3": a unit is missing`},
		{"after: 1,", "after: 7,", `ring.yaml:4:50: topology.loop.cables[0].after: no switch 7; they go from 0 to 4`},
		{"  loop:", "  loops:", `ring.yaml:4:3: topology.loops: unknown key "loops" (did you mean "loop"?)`},
		{"reach: 3", "reach: 0", `ring.yaml:6:35: workload.neighbours.reach: 0 is too small; the least is 1`},
		{"switches: 5, hosts: 2", "switches: 3, hosts: 1", `ring.yaml:6:35: workload.neighbours.reach: 3 is too far among 3 hosts`},
		{"  neighbours:", "  incast: {fan_in: 1, size: 1B}\n  neighbours:", `ring.yaml:7:16: workload.neighbours: excludes workload.incast; give one of them`},
		{"  loop: {switches: 5, hosts: 2, cables: [{after: 1, delay: 3us}, {after: 2}]}", "  {}", `topology: one of these keys is missing: file, fat_tree, k_ary, leaf_spine, dragonfly, `},
	} {
		text := strings.Replace(ring, c.old, c.new, 1)
		_, err := experiment.Parse("ring.yaml", "", []byte(text), options(t, nil))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.new, err, c.want)
		}
	}
}

func TestKindsAreListed(t *testing.T) {
	var got []string
	for _, s := range experiment.Catalogue(experiment.StandardTables()) {
		for _, e := range s.Entries {
			got = append(got, s.Name+"."+e.Name)
			for _, k := range e.Keys {
				got = append(got, s.Name+"."+e.Name+"."+k.Path+" "+k.Type+" "+k.Range)
			}
		}
	}
	for _, want := range []string{"topologies.loop", "topologies.loop.rate rate 1Gbps to 1Tbps", "workloads.neighbours", "workloads.neighbours.reach number 1 to 8"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not listed:\n%s", want, strings.Join(got, "\n"))
		}
	}
}

func TestKindsRun(t *testing.T) {
	set, err := experiment.Parse("ring.yaml", "", []byte(ring), options(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	result, err := campaign.Run(context.Background(), set, campaign.Options{Out: filepath.Join(t.TempDir(), "run")})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Summary.Valid {
		t.Errorf("not valid: %q", result.Summary.Reasons)
	}
	if !slices.Contains(result.Notes, "variants near, far: neighbours are next by number") {
		t.Errorf("notes %q do not have the workload's", result.Notes)
	}
	// A message of 64 kB takes 16 packets.
	for name, packets := range map[string]float64{"near": 16 * 30, "far": 16 * 40, "tree": 2} {
		m := result.Summary.Variants[name].Metrics
		if m["flows.incomplete"] != 0 || m["packets.new"] != packets {
			t.Errorf("%s: %v packets, %v flows incomplete; want %v and 0", name, m["packets.new"], m["flows.incomplete"], packets)
		}
	}
}
