package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// clabOf builds a fabric from the text of a containerlab file.
func clabOf(t *testing.T, text string) (Built, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "lab.clab.yml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Clab{File: name}.Build()
	if err == nil {
		err = b.Graph.Validate()
	}
	return b, err
}

// Nodes, links and notes of a file with both forms of links and values of all levels.
func TestClab(t *testing.T) {
	b, err := Clab{File: "testdata/fabric.clab.yml"}.Build()
	if err != nil {
		t.Fatal(err)
	}
	want := &topologies.Graph{
		Name: "two-leaves",
		Nodes: []topologies.Node{
			{Name: "client1", Pod: -1}, {Name: "client2", Pod: -1, Index: 1},
			{Name: "leaf1", Kind: topologies.Switch, Tier: topologies.TierToR, Pod: -1, Delay: 400 * units.Nanosecond},
			{Name: "leaf2", Kind: topologies.Switch, Tier: topologies.TierToR, Pod: -1, Index: 1, Delay: 400 * units.Nanosecond},
			{Name: "spine1", Kind: topologies.Switch, Tier: topologies.TierAgg, Pod: -1, Delay: 400 * units.Nanosecond},
		},
		Links: []topologies.Link{
			{A: topologies.End{Node: 0}, B: topologies.End{Node: 2}, Rate: 25 * units.Gbps, Delay: units.Microsecond},
			{A: topologies.End{Node: 1}, B: topologies.End{Node: 3}, Rate: 25 * units.Gbps, Delay: units.Microsecond},
			{A: topologies.End{Node: 2, Port: 1}, B: topologies.End{Node: 4}, Rate: 100 * units.Gbps, Delay: 2 * units.Microsecond},
			{A: topologies.End{Node: 2, Port: 2}, B: topologies.End{Node: 4, Port: 1}, Rate: 100 * units.Gbps, Delay: 2 * units.Microsecond},
			{A: topologies.End{Node: 3, Port: 1}, B: topologies.End{Node: 4, Port: 2}, Rate: 400 * units.Gbps, Delay: 2 * units.Microsecond},
		},
		Interfaces: [][]string{{"eth1"}, {"eth1"}, {"e1-1", "e1-49", "e1-50"}, {"e1-1", "e1-49"}, {"e1-1", "e1-2", "e1-3"}},
	}
	if diff := cmp.Diff(b.Graph, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	if notes := strings.Join(b.Notes, "; "); !strings.Contains(notes, "2 links that leave the fabric are left out") || !strings.Contains(notes, "not part of the fabric: collector") {
		t.Errorf("notes %q", notes)
	}
}

// A node is what its label says, else its group, else its kind. Values of a node win over
// those of its group, these over those of its kind, these over the defaults.
func TestClabRoles(t *testing.T) {
	const text = `name: x
topology:
  defaults: {kind: DEFAULT}
  kinds:
    linux: {image: x, KIND}
  groups:
    rack: {GROUP}
  nodes:
    top: {kind: nokia_srlinux}
    n: {NODE}
    a: {kind: linux, labels: {csiglab.role: host}}
  links:
    - {endpoints: ["a:eth1", "top:e1"], vars: {rate: 1Gbps, delay: 1us}}
    - {endpoints: ["n:eth1", "top:e2"], vars: {rate: 1Gbps, delay: 1us}}
`
	for _, c := range []struct{ fallback, kind, group, node, want string }{
		{"linux", "env: {}", "env: {}", "", "host"},
		{"bridge", "env: {}", "env: {}", "", "tor"},
		{"linux", "env: {}", "env: {}", "kind: arista_ceos", "tor"},
		{"linux", "group: spine", "env: {}", "", "agg"},
		{"linux", "group: spine", "env: {}", "group: server", "host"},
		{"linux", "env: {}", "kind: bridge", "group: rack", "tor"},
		{"linux", "labels: {csiglab.role: switch}", "env: {}", "", "tor"},
		{"linux", "labels: {csiglab.role: switch}", "env: {}", "group: server", "tor"},
		{"linux", "labels: {csiglab.role: switch}", "labels: {csiglab.role: host}", "group: rack", "host"},
		{"linux", "labels: {csiglab.role: switch}", "labels: {csiglab.role: host}", "group: rack, labels: {csiglab.role: switch, csiglab.tier: core}", "core"},
		{"linux", "labels: {csiglab.delay: 1us}", "labels: {csiglab.delay: 2us}", "group: rack, labels: {csiglab.role: switch}", "tor 2us"},
		{"linux", "labels: {csiglab.delay: 1us}", "env: {}", "", "host"},
	} {
		text := strings.NewReplacer("DEFAULT", c.fallback, "KIND", c.kind, "GROUP", c.group, "NODE", c.node).Replace(text)
		// A switch has to lead on to a host.
		if !strings.HasPrefix(c.want, "host") {
			text = strings.Replace(text, "    a: {", "    b: {kind: linux, labels: {csiglab.role: host}}\n    a: {", 1) +
				"    - {endpoints: [\"b:eth1\", \"n:eth2\"], vars: {rate: 1Gbps, delay: 1us}}\n"
		}
		b, err := clabOf(t, text)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		got := ""
		for _, n := range b.Graph.Nodes {
			if n.Name == "n" {
				if got = n.Tier.String(); n.Delay > 0 {
					got += fmt.Sprintf(" %v", n.Delay)
				}
			}
		}
		if got != c.want {
			t.Errorf("%+v: got %s, want %s", c, got, c.want)
		}
	}
}

// A fabric's file is not taken for one of htsim.
func TestFileOfAnotherTool(t *testing.T) {
	for name, want := range map[string]string{
		"lab.clab.yml":       "write topology: {clab: {file: lab.clab.yml}}",
		"fat_tree.topology":  "write topology: {netbench: {file: fat_tree.topology}}",
		"triangle.yaml":      "write topology: {graph: {file: triangle.yaml}}",
		"lab.topo.clab.yaml": "write topology: {clab: {file: lab.topo.clab.yaml}}",
	} {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := TopologyFile(name).Build(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func FuzzClab(f *testing.F) {
	text, err := os.ReadFile("testdata/fabric.clab.yml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("name: x\ntopology: {nodes: {a: {kind: linux}}, links: [{endpoints: ['a:b', 'a:c']}]}")
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "lab.clab.yml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := Clab{File: name, Rate: units.Gbps, Delay: units.Microsecond}.Build()
		if err == nil {
			err = b.Graph.Validate()
			if err != nil {
				t.Errorf("%v of\n%s", err, text)
			}
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name the file", err)
		}
	})
}
