package containerlab_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/topologies/htsim"
	"github.com/csiglab/csiglab/units"
)

// threeFlow is the fabric of the three-flow experiment: 16 hosts, 8 ToR, 4 Agg
// and a core.
func threeFlow(t testing.TB) *topologies.Graph {
	t.Helper()
	tier := func(down, up int) topologies.FatTreeTier {
		return topologies.FatTreeTier{Rate: 100 * units.Gbps, Delay: units.Microsecond, RadixDown: down, RadixUp: up}
	}
	f := topologies.FatTree{Name: "three-flow", Hosts: 16, PodSize: 4, Tiers: []topologies.FatTreeTier{tier(2, 1), tier(2, 1), tier(4, 0)}}
	g, err := f.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// pair is two hosts and a switch.
func pair() *topologies.Graph {
	g := &topologies.Graph{Name: "pair", Nodes: []topologies.Node{
		{Name: "h0", Pod: -1}, {Name: "h1", Pod: -1, Index: 1},
		{Name: "tor0", Kind: topologies.Switch, Tier: topologies.TierToR, Pod: -1},
	}}
	g.Connect(0, 2, 100*units.Gbps, units.Microsecond)
	g.Connect(1, 2, 25*units.Gbps, 500*units.Nanosecond)
	return g
}

// newLab returns a lab whose nodes all have the same settings.
func newLab(g *topologies.Graph, s containerlab.NodeSettings) containerlab.Lab {
	lab := containerlab.Lab{Name: g.Name, RunID: "r1", Graph: g, MTU: 4400}
	for range g.Nodes {
		lab.Nodes = append(lab.Nodes, s)
	}
	return lab
}

// TestSchema: every topology that csiglab has or reads becomes a file that is
// valid by containerlab's own schema.
func TestSchema(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	dir := checkout.Shared(t, "fixtures")
	validate := containerlabtest.Schema(t)
	settings := containerlab.NodeSettings{
		Image: "csiglab/csig-switch:0123456789ab", Cmd: []string{"a b"}, Env: map[string]string{"A": "1"},
		Binds: []string{"nodes:/csiglab"}, Labels: map[string]string{"team": "fabric"},
	}
	graphs := []*topologies.Graph{threeFlow(t), pair()}
	for _, shape := range [][3]int{{1, 2, 1}, {2, 4, 2}} {
		s := topologies.DragonflySpec{
			HostsPerRouter: shape[0], Routers: shape[1], Global: shape[2], Rate: 100 * units.Gbps, Delay: units.Microsecond,
		}
		g, err := topologies.Dragonfly(s)
		if err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, g)
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".topo" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		tree, err := htsim.ReadTopology(filepath.Base(path), f)
		if err != nil {
			return err
		}
		g, err := tree.Build()
		graphs = append(graphs, g)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range graphs {
		lab := newLab(g, settings)
		lab.Name = "sample"
		lab.Sidecars = []containerlab.Sidecar{{Node: 0, Image: "iperf3:1", Init: "/bin/csig-host"}, {Node: 1, Image: "iperf3:1", Init: "/bin/csig-host"}}
		var text bytes.Buffer
		if err := containerlab.WriteTopology(&text, lab); err != nil {
			t.Errorf("topology %d (%s): %v", i, g.Name, err)
			continue
		}
		if err := validate(text.Bytes()); err != nil {
			t.Errorf("topology %d (%s), %d nodes: %v", i, g.Name, len(g.Nodes), err)
		}
		broken := strings.Replace(text.String(), "privileged:", "privilege:", 1)
		if i == 0 && validate([]byte(broken)) == nil {
			t.Error("the schema takes a key that does not exist")
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*containerlab.Lab)
		want   string
	}{
		{"name", func(l *containerlab.Lab) { l.Name = "a b" }, "name"},
		{"no name", func(l *containerlab.Lab) { l.Name = "" }, "name"},
		{"run", func(l *containerlab.Lab) { l.RunID = "R/1" }, `run id "R/1"`},
		{"no graph", func(l *containerlab.Lab) { l.Graph = nil }, "no graph"},
		{"settings", func(l *containerlab.Lab) { l.Nodes = l.Nodes[1:] }, "2 of 3"},
		{"small mtu", func(l *containerlab.Lab) { l.MTU = 67 }, "mtu 67"},
		{"large mtu", func(l *containerlab.Lab) { l.MTU = 65536 }, "mtu 65536"},
		{"graph", func(l *containerlab.Lab) { l.Graph.Links[0].Delay = 0 }, "lookahead"},
		{"node", func(l *containerlab.Lab) { l.Graph.Nodes[2].Name = "tor 0" }, `node "tor 0"`},
		{"image", func(l *containerlab.Lab) { l.Nodes[1].Image = "" }, "node h1: no image"},
		{"negative memory", func(l *containerlab.Lab) { l.Nodes[1].Memory = -units.MiB }, "memory -1048576"},
		{"memory", func(l *containerlab.Lab) { l.Nodes[1].Memory = units.MB }, "memory 1000000"},
		{"pids", func(l *containerlab.Lab) { l.Nodes[1].PIDs = -1 }, "-1 processes"},
		{"bind", func(l *containerlab.Lab) { l.Nodes[0].Binds = []string{"/a"} }, `bind "/a"`},
		{"bind target", func(l *containerlab.Lab) { l.Nodes[0].Binds = []string{"/a:b"} }, `bind "/a:b"`},
		{"bind mode", func(l *containerlab.Lab) { l.Nodes[0].Binds = []string{"/a:/b:rw"} }, `bind "/a:/b:rw"`},
		{"beside nothing", func(l *containerlab.Lab) { l.Sidecars = []containerlab.Sidecar{{Node: 3, Image: "i", Init: "/i"}} }, "beside node 3"},
		{"two beside", func(l *containerlab.Lab) {
			l.Sidecars = []containerlab.Sidecar{{Node: 1, Image: "i", Init: "/i"}, {Node: 1, Image: "i", Init: "/i"}}
		}, "two containers beside node h1"},
		{"image beside", func(l *containerlab.Lab) { l.Sidecars = []containerlab.Sidecar{{Init: "/i"}} }, "beside node h0: no image"},
		{"init beside", func(l *containerlab.Lab) { l.Sidecars = []containerlab.Sidecar{{Image: "i", Init: "i"}} }, `init "i"`},
		{"template", func(l *containerlab.Lab) { l.Nodes[0].Cmd = []string{"{{.}}"} }, "would expand"},
		{"variable", func(l *containerlab.Lab) { l.Nodes[0].Env = map[string]string{"A": "$HOME"} }, "would expand"},
	} {
		t.Run(test.name, func(t *testing.T) {
			lab := newLab(pair(), containerlab.NodeSettings{Image: "i"})
			test.change(&lab)
			var text bytes.Buffer
			err := containerlab.WriteTopology(&text, lab)
			if !errors.Is(err, containerlab.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ErrInvalid with %q", err, test.want)
			}
			if text.Len() > 0 {
				t.Errorf("wrote %d bytes of an invalid lab", text.Len())
			}
		})
	}
}
