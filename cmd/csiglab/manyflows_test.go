package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// manyFlowsText is 16,256 flows: every host of a fat tree of 128 sends to every other.
const manyFlowsText = `
schema: 1
name: many-flows
topology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}
workload: {all_to_all: {size: 64kB}}
`

func BenchmarkManyFlows(b *testing.B) {
	file := filepath.Join(b.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte(manyFlowsText), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if code := execute(b.Context(), newLab(), []string{"run", file, "--out", filepath.Join(b.TempDir(), "out")}, nil, io.Discard, io.Discard); code != 0 {
			b.Fatalf("exit code %d", code)
		}
	}
}
