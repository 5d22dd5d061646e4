package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// podsText is a fabric of seven nodes, slow enough for any machine.
const podsText = `
schema: 1
name: pods
topology:
  fat_tree:
    hosts: 4
    pod: 4
    tiers:
      - {down: 2, up: 1, rate: 1Gbps, delay: 1ms}
      - {down: 2, rate: 1Gbps, delay: 1ms}
workload: {transfers: ["0 -> 3 1GB"]}
csig: {format: compact}
wall: {dilation: 1000, budget: {lateness: 1000, displaced: 1, rate: 1}}
seeds: [7]
`

// A lab in two pods, whose image has nothing but csiglab's own programs: exec in both, with
// the codes of commands, capture of a link in a pod and of one between the pods, and down,
// which leaves nothing.
func TestLabOnKubernetes(t *testing.T) {
	c := newRealCluster(t)
	t.Setenv("KUBECONFIG", os.Getenv("CSIGLAB_KUBECONFIG"))
	want := func(code int, args ...string) (stdout string) {
		t.Helper()
		got, stdout, stderr := separately(t, args...)
		if got != code {
			t.Fatalf("csiglab %q: exit %d, want %d\n%s%s", args, got, code, stdout, stderr)
		}
		return stdout
	}
	folder := t.TempDir()
	var r runs.Run
	if err := json.Unmarshal([]byte(want(exitOK, "up", write(t, "pods.yaml", podsText), "--runtime", "kubernetes", "--shards", "2", "--namespace", c.namespace, "--image", c.image, "--out", folder+"/lab", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	shards := map[int]string{} // a node of each
	for _, n := range r.Nodes {
		if n.Shard == nil || n.Shard.Pod == "" {
			t.Fatalf("node %s is in no pod: %+v", n.Name, n.Shard)
		}
		shards[n.Shard.Index] = n.Name
	}
	if len(shards) != 2 {
		t.Errorf("nodes are in shards %v, want 2", shards)
	}
	version := want(exitOK, "version")
	for _, node := range shards {
		if got := want(exitOK, "exec", r.ID, node, "--", "/bin/csiglab", "version"); got != version {
			t.Errorf("%s: version %q, want %q", node, got, version)
		}
		want(exitUsage, "exec", r.ID, node, "--", "/bin/csiglab", "no-such-command")
		want(exitNotFound, "exec", r.ID, node, "--", "/bin/sh")
		want(exitNotExecutable, "exec", r.ID, node, "--", "/bin")
	}
	link, end := cut(r)
	for _, arg := range [][]string{{"--link", "h0-tor0"}, {"--link", link, "--end", end}} {
		want(exitOK, append([]string{"capture", r.ID, "--packets", "3", "--duration", "30s", "--out", folder + "/live.pcapng"}, arg...)...)
		packets := 0
		capturetest.ReadFile(t, folder+"/live.pcapng", func(p capturetest.Packet) { packets++ })
		if packets != 3 {
			t.Errorf("%v: %d packets, want 3", arg, packets)
		}
	}
	code, stdout, stderr := separately(t, "down", r.ID)
	if code != exitOK && (code != exitInfrastructure || !strings.Contains(stdout, "INVALID")) || !strings.Contains(stdout, "\nreport  "+folder) {
		t.Errorf("down: exit %d\n%s%s", code, stdout, stderr)
	}
	c.empty("down")
	if list := want(exitOK, "ps"); strings.Contains(list, folder) {
		t.Errorf("left: %s", list)
	}
}

// cut returns a link that is cut between shards, and the node at one end.
func cut(r runs.Run) (link, end string) {
	shards := map[string]int{} // of the first end of each link
	for _, n := range r.Nodes {
		for _, i := range n.Interfaces {
			if shard, ok := shards[i.Link]; ok && shard != n.Shard.Index && i.Link != "" {
				return i.Link, n.Name
			}
			shards[i.Link] = n.Shard.Index
		}
	}
	return "", ""
}
