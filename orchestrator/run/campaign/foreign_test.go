package campaign

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// foreignText has two racks of which a host of one sends frames to one of the other, with a
// foreign node on their way.
func foreignText(t *testing.T, nodes, frames string) *experiment.Set {
	t.Helper()
	return parseText(t, fmt.Sprintf(`
schema: 1
name: foreign
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 20Mbps, delay: 2ms}}
runtime: netns
clock: wall
wall: {dilation: 1, budget: {lateness: 1000, displaced: 1, rate: 1}}
csig: {format: wide, interval: 50ms}
nodes: [%s]
%s
`, nodes, frames))
}

// generated is 100 frames with a tag from h0 to h1.
const generated = `generators: [{host: 0, to: 1, count: 100, every: 5ms, stack: "csig:abw"}]`

// foreignRun runs an experiment, and returns its folder and its notes.
func foreignRun(t *testing.T, set *experiment.Set) (*runfolder.Folder, string) {
	t.Helper()
	buildNodes(t)
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(context.Background(), set, Options{Out: folder})
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !result.Summary.Valid {
		t.Errorf("reasons %q", result.Summary.Reasons)
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return f, strings.Join(f.Manifest.Runs[0].Notes, "\n")
}

// A foreign node forwards what it is sent. What is known of it is how many frames its neighbours
// have sent to it and got from it, and how many had a tag; of its ports there is no metric.
func TestForeignSwitch(t *testing.T) {
	const kept, stripped = 100, 0
	for _, c := range []struct {
		name, nodes, frames string
		tagged              int // frames that it was sent with a tag, and sent with one
	}{
		{"bridge", "{name: agg0, forwards: bridge}", generated, kept},
		{"router", "{name: agg0, forwards: router}", generated, stripped},
		{"router behind a router", "{name: tor0, forwards: router}, {name: agg0, forwards: router}", strings.ReplaceAll(generated, "host: 0, to: 1", "host: 1, to: 0"), stripped},
		{"first rack", "{name: tor0, forwards: bridge}", generated, kept},
		{"own startup", `{name: agg0, startup: ["ip link add bridge type bridge", "ip link set bridge up", "ip link set p0 master bridge", "ip link set p1 master bridge"]}`, generated, kept},
		{"tags end", "{name: agg0, forwards: bridge, tags: stripped}", generated, stripped},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.nodes, "startup") {
				if _, err := exec.LookPath("ip"); err != nil {
					t.Skip(err)
				}
			}
			f, notes := foreignRun(t, foreignText(t, c.nodes, c.frames))
			// A kernel may send frames of its own, which have no tag.
			if sent, got := fmt.Sprintf("it was sent 100 frames, %d of them with a CSIG tag", c.tagged), fmt.Sprintf(", %d of them with one", c.tagged); !strings.Contains(notes, sent) || !strings.Contains(notes, got) {
				t.Errorf("notes %q, want %q and %q", notes, sent, got)
			}
			metrics := f.Summary.Variants["run"].Runs[0].Metrics
			from, to := "h0", "h1"
			if strings.Contains(c.frames, "host: 1") {
				from, to = to, from
			}
			if got := metrics["goodput_gbps."+from+"-"+to+" raw"]; got <= 0 {
				t.Errorf("goodput %v", got)
			}
			for name := range metrics {
				if strings.HasPrefix(name, "utilisation.agg0-") && strings.Contains(c.nodes, "agg0") {
					t.Errorf("%s is there, and nobody knows it", name)
				}
			}
			for _, n := range f.Manifest.Nodes {
				if n.Foreign != strings.Contains(c.nodes, "name: "+n.Name) {
					t.Errorf("the manifest has %+v", n)
				}
			}
		})
	}
}

// A foreign host is an end of programs: its kernel answers.
func TestForeignHost(t *testing.T) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip(err)
	}
	_, notes := foreignRun(t, foreignText(t, "{name: h1}", `
applications:
  hosts: [0, 1]
  programs: [{host: 1, run: iperf3 -s, background: true}, {host: 0, run: iperf3 -c h1 -t 1, start: 500ms}]`))
	if !strings.Contains(notes, "h1 is a foreign node") || strings.Contains(notes, "it was sent 0 frames") {
		t.Errorf("notes %q", notes)
	}
}

// What a foreign node cannot be is refused before anything is made, and a startup that fails
// ends the run with what it said.
func TestForeignRefused(t *testing.T) {
	for _, c := range []struct{ nodes, frames, want string }{
		{"{name: tor7}", generated, `nodes[0].name: no node is called "tor7"`},
		{`{name: "tor*", forwards: bridge}, {name: tor1}`, generated, "nodes[1].name: tor1 is nodes[0] already"},
		{"{name: h1, forwards: router}", generated, "nodes[0]: h1: a host forwards nothing"},
		{"{name: h0}", generated, "generators[0].host: h0 is a foreign node"},
		{"{name: tor0, forwards: bridge}, {name: agg0, forwards: router}", generated, "nodes: agg0 is a router and tor0, a neighbour, is foreign and none"},
		{`{name: agg0, startup: [sh -c "echo no; exit 3"]}`, generated, `node agg0: startup "sh -c echo no; exit 3": ended with code 3: no`},
		{`{name: agg0, startup: [no-such-program]}`, generated, `node agg0: startup "no-such-program": executable file not found`},
	} {
		set := foreignText(t, c.nodes, c.frames)
		buildNodes(t)
		_, err := Run(context.Background(), set, Options{Out: filepath.Join(t.TempDir(), "run")})
		if errors.Is(err, backend.ErrUnavailable) {
			t.Skip(err)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.nodes, err, c.want)
		}
	}
}
