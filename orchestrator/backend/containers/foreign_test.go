package containers_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// foreignText has a spine that is a container of another image.
const foreignText = `
schema: 1
name: foreign
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 20Mbps, delay: 2ms}}
runtime: containerlab
clock: wall
wall: {dilation: 1, budget: {lateness: 1000, displaced: 1, rate: 1}}
csig: {format: wide, interval: 50ms}
generators: [{host: 0, to: 1, count: 100, every: 5ms, stack: "csig:abw"}]
nodes:
  - {name: agg0, image: "test/sleep:1", command: /usr/bin/sleep 1000, forwards: bridge}
`

// testForeign: frames and their tags cross a container that is none of csiglab's, whose end is
// that of the run.
func testForeign(t *testing.T, docker *client.Client) {
	program, err := exec.LookPath("/usr/bin/sleep")
	if err != nil {
		t.Skip(err)
	}
	containerlabtest.Image(t, docker, program, "test/sleep:1")
	run := func(change ...string) (*runfolder.Folder, error) {
		folder := filepath.Join(t.TempDir(), "run")
		_, err := campaign.Run(t.Context(), parse(t, foreignText, change...), campaign.Options{Out: folder})
		if err != nil {
			return nil, err
		}
		f, err := runfolder.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		return f, nil
	}
	f, err := run()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Manifest.Runs[0].Checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	const want = "it was sent 100 frames, 100 of them with a CSIG tag, and sent 100, 100 of them with one"
	if notes := strings.Join(f.Manifest.Runs[0].Notes, "\n"); !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	if _, err := run("nodes.0.command=/usr/bin/sleep 2", "generators.0.count=1000"); err == nil || !strings.Contains(err.Error(), "node agg0: its container has ended") {
		t.Errorf("its container ended: got %v", err)
	}
	if _, err := run("nodes.0.image=test/none:1"); !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), "nodes[0].image: test/none:1: the engine has no such image") {
		t.Errorf("without the image: got %v", err)
	}
}
