package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Each limit is named where the text exceeds it, and what just fits is read.
func TestLimits(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	lists := func(n int) string { return "description: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" }
	for _, c := range []struct{ name, text, want string }{
		{"100 lists", small + lists(99), "description: want a single value, got a list"},
		{"101 lists", small + lists(101), "x.yaml:14:113: nested more than 100 levels deep"},
		{"101 dashes", small + "description:\n" + strings.Repeat("- ", 101) + "a\n", "nested more than 100 levels deep"},
		{"101 indented keys", small + repeatIndented(101), "nested more than 100 levels deep"},
		{"101 tags", small + "description: " + strings.Repeat("!a ", 101) + "a\n", "nested more than 100 levels deep"},
		{"1000 keys", repeat(1000, "k%d: 1\n"), "\nand 954 more"}, // 1000 unknown, and schema, name, topology and workload missing
		{"1001 keys", repeat(1001, "k%d: 1\n"), "x.yaml:1001:1: a mapping with more than 1000 keys"},
		{"1001 keys in one line", small + "description: {" + repeat(1001, "k%d: 1, ") + "}\n", "a mapping with more than 1000 keys"},
		{"a key of 257 bytes", small + strings.Repeat("k", 257) + ": 1\n", "x.yaml:14:1: a key of 257 bytes; the most is 256"},
		{"256 variants", small + "variants:\n" + repeat(256, "  v%d: {}\n"), ""},
		{"257 variants", small + "variants:\n" + repeat(257, "  v%d: {}\n"), "variants: 257 variants are too many; the most is 256"},
		{"many values in many variants", small + "seeds: [" + repeat(2000, "%d, ") + "]\nvariants:\n" + repeat(250, "  v%d: {tie_seed: 1}\n"), "too many; the most is 400000 values in all"},
		{"documents", strings.Repeat("---\n", 102), "more than 100 documents"},
		{"words", small + "description: [" + strings.Repeat("1,", 100_001) + "]\n", "more than 200000 words and signs"},
		{"1001 expectations", small + "expect:\n" + repeat(1001, "  - run.x > %d\n"), "expect: 1001 expressions are too many; the most is 1000"},
		{"a long expression", small + "expect: ['" + strings.Repeat("run.x + ", 1250) + "1 < 2']\n", "expect[0]: an expression of 10005 bytes is too long; the most is 10000"},
		{"a large fabric", strings.Replace(small, small[strings.Index(small, "  fat_tree"):strings.Index(small, "workload")], "  k_ary: {k: 108, rate: 100Gbps, delay: 1us}\n", 1),
			"topology.k_ary.k: too large: 314928 hosts, 14580 switches and 944784 links would take an estimated 1371 MB; the limit is 1200 MB"},
		{"a fabric of many paths", strings.Replace(small, small[strings.Index(small, "  fat_tree"):strings.Index(small, "workload")], "  leaf_spine: {leaves: 4000, spines: 180, hosts_per_leaf: 1, rate: 100Gbps, delay: 1us}\n", 1),
			"the paths from 4000 switches with hosts over 720000 links between switches would take an estimated 720 million steps; the limit is 700 million"},
		{"a Dragonfly of many paths", strings.Replace(small, small[strings.Index(small, "  fat_tree"):strings.Index(small, "workload")], "  dragonfly: {p: 12, a: 24, h: 12, rate: 100Gbps, delay: 1us}\n", 1),
			"the paths from 6936 switches with hosts over 121380 links between switches would take an estimated 1683 million steps; the limit is 700 million"},
		{"262,144 hosts", strings.Replace(small, small[strings.Index(small, "  fat_tree"):strings.Index(small, "workload")], "  k_ary: {k: 102, rate: 100Gbps, delay: 1us}\n", 1), ""},
	} {
		started := time.Now()
		_, err := Parse("x.yaml", t.TempDir(), []byte(c.text), Options{Tables: testTables()})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %.300v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %.300v, want %s", c.name, err, c.want)
		case err != nil && strings.Count(err.Error(), "\n") > maxListed:
			t.Errorf("%s: %d lines, want %d and how many more there are", c.name, strings.Count(err.Error(), "\n"), maxListed)
		}
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("%s: took %v", c.name, took)
		}
	}
}

func repeatIndented(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// Long texts are cut in messages.
func TestLongTextsInMessages(t *testing.T) {
	_, err := Parse("x.yaml", t.TempDir(), []byte(strings.Replace(small, "name: small", "name: "+strings.Repeat("x", 100_000), 1)), Options{Tables: testTables()})
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "name") {
		t.Errorf("%d bytes: %.200v", len(fmt.Sprint(err)), err)
	}
}

// Only regular files of text are read, and by whichever key they are named.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, packed := filepath.Join(dir, "pipe"), filepath.Join(dir, "x.topo")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packed, []byte("\x1f\x8b\x08\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{pipe, pipe + ": not a regular file, but a named pipe"},
		{"/dev/zero", "/dev/zero: not a regular file, but a device"},
		{packed, packed + ": compressed with gzip; unpack it first"},
	} {
		if _, err := Load(c.name, Options{Tables: testTables()}); err == nil || err.Error() != c.want {
			t.Errorf("Load(%s): got %v, want %s", c.name, err, c.want)
		}
		if _, err := (Topology{Spec: TopologyFile(c.name)}).Build(); err == nil || err.Error() != c.want {
			t.Errorf("topology %s: got %v, want %s", c.name, err, c.want)
		}
		if _, _, err := (Workload{Spec: WorkloadFile(c.name)}).Build(4, Links{}, 1); err == nil || err.Error() != c.want {
			t.Errorf("workload %s: got %v, want %s", c.name, err, c.want)
		}
	}
}
