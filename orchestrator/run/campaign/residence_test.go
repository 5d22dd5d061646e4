package campaign

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// residences runs two packets that leave two hosts of one leaf at the same instant for
// a host of the other leaf, and returns what their tags say of the only switch that
// writes them, in ns.
func residences(t *testing.T, hop, links string, more ...string) map[string]int64 {
	t.Helper()
	text := fmt.Sprintf(`
schema: 1
name: two-speeds
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}}
links: {%s}
workload: {transfers: [0 -> 2 4086B, 1 -> 2 4086B], start_jitter: 0s}
csig:
  format: wide
  quantisers: {delay: linear(1ns)}
  decode: lower
  ports: [{switch: "*", policy: pass}, {switch: %s, policy: update}]
`, links, hop) + strings.Join(more, "\n")
	set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "run")
	if _, err := Run(context.Background(), set, Options{Out: folder}); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for row, err := range f.Signals() {
		if err != nil || row.Samples != 1 {
			t.Fatalf("%s: %d samples, %v", row.FlowName, row.Samples, err)
		}
		got[row.FlowName] = int64(row.PointMax)
	}
	return got
}

// The residence of two packets on a path of 100, 400 and 100 Gb/s, hop by hop: first
// bit in to first bit out. 4150 B take 332 ns at 100 Gb/s and 83 ns at 400.
func TestResidenceOnAPathOfTwoSpeeds(t *testing.T) {
	for _, c := range []struct {
		hop, links    string
		first, second int64
	}{
		{"tor0", "", 332, 332 + 83},       // in at 100; the second waits until the first has left at 400
		{"agg0", "", 83, 83},              // in and out at 400
		{"tor1", "", 83, 83 + (332 - 83)}, // in at 400; the second comes 83 ns later, and waits while the first leaves at 100
		// With an overhead of 25 B a packet takes 334 and 83.5 ns.
		{"tor0", "overhead: 25B", 334, 334 + 83},
		{"tor1", "overhead: 25B", 83, 334},
	} {
		got := residences(t, c.hop, c.links)
		if got["0-2"] != c.first || got["1-2"] != c.second {
			t.Errorf("%s %s: residence %v ns, want %d and %d", c.hop, c.links, got, c.first, c.second)
		}
	}
}
