package containers_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend/containers"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// dependent is a workload in which flows wait for those of other hosts.
const dependent = `
schema: 1
name: dependent
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {file: dependent.cm}
csig: {format: compact}
hosts: {cc: {name: nscc, csig: max-delay}}
`

// dependentMatrix is a ring of four steps.
const dependentMatrix = `Nodes 4
Connections 4
Triggers 3
0->1 id 1 start 0 size 200000 send_done_trigger 1
1->2 id 2 trigger 1 size 200000 send_done_trigger 2
2->3 id 3 trigger 2 size 200000 send_done_trigger 3
3->0 id 4 trigger 3 size 200000
trigger id 1 oneshot
trigger id 2 oneshot
trigger id 3 oneshot
`

func parse(t *testing.T, text string, change ...string) *experiment.Set {
	t.Helper()
	opts := experiment.Options{Tables: experiment.StandardTables()}
	for _, c := range change {
		o, err := experiment.ParseSet("--set", c)
		if err != nil {
			t.Fatal(err)
		}
		opts.Override = append(opts.Override, o)
	}
	set, err := experiment.Parse("test.yaml", "", []byte(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// testControlLinks: dependencies that cross hosts travel on links of their own
// between containers, and the trace is that of a virtual run.
func testControlLinks(t *testing.T, _ *client.Client) {
	matrix := filepath.Join(t.TempDir(), "dependent.cm")
	if err := os.WriteFile(matrix, []byte(dependentMatrix), 0o600); err != nil {
		t.Fatal(err)
	}
	set := parse(t, dependent, "workload.file="+matrix)
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Control()) != 3 {
		t.Fatalf("%d control links, want one for each dependency that crosses hosts", len(p.Control()))
	}
	folder := filepath.Join(t.TempDir(), "run")
	result, err := campaign.Run(t.Context(), set, options(folder))
	if err != nil {
		t.Fatal(err)
	}
	if !result.Summary.Valid {
		t.Errorf("reasons %q", result.Summary.Reasons)
	}
}

// pair is a fabric that any machine keeps up with: the wire has 0.2 s for a frame. Lateness is
// not judged, as this machine may do something else.
const pair = `
schema: 1
name: pair
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1ms}}
workload: {transfers: [0 -> 1 1MB]}
csig: {format: compact}
runtime: containerlab
clock: wall
wall: {dilation: 200, budget: {lateness: 1000, displaced: 1, rate: 10}}
`

// testWall: real time in containers, which get no more privileges for it. It is
// held, so that the shapers can be looked at, and released.
func testWall(t *testing.T, docker *client.Client) {
	if _, err := exec.LookPath("tc"); err != nil {
		t.Skip(err)
	}
	set := parse(t, pair)
	folder := filepath.Join(t.TempDir(), "run")
	hold := make(chan struct{})
	var shapers, nodes int
	opts := campaign.Options{Out: folder, Hold: hold, Ready: func(s campaign.Started) {
		defer close(hold)
		if s.ID == "" || s.Folder != folder {
			t.Errorf("started %+v", s)
		}
		checkMetrics(t, s.ID)
		for _, c := range list(t, docker) {
			info, err := docker.ContainerInspect(t.Context(), c.ID)
			if err != nil {
				t.Error(err)
				return
			}
			if h := info.HostConfig; h.Privileged || len(h.CapAdd) != 2 {
				t.Errorf("container %s: privileged %v, capabilities %v", info.Name, h.Privileged, h.CapAdd)
			}
			text, err := exec.Command("nsenter", "-t", fmt.Sprint(info.State.Pid), "-n", "tc", "-s", "qdisc", "show").Output()
			if err != nil {
				t.Error(err)
			}
			nodes++
			shapers += strings.Count(string(text), "qdisc tbf 1: dev eth")
		}
	}}
	// Released at the start: the flow does not complete.
	result, err := campaign.Run(t.Context(), set, opts)
	if err != nil {
		t.Fatal(err)
	}
	if nodes != 5 || shapers != 8 {
		t.Errorf("tc shows %d interfaces with tbf in %d containers, want both ends of 4 links of 5", shapers, nodes)
	}
	if !result.Summary.Valid {
		t.Errorf("released: reasons %q", result.Summary.Reasons)
	}
	if f := fidelity(t, folder); f.Dilation != 200 || f.Lost != 0 {
		t.Errorf("released: fidelity %+v", f)
	}
}

func fidelity(t *testing.T, folder string) runfolder.Fidelity {
	t.Helper()
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if f.Manifest.Runs[0].Fidelity == nil {
		t.Fatal("the manifest has no fidelity")
	}
	return *f.Manifest.Runs[0].Fidelity
}

// checkMetrics reads the metrics of a lab's containers, which serve them in the folder that
// is mounted.
func checkMetrics(t *testing.T, id string) {
	t.Helper()
	all, err := runs.List(t.Context(), containers.Backend{})
	if err != nil {
		t.Error(err)
		return
	}
	run, err := runs.Find(all, id)
	if err != nil {
		t.Error(err)
		return
	}
	reader, err := live.NewReader(&run)
	if err != nil {
		t.Error(err)
		return
	}
	defer reader.Close()
	for _, node := range reader.Read(t.Context()) {
		if node.Err != nil {
			t.Error(node.Err)
		} else if want := `node="` + node.Instance + `"`; !bytes.Contains(node.Text, []byte(want)) {
			t.Errorf("the metrics of %s lack %s:\n%s", node.Instance, want, node.Text)
		}
	}
}
