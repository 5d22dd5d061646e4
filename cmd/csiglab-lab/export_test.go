package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli"
)

// A fabric that cannot be cut into so many parts is refused, and nothing is written.
func TestExportRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	var said strings.Builder
	remotes := strings.TrimSuffix(strings.Repeat("192.0.2.1,", 30), ",")
	args := []string{"topo", "export", "three-flow", "--format", "clab", "--shards", "30", "--remotes", remotes, "--out", "x"}
	code := cli.Execute(t.Context(), cli.Linked{Containers: engine{}}, args, nil, io.Discard, &said)
	if want := "cut the fabric into 30 parts: it has 29 nodes, and each part needs one"; code != 2 || !strings.Contains(said.String(), want) {
		t.Errorf("exit code %d, %s; want %s", code, &said, want)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
