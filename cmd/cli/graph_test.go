package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/google/go-cmp/cmp"
)

func TestGraph(t *testing.T) {
	file := write(t, "four.topo", topo)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"graph", "three-flow"}, []string{"<svg ", ">three-flow</text>", "16 hosts, 13 switches, 28 links", "</svg>"}},
		{[]string{"graph", "three-flow", "--variant", "csig", "--format", "mermaid"}, []string{"%% three-flow: 16 hosts", "  core0 --- agg0\n"}},
		{[]string{"graph", "three-flow", "--format", "mermaid", "--out", "-"}, []string{"%% three-flow: 16 hosts"}},
		{[]string{"graph", "--topology", file}, []string{">four</text>", "4 hosts, 3 switches, 6 links"}},
		{[]string{"graph", "dragonfly", "--format", "mermaid", "--set", "topology.dragonfly.global_delay=5us"}, []string{"global: 100Gbps, 5us", "  subgraph group_2 [\"group 2\"]\n"}},
		{[]string{"topo", "export", "dragonfly-72", "--format", "dot"}, []string{`graph "dragonfly-2-4-2" {`, `"r0" -- "h0" [label="100Gbps", delay="1us"`}},
		{[]string{"topo", "export", "--topology", file, "--format", "dot"}, []string{`graph "four" {`}},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, []string{"CSIGLAB_OUT=runs"}, c.args...)
		for _, want := range c.want {
			if code != 0 || stderr != "" || !strings.Contains(stdout, want) {
				t.Errorf("%q: exit %d, %s; %q is not in:\n%.2000s", c.args, code, stderr, want, stdout)
			}
		}
	}
}

func TestGraphNotes(t *testing.T) {
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "graph", "all-to-all", "--set", "topology.k_ary.k=10", "--format", "mermaid")
	if want := "note: 750 lines; Mermaid draws at most 500 unless its setting maxEdges is raised\n"; code != 0 || stderr != want || !strings.HasPrefix(stdout, "%% fat-tree-k10: 250 hosts") {
		t.Errorf("exit %d, %q, want %q", code, stderr, want)
	}
}

// What is written as htsim's topology is the same fabric when it is read back.
func TestTopoExportHtsim(t *testing.T) {
	for _, name := range []string{"three-flow", "all-to-all", "incast"} {
		out := filepath.Join(t.TempDir(), name+".topo")
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, "topo", "export", name, "--format", "htsim", "--out", out); code != 0 || stdout+stderr != "" {
			t.Fatalf("%s: exit %d, %s%s", name, code, stdout, stderr)
		}
		set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		want, err := set.Base.Topology.Build()
		if err != nil {
			t.Fatal(err)
		}
		got, err := experiment.Topology{Spec: experiment.TopologyFile(out)}.Build()
		if err != nil {
			t.Fatal(err)
		}
		want.Graph.Name = name
		if diff := cmp.Diff(got.Graph, want.Graph); diff != "" {
			t.Errorf("%s: got - want +:\n%s", name, diff)
		}
	}
}

func TestGraphIntoAFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "graph", "three-flow", "--out", "/dev/full"); code != command.ExitInfrastructure || !strings.Contains(stderr, "--out /dev/full: ") {
		t.Errorf("exit %d, %s; want %d", code, stderr, command.ExitInfrastructure)
	}
}
