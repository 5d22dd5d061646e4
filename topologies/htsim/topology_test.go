package htsim_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/topologies/htsim"
)

// fixtures is where public input files lie beside a checkout.
const fixtures = "../shared/fixtures"

// fixture opens a public file in place and skips the test where it is absent.
func fixture(t *testing.T, name string) *os.File {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.Open(filepath.Join(dir, fixtures, name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("public file %s is not beside this checkout", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func counts(hosts, pods, tors, aggs, cores, torAgg, aggCore int) topologies.Counts {
	return topologies.Counts{
		Hosts: hosts, Pods: pods, ToRs: tors, Aggs: aggs, Cores: cores,
		Links: topologies.LinkCounts{Host: hosts, TorAgg: torAgg, AggCore: aggCore},
	}
}

func TestPublicFiles(t *testing.T) {
	const dir = "ultraethernet+uet-htsim/htsim/sim/datacenter/topologies/"
	for name, want := range map[string]topologies.Counts{
		dir + "fat_tree_1024.topo":                               counts(1024, 16, 128, 128, 64, 1024, 1024),
		dir + "fat_tree_128_1os.topo":                            counts(128, 8, 32, 32, 16, 128, 128),
		dir + "fat_tree_128_4os.topo":                            counts(128, 8, 32, 32, 4, 128, 32),
		dir + "leaf_spine_1024.topo":                             counts(1024, 1, 32, 32, 0, 1024, 0),
		dir + "leaf_spine_8192_800g_4_to_1.topo":                 counts(8192, 1, 128, 16, 0, 2048, 0),
		dir + "leaf_spine_tiny.topo":                             counts(32, 1, 4, 2, 0, 8, 0),
		dir + "test.topo":                                        counts(8, 2, 4, 4, 4, 8, 16),
		"scenarios/three-flow.topo":                              counts(16, 4, 8, 4, 1, 8, 4),
		"scenarios/fat-tree-16.topo":                             counts(16, 4, 8, 8, 4, 16, 16),
		"scenarios/collective.topo":                              counts(32, 1, 4, 2, 0, 8, 0),
		"astra-sim+astra-sim/examples/network/htsim/8nodes.topo": counts(8, 2, 4, 4, 4, 8, 16),
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := htsim.ReadTopology(name, fixture(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimSuffix(filepath.Base(name), ".topo"); f.Name != want {
				t.Errorf("name %q, want %q", f.Name, want)
			}
			g, err := f.Build()
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Validate(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.Counts(), want); diff != "" {
				t.Errorf("counts (got -, want +):\n%s", diff)
			}
			var text bytes.Buffer
			if err := htsim.WriteTopology(&text, f); err != nil {
				t.Fatal(err)
			}
			again, err := htsim.ReadTopology(name, &text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(again, f); diff != "" {
				t.Errorf("written and read again (got -, want +):\n%s", diff)
			}
		})
	}
}
