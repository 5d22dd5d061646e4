package containerlab_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/clab"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
)

// clabFile is what a test reads of a topology file.
type clabFile struct {
	Name     string
	Topology struct {
		Nodes map[string]any
		Links []clabLink
	}
}

type clabLink struct {
	Type      string
	Endpoints []clabEnd
	Endpoint  clabEnd
	Remote    string
	VNI       int
	DstPort   int `yaml:"dst-port"`
	MTU       int
}

type clabEnd struct{ Node, Interface string }

// threeFlowShards returns three-flow in parts: two pods each, the core in the first.
func threeFlowShards(t *testing.T) (containerlab.Lab, containerlab.Shard) {
	g := threeFlow(t)
	s := containerlab.Shard{Remotes: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}, VNI: 77}
	for _, n := range g.Nodes {
		s.Of = append(s.Of, max(0, n.Pod/2))
	}
	return newLab(g, containerlab.NodeSettings{Image: "csiglab/csig-switch:0123456789ab"}), s
}

// TestShards: the files of the parts are valid by containerlab's schema, have every node once,
// and both ends of every link: a cut link has one end in each of two files, with the same
// identifier, which no other link has, and with the address of the other.
func TestShards(t *testing.T) {
	validate := containerlabtest.Schema(t)
	lab, s := threeFlowShards(t)
	nodes, ends := map[string]int{}, map[clabEnd]int{}
	cut := map[int][]string{} // by identifier: the remotes
	for s.Index = range s.Remotes {
		var text bytes.Buffer
		if err := containerlab.WriteShard(&text, lab, s); err != nil {
			t.Fatal(err)
		}
		if err := validate(text.Bytes()); err != nil {
			t.Errorf("part %d: %v", s.Index, err)
		}
		broken := strings.Replace(text.String(), "dst-port:", "udp-port:", 1)
		if validate([]byte(broken)) == nil {
			t.Error("the schema takes a tunnel without a port")
		}
		var f clabFile
		if err := yaml.Unmarshal(text.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("three-flow-r1-shard%d", s.Index); f.Name != want {
			t.Errorf("part %d has the name %q, want %q", s.Index, f.Name, want)
		}
		for name := range f.Topology.Nodes {
			nodes[name]++
		}
		for _, l := range f.Topology.Links {
			for _, e := range append(slices.Clone(l.Endpoints), l.Endpoint) {
				if e.Node != "" {
					ends[e]++
					if _, here := f.Topology.Nodes[e.Node]; !here {
						t.Errorf("part %d: a link ends at %s, which is in another part", s.Index, e.Node)
					}
				}
			}
			if l.Type == "vxlan" {
				cut[l.VNI] = append(cut[l.VNI], l.Remote)
				if l.DstPort != clab.TunnelPort || l.MTU != 4400 {
					t.Errorf("part %d: tunnel %+v", s.Index, l)
				}
			}
		}
	}
	if len(nodes) != len(lab.Graph.Nodes) || len(ends) != 2*len(lab.Graph.Links) {
		t.Errorf("%d nodes and %d ends, want %d and %d", len(nodes), len(ends), len(lab.Graph.Nodes), 2*len(lab.Graph.Links))
	}
	for e, n := range ends {
		if n != 1 {
			t.Errorf("%v is the end of %d links", e, n)
		}
	}
	// The core has a link to each of two pods of the other part.
	want := map[int][]string{77: {"192.0.2.2", "192.0.2.1"}, 78: {"192.0.2.2", "192.0.2.1"}}
	if diff := cmp.Diff(cut, want); diff != "" {
		t.Errorf("cut links (-got +want):\n%s", diff)
	}
}

func TestInvalidShards(t *testing.T) {
	address := netip.MustParseAddr
	for _, test := range []struct {
		name   string
		change func(*containerlab.Lab, *containerlab.Shard)
		want   string
	}{
		{"nodes", func(_ *containerlab.Lab, s *containerlab.Shard) { s.Of = s.Of[1:] }, "parts for 28 of 29 nodes"},
		{"part", func(_ *containerlab.Lab, s *containerlab.Shard) { s.Of[3] = 2 }, "node h3 is in part 2; there are addresses of 2"},
		{"index", func(_ *containerlab.Lab, s *containerlab.Shard) { s.Index = 2 }, "part 2 of 2"},
		{"twice", func(_ *containerlab.Lab, s *containerlab.Shard) { s.Remotes[1] = s.Remotes[0] }, "parts 0 and 1: both have address 192.0.2.1"},
		{"loopback", func(_ *containerlab.Lab, s *containerlab.Shard) { s.Remotes[1] = address("127.0.0.1") }, "part 1: address 127.0.0.1 is none at which"},
		{"families", func(_ *containerlab.Lab, s *containerlab.Shard) { s.Remotes[1] = address("2001:db8::1") }, "want all of IPv4 or all of IPv6"},
		{"no identifier", func(_ *containerlab.Lab, s *containerlab.Shard) { s.VNI = 0 }, "vxlan identifiers 0 to 1"},
		{"last identifier", func(_ *containerlab.Lab, s *containerlab.Shard) { s.VNI = 1<<24 - 1 }, "vxlan identifiers 16777215 to 16777216: want 1 to 16777215"},
		{"programs", func(l *containerlab.Lab, _ *containerlab.Shard) {
			l.Sidecars = []containerlab.Sidecar{{Node: 0, Image: "i", Init: "/i"}}
		}, "programs beside nodes in parts"},
		{"lab", func(l *containerlab.Lab, _ *containerlab.Shard) { l.MTU = 1 }, "mtu 1"},
	} {
		lab, s := threeFlowShards(t)
		test.change(&lab, &s)
		var text bytes.Buffer
		if err := containerlab.WriteShard(&text, lab, s); !errors.Is(err, containerlab.ErrInvalid) || !strings.Contains(err.Error(), test.want) || text.Len() > 0 {
			t.Errorf("%s: got %v and %d bytes, want ErrInvalid with %q", test.name, err, text.Len(), test.want)
		}
	}
}

// TestClabernetes: the resource has the group's name, what its schema requires, and a
// topology file that is valid by containerlab's schema and has all nodes and links.
func TestClabernetes(t *testing.T) {
	validate := containerlabtest.Schema(t)
	lab, _ := threeFlowShards(t)
	for _, group := range clab.Groups() {
		var text bytes.Buffer
		if err := containerlab.WriteClabernetes(&text, lab, group); err != nil {
			t.Fatal(err)
		}
		var r struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name string }
			Spec       struct {
				Expose     map[string]any
				Definition struct{ Containerlab string }
			}
		}
		if err := yaml.Unmarshal(text.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.APIVersion != group+"/v1alpha1" || r.Kind != "Topology" || r.Metadata.Name != "three-flow" || len(r.Spec.Expose) != 1 {
			t.Errorf("%s: %+v", group, r)
		}
		if err := validate([]byte(r.Spec.Definition.Containerlab)); err != nil {
			t.Errorf("%s: %v", group, err)
		}
		var f struct {
			Topology struct {
				Nodes map[string]any
				Links []struct{ Endpoints []string }
			}
		}
		if err := yaml.Unmarshal([]byte(r.Spec.Definition.Containerlab), &f); err != nil {
			t.Fatal(err)
		}
		if len(f.Topology.Nodes) != 29 || len(f.Topology.Links) != 28 || !slices.Equal(f.Topology.Links[0].Endpoints, []string{"h0:eth1", "tor0:eth1"}) {
			t.Errorf("%s: %d nodes, links %v", group, len(f.Topology.Nodes), f.Topology.Links)
		}
	}
	for _, test := range []struct {
		group  string
		change func(*containerlab.Lab)
		want   string
	}{
		{"c9s", func(*containerlab.Lab) {}, `no API group "c9s"`},
		{"c9s.run", func(l *containerlab.Lab) { l.Graph.Nodes[2].Name = "s0.r2" }, "node s0.r2: Kubernetes wants names of"},
		{"c9s.run", func(l *containerlab.Lab) { l.Name = strings.Repeat("x", 61) }, "have at most 62 characters"},
		{"c9s.run", func(l *containerlab.Lab) { l.Nodes[0].Cmd = []string{strings.Repeat("x", 1<<20)} }, "Kubernetes keeps at most"},
	} {
		lab, _ := threeFlowShards(t)
		test.change(&lab)
		var text bytes.Buffer
		if err := containerlab.WriteClabernetes(&text, lab, test.group); !errors.Is(err, containerlab.ErrInvalid) || !strings.Contains(err.Error(), test.want) || text.Len() > 0 {
			t.Errorf("got %v and %d bytes, want ErrInvalid with %q", err, text.Len(), test.want)
		}
	}
}
