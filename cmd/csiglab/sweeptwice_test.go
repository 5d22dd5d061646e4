package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSweepTwice holds that the same sweep gives the same table, byte for byte: whole, twice, and
// put together from shards.
func TestSweepTwice(t *testing.T) {
	program := filepath.Join(builtPrograms(t), "csiglab")
	t.Chdir(t.TempDir())
	csiglab := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	table := func(folder string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(folder, "results.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	sweep := func(more ...string) {
		t.Helper()
		csiglab(append([]string{"sweep", "incast", "--grid", "workload.incast.fan_in=3,4", "--seeds", "2", "--set", "expect=[]"}, more...)...)
	}
	sweep("--out", "one")
	sweep("--out", "two", "--parallel", "1")
	sweep("--out", "shard1", "--shard", "1/2")
	sweep("--out", "shard2", "--shard", "2/2")
	csiglab("sweep", "--merge", "shard2", "shard1", "--out", "merged")
	for _, other := range []string{"two", "merged"} {
		if !bytes.Equal(table("one"), table(other)) {
			t.Errorf("results.parquet of one and %s differ", other)
		}
	}
}
