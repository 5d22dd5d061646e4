package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// A fabric that cannot be cut into so many parts is refused, and nothing is written.
func TestExportRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	var said strings.Builder
	args := []string{"topo", "export", "three-flow", "--format", "clab", "--shards", "30", "--remotes", remotes(30), "--out", "x"}
	code := cli.Execute(t.Context(), command.Linked{Containers: engine{}}, args, nil, io.Discard, &said)
	if want := "cut the fabric into 30 parts: it has 29 nodes, and each part needs one"; code != 2 || !strings.Contains(said.String(), want) {
		t.Errorf("exit code %d, %s; want %s", code, &said, want)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// remotes returns so many addresses for --remotes.
func remotes(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("192.0.2.%d", i+1)
	}
	return strings.Join(list, ",")
}

// TestExportShards: a file for each machine, all or none.
func TestExportShards(t *testing.T) {
	checkout.SkipLong(t)
	t.Setenv("PATH", programstest.Built(t)+":"+os.Getenv("PATH"))
	folder := filepath.Join(t.TempDir(), "hosts")
	export := func(args ...string) (int, string) {
		var said strings.Builder
		code := cli.Execute(t.Context(), command.Linked{Containers: engine{}}, append([]string{"topo", "export", "all-to-all", "--format", "clab", "--out", folder}, args...), nil, io.Discard, &said)
		return code, said.String()
	}
	code, stderr := export("--shards", "4", "--remotes", remotes(4))
	if want := "note: 12 links cut, vxlan 1000 to 1011, UDP port 14789; frames of the lab need an MTU of "; code != 0 || !strings.Contains(stderr, want) {
		t.Errorf("exit %d, %s; want %q", code, stderr, want)
	}
	for i := range 4 {
		text, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("fat-tree-k4.shard%d.clab.yml", i)))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "type: vxlan"); n != 6 {
			t.Errorf("part %d has %d tunnels, want 6", i, n)
		}
	}
	if code, stderr := export("--shards", "3", "--remotes", remotes(3)); code != 2 || !strings.Contains(stderr, "it has fat-tree-k4.shard3.clab.yml of another export, with more parts") {
		t.Errorf("over an export with more parts: exit %d, %s", code, stderr)
	}
}
