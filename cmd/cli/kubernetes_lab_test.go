package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/orchestrator/runs"
)

// A lab in two pods, whose image has nothing but csiglab's own programs: exec in both, with
// the codes of commands, capture of a link in a pod and of one between the pods, and down,
// which leaves nothing.
func TestLabOnKubernetes(t *testing.T) {
	c := newRealCluster(t)
	u := newTool(t, builtPrograms(t))
	u.env = append(u.env, "KUBECONFIG="+os.Getenv("CSIGLAB_KUBECONFIG"))
	text := strings.NewReplacer("NAME", "pods", "0 -> 3 100kB", "0 -> 3 1GB", "dilation: 100", "dilation: 1000").Replace(labText)
	if err := os.WriteFile(filepath.Join(u.dir, "pods.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, _ := u.want(exitOK, "up", "pods.yaml", "--runtime", "kubernetes", "--shards", "2", "--namespace", c.namespace, "--image", c.image, "--out", "lab", "--json")
	r := u.parse(stdout)
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
	version, _ := u.want(exitOK, "version")
	for _, node := range shards {
		if got, _ := u.want(exitOK, "exec", r.ID, node, "--", "/bin/csiglab", "version"); got != version {
			t.Errorf("%s: version %q, want %q", node, got, version)
		}
		u.want(exitUsage, "exec", r.ID, node, "--", "/bin/csiglab", "no-such-command")
		u.want(exitNotFound, "exec", r.ID, node, "--", "/bin/sh")
		u.want(exitNotExecutable, "exec", r.ID, node, "--", "/bin")
	}
	link, end := cut(r)
	for _, arg := range [][]string{{"--link", "h0-tor0"}, {"--link", link, "--end", end}} {
		u.want(exitOK, append([]string{"capture", r.ID, "--packets", "3", "--duration", "30s", "--out", "live.pcapng"}, arg...)...)
		packets := 0
		capturetest.ReadFile(u, filepath.Join(u.dir, "live.pcapng"), func(p capturetest.Packet) { packets++ })
		if packets != 3 {
			t.Errorf("%v: %d packets, want 3", arg, packets)
		}
	}
	u.down(r.ID)
	c.empty("down")
	if left := u.ps(); len(left) > 0 {
		t.Errorf("left: %+v", left)
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
