package campaign

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/check"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// fatTree16 is a fat tree of 16 hosts without oversubscription, the shape of
// the reference simulator's small scenarios.
const fatTree16 = `
schema: 1
name: t
topology:
  fat_tree:
    hosts: 16
    pod: 4
    tiers:
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 4, rate: 100Gbps, delay: 1us}
`

// load returns an embedded experiment with changes such as csig.format=wide.
func load(t *testing.T, name string, sets ...string) *experiment.Set {
	t.Helper()
	opts := experiment.Options{Tables: experiment.StandardTables()}
	for _, text := range sets {
		o, err := experiment.ParseSet("--set", text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Override = append(opts.Override, o)
	}
	set, err := experiment.Load(name, opts)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func parseText(t testing.TB, text string) *experiment.Set {
	t.Helper()
	set, err := experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// runVirtual runs an experiment and checks what every run must hold. The run has one goroutine, in
// which the race detector finds nothing.
func runVirtual(t testing.TB, e *experiment.Experiment, seed uint64) (map[string]float64, *ran) {
	t.Helper()
	checkout.SkipSlowRace(t)
	p, err := plan.Compile(e, seed)
	if err != nil {
		t.Fatal(err)
	}
	r := new(ran)
	records := measure.NewRecords(p, &r.kept)
	if r.Outcome, err = packets.Virtual(t.Context(), &backend.Run{Plan: p}, nil, records, nil); err != nil {
		t.Fatal(err)
	}
	r.Nodes = records.Nodes()
	for _, c := range []runfolder.Check{check.Conservation(p, r.Outcome, r.Nodes), check.Completion(p, r.Outcome, r.Nodes)} {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	m := measure.Metrics(p, r.Outcome, records)
	checkNames(t, p, m)
	return m, r
}

// ran is what a run in virtual time left.
type ran struct {
	*backend.Outcome
	Nodes []metrics.NodeTotals
	kept  records
}

// records keeps those of all nodes.
type records struct{ metrics.Batch }

func (r *records) Consume(b *metrics.Batch) { b.Each(r) }
func (r *records) Err() error               { return nil }

// The reference simulator's own results (docs/reference/references.md#reference-results).
// Deterministic ones are exact if store-and-forward, headers and ACK rules are;
// ours agree to the last digit that it prints.
var references = []struct {
	name     string
	workload string
	metric   string
	want     float64
	within   float64 // relative
}{
	{"10 packets", "{transfers: [0 -> 13 40860B]}", "fct_us.max", 17.0107, 1e-5},
	{"100 packets", "{transfers: [0 -> 13 408600B]}", "fct_us.max", 46.8907, 1e-5},
	{"one", "{transfers: [0 -> 13 2MB]}", "fct_us.0-13", 176.19952, 1e-9},
	{"one, receiver", "{transfers: [0 -> 13 2MB]}", "fct_rx_us.0-13", 170.17, 1e-4},
	{"one, packets", "{transfers: [0 -> 13 2MB]}", "packets.new", 490, 0},
	{"one, acks", "{transfers: [0 -> 13 2MB]}", "packets.acks", 124, 0},
	{"bidir", "{transfers: [0 -> 13 2MB, 13 -> 0 2MB]}", "fct_us.max", 176.804, 1e-5},
	{"bidir, both", "{transfers: [0 -> 13 2MB, 13 -> 0 2MB]}", "fct_us.min", 176.804, 1e-5},
	// 15 flows of 2,000,000 B in 490 packets of 64 B header: 30.47 MB on one
	// 100 Gb/s link.
	{"incast, fluid bound", "{incast: {dst: 15, fan_in: 15, size: 2MB}}", "fct_us.max", 2437.6, 0.05},
	{"incast, reference", "{incast: {dst: 15, fan_in: 15, size: 2MB}}", "fct_us.max", 2478.53, 0.03},
	{"incast, packets", "{incast: {dst: 15, fan_in: 15, size: 2MB}}", "packets.new", 7350, 0},
}

func TestReferenceFigures(t *testing.T) {
	for _, r := range references {
		t.Run(r.name, func(t *testing.T) {
			text := fatTree16 + "workload: " + strings.TrimSuffix(r.workload, "}") + ", start_jitter: 0s}\n"
			m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
			if got := m[r.metric]; math.Abs(got-r.want) > r.within*r.want {
				t.Errorf("%s = %v, want %v within %v", r.metric, got, r.want, r.within)
			}
		})
	}
}

func htsimFile(t testing.TB, kind, name string) string {
	return checkout.Shared(t, filepath.Join("fixtures/ultraethernet+uet-htsim/htsim/sim/datacenter", kind, name))
}

// fatTree32 is a 1:1 fat tree for perm_32n, which fat-tree-16.topo is too small
// for: a matrix for another number of hosts is refused.
const fatTree32 = `topology:
  fat_tree:
    hosts: 32
    pod: 8
    tiers:
      - {down: 4, up: 4, rate: 100Gbps, delay: 1us}
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 4, rate: 100Gbps, delay: 1us}
`

// TestFixtures runs the reference's own connection matrices.
func TestFixtures(t *testing.T) {
	small := func(t *testing.T) string {
		return topologyFile(checkout.Shared(t, "fixtures/scenarios/fat-tree-16.topo"))
	}
	large := func(t *testing.T) string { return topologyFile(htsimFile(t, "topologies", "fat_tree_128_1os.topo")) }
	for _, f := range []struct {
		matrix       string
		topology     func(*testing.T) string
		metric       string
		want, within float64
		nothingLost  bool
	}{
		{"one.cm", small, "fct_us.max", 176.2, 0.005, true},
		{"bidir.cm", small, "fct_us.max", 176.8, 0.005, true},
		{"incast.cm", small, "fct_us.max", 2437.6, 0.05, false},
		{"perm_16n_16c_2MB.cm", small, "packets.new", 7840, 0, true},
		{"perm_32n_32c_2MB.cm", func(*testing.T) string { return fatTree32 }, "packets.new", 15680, 0, true},
		{"alltoall_serial_16n.cm", small, "packets.new", 240 * 490, 0, false},
		{"outcast_incast.cm", large, "flows.incomplete", 0, 0, false},
		{"incast_3-1_overlapped.tm", large, "packets.new", 614, 0, false},
	} {
		t.Run(f.matrix, func(t *testing.T) {
			text := fmt.Sprintf("schema: 1\nname: t\n%sworkload: {file: %q}\n", f.topology(t), htsimFile(t, "connection_matrices", f.matrix))
			m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
			t.Logf("fct max %.3f us, retransmitted %v, trims %v", m["fct_us.max"], m["packets.retransmitted"], m["trims"])
			if got := m[f.metric]; math.Abs(got-f.want) > f.within*f.want {
				t.Errorf("%s = %v, want %v within %v", f.metric, got, f.want, f.within)
			}
			if f.nothingLost && m["packets.retransmitted"]+m["drops"]+m["packets.timeouts"] != 0 {
				t.Errorf("retransmitted %v, dropped %v, timeouts %v, want none", m["packets.retransmitted"], m["drops"], m["packets.timeouts"])
			}
		})
	}
}

func topologyFile(path string) string { return fmt.Sprintf("topology: {file: %q}\n", path) }

func TestRefusedMatrices(t *testing.T) {
	small := topologyFile(checkout.Shared(t, "fixtures/scenarios/fat-tree-16.topo"))
	for _, f := range []struct {
		matrix string
		want   []string
	}{
		{"a2a.cm", []string{"a2a.cm:2:13", "3600", "240"}},
		{"perm_32n_32c_2MB.cm", []string{"32 hosts", "16"}},
	} {
		text := fmt.Sprintf("schema: 1\nname: t\n%sworkload: {file: %q}\n", small, htsimFile(t, "connection_matrices", f.matrix))
		_, err := plan.Compile(parseText(t, text).Variants[0].Experiment, 1)
		if !errors.Is(err, failure.ErrConfiguration) {
			t.Errorf("%s: error %v, want a configuration error", f.matrix, err)
			continue
		}
		for _, fragment := range f.want {
			if !strings.Contains(err.Error(), fragment) {
				t.Errorf("%s: error %q does not name %q", f.matrix, err, fragment)
			}
		}
	}
}

// A permutation over several paths completes, and where every host sends and
// receives once at line rate, nothing has to be retransmitted twice over.
func TestPermutation(t *testing.T) {
	text := fatTree16 + "workload: {permutation: {size: 2MB, seed: 3}, start_jitter: 0s}\nhosts: {lb: {name: mixed, paths: 128}}\n"
	m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
	if m["flows.incomplete"] != 0 || m["packets.new"] != 16*490 {
		t.Errorf("incomplete %v, packets %v; want 0 and %d", m["flows.incomplete"], m["packets.new"], 16*490)
	}
	// 176.2 us for the longest path alone, 194.0 us in the reference.
	if got := m["fct_us.max"]; got < 168 || got > 240 {
		t.Errorf("tail FCT %v us, want between 168 and 240", got)
	}
}
