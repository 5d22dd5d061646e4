package sweep

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A variant that a swept parameter does not reach runs once, and has a row at each point.
func TestSameVariant(t *testing.T) {
	const reached = `schema: 1
name: small
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 100kB]}
variants: {base: {}, mine: {hosts.cc: swift}}
seeds: [1, 2]
sweep: {grid: {hosts.cc.base_target: [5us, 10us, 20us]}}
`
	p := plan(t, request(file(t, reached)))
	s, sim := create(t, p), &simulator{}
	sum, table := swept(t, s, sim, 2)
	if sum.Done != 12 || sum.Trials != 12 || len(sum.Points) != 6 {
		t.Errorf("%d of %d trials at %d points and variants", sum.Done, sum.Trials, len(sum.Points))
	}
	ran := map[string]int{}
	for _, t := range sim.ran {
		ran[t.Variant]++
	}
	if ran["base"] != 2 || ran["mine"] != 6 {
		t.Errorf("ran %v, want base with 2 seeds once, and mine at 3 points", ran)
	}
	if got := s.words().Head; !strings.Contains(got, "variant base is the same at all points") || strings.Contains(got, "variant mine") {
		t.Errorf("%q", got)
	}
	// The table is the same, however the sweep is cut.
	var folders []string
	for i := range 3 {
		r := request(file(t, reached))
		r.Shard = Shard{i + 1, 3}
		part := create(t, plan(t, r))
		swept(t, part, &simulator{}, 1)
		folders = append(folders, part.Folder)
	}
	merged, err := Merge(filepath.Join(t.TempDir(), "whole"), folders)
	if err != nil {
		t.Fatal(err)
	}
	defer merged.Close()
	if _, whole := finished(t, merged); !bytes.Equal(whole, table) {
		t.Error("merged shards have another table")
	}
}
