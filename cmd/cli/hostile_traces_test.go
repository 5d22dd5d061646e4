package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// chakraFile writes a Chakra trace of n nodes, whose messages fill makes.
func chakraFile(t *testing.T, dir string, rank, n int, fill func(i int, node []byte) []byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("t.%d.et", rank)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	metadata := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "0.0.4")
	out.Write(protowire.AppendBytes(nil, metadata))
	var node, framed []byte
	for i := range n {
		node = fill(i, node[:0])
		framed = protowire.AppendBytes(framed[:0], node)
		out.Write(framed)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}

func chakraNumber(node []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(node, field, protowire.VarintType), value)
}

// TestLargeInputs: csiglab validate keeps its bounds with traces, all-to-alls and expressions
// that are as large as its limits allow, and larger. Time is of the processor, since the
// machine may have other work.
func TestLargeInputs(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	dir := t.TempDir()
	job := func(name string) string {
		return hostileHead + hostileTopology + "jobs:\n  - {name: a, trace: " + filepath.Join(dir, name) + "}\n"
	}
	const id, duration, data = 1, 7, 5
	compute := func(i int, node []byte) []byte {
		return chakraNumber(chakraNumber(chakraNumber(node, id, uint64(i)), 3, 4), duration, 1)
	}
	chakraFile(t, filepath.Join(dir, "small"), 0, 1_000_000, compute)
	chakraFile(t, filepath.Join(dir, "linked"), 0, 200_000, func(i int, node []byte) []byte {
		node = compute(i, node)
		for before := max(0, i-20); before < i; before++ {
			node = chakraNumber(node, data, uint64(before))
		}
		return node
	})
	for rank := range 2 {
		chakraFile(t, filepath.Join(dir, "beyond"), rank, 600_000, compute)
		chakraFile(t, filepath.Join(dir, "zeros"), rank, 2_000_000, func(int, []byte) []byte { return nil })
	}
	mentions := strings.Repeat(`mean("*") + `, 800) + "1"
	for _, c := range []struct {
		name, text string
		valid      bool
		want       string
	}{
		{"files of zeros", job("zeros"), false, "more than 1048576 nodes"},
		{"1,200,000 nodes", job("beyond"), false, "more than 1048576 nodes; so large a trace is not checked: csiglab run reads up to 2097152 nodes"},
		{"1,000,000 nodes", job("small"), true, "is valid"},
		{"4,000,000 dependencies", job("linked"), true, "is valid"},
		{"all to all of 1024", hostileHead + "topology: {k_ary: {k: 16, rate: 100Gbps, delay: 1us}}\nworkload: {all_to_all: {size: 1MB}}\n", true, "1047552 flows"},
		{"patterns", hostileHead + "topology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}\nworkload: {all_to_all: {size: 1MB}}\nderived:\n" +
			repeated(100, func(i int) string { return fmt.Sprintf("  - {name: m%d, expr: '%s'}\n", i, mentions) }), false, "stand for more than 20000000 metrics of a run"},
		{"different patterns", hostileValid + "derived:\n" +
			repeated(35, func(i int) string {
				return fmt.Sprintf("  - {name: m%d, expr: '%s1'}\n", i, repeated(35, func(k int) string {
					return fmt.Sprintf(`count("%s_%s") + `, strings.Repeat("*", i+1), strings.Repeat("*", k+1))
				}))
			}), false, "more than 1000 different patterns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, "experiment.yaml")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			a := ask(t, "validate", path)
			h := hostile{valid: c.valid}
			if wrong := h.wrong(a); wrong != "" && (!c.valid || wrong != "gave no message") || !strings.Contains(a.said, c.want) {
				t.Errorf("%s (%v of CPU, %d MB), want %q: %.300s", wrong, a.cpu, a.memory>>20, c.want, a.said)
			}
			t.Logf("%v of CPU, at most %d MB", a.cpu, a.memory>>20)
		})
	}
	t.Run("1,200,000 nodes are run", func(t *testing.T) {
		path := filepath.Join(dir, "experiment.yaml")
		if err := os.WriteFile(path, []byte(job("beyond")), 0o600); err != nil {
			t.Fatal(err)
		}
		a := ask(t, "run", path, "--out", filepath.Join(dir, "out"))
		if a.code != command.ExitOK || strings.Contains(a.said, "so large a trace") {
			t.Errorf("exit code %d, want 0: %.300s", a.code, a.said)
		}
		t.Logf("%v of CPU, at most %d MB", a.cpu, a.memory>>20)
	})
}
