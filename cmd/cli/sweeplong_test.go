package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
)

// A sweep whose flows have other names with each seed has more metrics than Parquet files have
// columns. It ends with a table, whose bytes --resume gives again, and which compare
// reads.
func TestSweepOfManyMetrics(t *testing.T) {
	needTime(t)
	const seeds = 4
	file := write(t, "many.yaml", "schema: 1\nname: many\ntopology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 512, rate: 100Gbps, delay: 1us}}\nworkload: {permutation: {size: 10kB}}\n")
	dir := filepath.Join(t.TempDir(), "sweep")
	code, out, said := separately(t, "sweep", file, "--seeds", fmt.Sprint(seeds), "--out", dir)
	found := regexp.MustCompile(`too few columns for (\d+) metrics: the table has a row for each metric of each trial`).FindStringSubmatch(out)
	if code != command.ExitOK || found == nil {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	if n, err := strconv.Atoi(found[1]); err != nil || n <= 1<<16 {
		t.Errorf("%d metrics, %v", n, err)
	}
	if rows := tableRows(t, dir); len(rows) != seeds || !strings.Contains(rows[seeds-1], "run 4 pass true") {
		t.Errorf("%d rows: %.300q", len(rows), rows)
	}
	table := read(t, filepath.Join(dir, results.File))
	again, text, said := separately(t, "sweep", "--resume", dir)
	if again != code || text != out || !bytes.Equal(read(t, filepath.Join(dir, results.File)), table) {
		t.Errorf("resumed: exit code %d\n%s%s", again, text, said)
	}
	if code, out, said := separately(t, "compare", dir, dir); code != command.ExitOK {
		t.Errorf("compare: exit code %d\n%.500s%s", code, out, said)
	}
	// Chosen metrics make a table with a column for each.
	if code, out, said := separately(t, "sweep", "--resume", dir, "--metric", "fct_us.*"); code != command.ExitOK || strings.Contains(out, "too few columns") {
		t.Errorf("exit code %d\n%.500s%s", code, out, said)
	}
}
