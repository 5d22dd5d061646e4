package docs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/results"
)

// testSweep runs the lines of docs/how-to/sweep.md on the table of the sweep that its command makes,
// and the jobs of its Slurm array, one of which starts twice: they give the same table.
func testSweep(t *testing.T, dir string) {
	const document = "how-to/sweep.md"
	bin := filepath.Join(dir, "bin")
	example, err := os.ReadFile(filepath.Join("examples", "sweep.yaml"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "docs", "examples"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "docs", "examples", "sweep.yaml"), example, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	shell := func(text string, env ...string) {
		t.Helper()
		cmd := exec.Command("bash", "-c", text)
		cmd.Dir, cmd.Env = dir, append(environment(bin), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v of %s\n%s", err, text, tail(out))
		}
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(string(text))[1], "\n")
	shell(first)
	file := filepath.Join(dir, "sweeps", "queues", results.File)
	best := map[string]float64{} // least p99 of one trial, by fan-in and variant
	table, err := results.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	trials := 0
	for row, err := range table.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		trials++
		key := row.Set[0] + row.Variant
		if old, ok := best[key]; !ok || row.Metrics["fct_us.p99"] < old {
			best[key] = row.Metrics["fct_us.p99"]
		}
	}
	t.Run("Slurm", func(t *testing.T) {
		scripts := fenced(t, document, "Shards", "slurm")
		if len(scripts) != 2 {
			t.Fatalf("%d scripts, want an array and a merge", len(scripts))
		}
		srun := filepath.Join(t.TempDir(), "srun") // of Slurm: runs the command as a step of the job
		if err := os.WriteFile(srun, []byte("#!/bin/sh\nexec \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		path := "PATH=" + filepath.Dir(srun) + string(os.PathListSeparator) + bin + string(os.PathListSeparator) + os.Getenv("PATH")
		const tasks = 2
		for _, task := range []int{2, 1, 2} {
			shell(scripts[0], path, fmt.Sprint("SLURM_ARRAY_TASK_ID=", task), fmt.Sprint("SLURM_ARRAY_TASK_COUNT=", tasks), "SLURM_CPUS_PER_TASK=2")
		}
		shell(scripts[1], path)
		whole, err1 := os.ReadFile(file)
		merged, err2 := os.ReadFile(filepath.Join(dir, "sweeps", "whole", results.File))
		if err1 != nil || err2 != nil || !bytes.Equal(whole, merged) {
			t.Errorf("the array has another table: %d and %d bytes, %v, %v", len(merged), len(whole), err1, err2)
		}
	})
	t.Run("DuckDB", func(t *testing.T) {
		duckdb := duckDB(t)
		lines := strings.Split(strings.TrimSpace(fenced(t, document, "The table", "sql")[0]), "\n")
		answers := query(t, dir, lines, duckdb)
		if len(answers[0]) != 6 {
			t.Errorf("%d rows of %s", len(answers[0]), lines[0])
		}
		for _, row := range answers[0] {
			if key := fmt.Sprint(row["workload.incast.fan_in"], row["variant"]); row["fct_us"].(float64) < best[key] || best[key] == 0 {
				t.Errorf("%v, but the least is %v", row, best[key])
			}
		}
		if got := fmt.Sprint(answers[1]); !strings.Contains(got, fmt.Sprint(trials)) || trials != 24 {
			t.Errorf("%d trials; the second line says %s", trials, got)
		}
	})
	t.Run("pandas", func(t *testing.T) {
		python, before := pandas(t, filepath.Join(dir, "sweeps", "queues"))
		out := string(tool(t, dir, before+fenced(t, document, "The table", "python")[0], python, "-W", "ignore", "-"))
		for _, want := range []string{"100kB", "400kB", "oblivious", "reps", "mixed", "12"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s is not in what the lines print:\n%s", want, out)
			}
		}
	})
}
