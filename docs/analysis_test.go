package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// fenced returns the blocks of a language in a document's section.
func fenced(t *testing.T, document, section, language string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	var list []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		list = append(list, m[1])
	}
	if !found || len(list) == 0 {
		t.Fatalf("%s has no blocks of %s below %s", document, language, section)
	}
	return list
}

// analysed makes the run folder of a document, runs/NAME, with its command in dir, in which
// the document's blocks run.
func analysed(t *testing.T, dir, document, name string) *runfolder.Folder {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks(string(text))
	if err != nil || len(list) != 1 || len(list[0].commands) != 1 {
		t.Fatalf("%s: %d blocks of commands, %v; want one with one command", document, len(list), err)
	}
	run := exec.Command("sh", "-c", list[0].commands[0].text)
	run.Env = environment(filepath.Join(dir, "bin"))
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", list[0].commands[0].text, err, out)
	}
	f, err := runfolder.Open(filepath.Join(dir, "runs", name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// duckDB returns the command of DuckDB, which prints the rows of the query on its standard
// input as a JSON list. It skips the test where there is none.
func duckDB(t *testing.T) []string {
	t.Helper()
	if works("duckdb", "--version") {
		return []string{"duckdb", "-json"}
	}
	if !works("node", "-e", "require('@duckdb/node-api')") {
		t.Skip("neither the command duckdb nor the npm package @duckdb/node-api is here")
	}
	return []string{"node", script(t, "duckdb.js")}
}

// query returns the rows of each of some queries.
func query(t *testing.T, dir string, queries []string, duckdb []string) (results [][]map[string]any) {
	t.Helper()
	sql := strings.Join(queries, "\n")
	lists := json.NewDecoder(bytes.NewReader(tool(t, dir, sql, duckdb...)))
	for _, one := range queries {
		var rows []map[string]any
		if err := lists.Decode(&rows); err != nil {
			t.Fatalf("%v of\n%s", err, one)
		}
		if len(rows) == 0 {
			t.Errorf("no row of\n%s", one)
		}
		results = append(results, rows)
	}
	return results
}

// pandas returns a Python with pandas, and lines that make it read tables of a folder where
// pyarrow is not here. It skips the test where there is none.
func pandas(t *testing.T, folder string, modules ...string) (python, before string) {
	t.Helper()
	modules = append(modules, "pandas")
	if python = pythonWith(modules...); python == "" {
		t.Skipf("the Python modules %v are not here", modules)
	}
	if with := pythonWith(append(modules, "pyarrow")...); with != "" {
		return with, ""
	}
	t.Log("pandas reads copies of the tables as lines of JSON, as pyarrow is not here")
	copyTables(t, folder)
	return python, "import pandas\npandas.read_parquet = lambda name: pandas.read_json(name + '.json', lines=True)\n"
}

// testTelemetry runs the lines of docs/reference/telemetry.md on the folder that its command makes.
func testTelemetry(t *testing.T, dir string) {
	const document, section = "reference/telemetry.md", "One line each"
	if err := os.CopyFS(filepath.Join(dir, "docs", "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	f := analysed(t, dir, document, "step")
	busiest := map[string]float64{} // share of its busiest window, by port
	for w, err := range f.Ports() {
		if err != nil {
			t.Fatal(err)
		}
		busiest[w.PortName] = max(busiest[w.PortName], float64(*w.BusyPS)/(f.Manifest.IntervalUS*1e6))
	}
	t.Run("DuckDB", func(t *testing.T) {
		duckdb := duckDB(t)
		lines := strings.Split(strings.TrimSpace(fenced(t, document, section, "sql")[0]), "\n")
		for _, row := range query(t, dir, lines, duckdb)[0] {
			if name, _ := row["port_name"].(string); !near(row["busiest_window"], busiest[name]) {
				t.Errorf("%v, want %v", row, busiest[name])
			}
		}
		for table := range f.Manifest.Tables {
			if !strings.Contains(strings.Join(lines, "\n"), table+".parquet") {
				t.Errorf("no line reads %s.parquet", table)
			}
		}
	})
	t.Run("pandas", func(t *testing.T) {
		python, before := pandas(t, filepath.Join(dir, "runs", "step"))
		block := fenced(t, document, section, "python")[0]
		out := string(tool(t, dir, before+block, python, "-W", "ignore", "-"))
		for _, want := range []string{"low_sum", "took_us", "g0.rail0-spine0", "retransmitted", "value"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s is not in what the lines print:\n%s", want, out)
			}
		}
	})
}

// tool runs a program in dir with an input, and returns what it prints.
func tool(t *testing.T, dir, input string, command ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\nof\n%s", command[0], err, tail(stderr.Bytes()), input)
	}
	return out
}

// works reports whether a program ends well.
func works(command ...string) bool { return exec.Command(command[0], command[1:]...).Run() == nil }

// script returns the absolute name of a file in testdata.
func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The blocks of docs/how-to/analysis.md run on the folder that its command makes, and the queue
// and the delays are those that csiglab's own reader finds; the lines of docs/reference/telemetry.md
// run too. Tools that are not here are
// skipped; .ci/run installs them.
func TestAnalysis(t *testing.T) {
	checkout.SkipLong(t)
	const document = "how-to/analysis.md"
	dir := t.TempDir()
	programs(t, dir, false)
	t.Run("telemetry.md", func(t *testing.T) { testTelemetry(t, dir) })
	t.Run("sweep.md", func(t *testing.T) { testSweep(t, dir) })
	f := analysed(t, dir, document, "analysed")
	t.Run("DuckDB", func(t *testing.T) {
		duckdb := duckDB(t)
		results := query(t, dir, fenced(t, document, "DuckDB", "sql"), duckdb)
		compareQueue(t, f, results[0])
		compareDelays(t, f, results[2])
		compareTimes(t, f, results[5])
	})
	t.Run("Polars", func(t *testing.T) {
		block := fenced(t, document, "Polars", "python")[0]
		python := pythonWith("polars")
		if python != "" {
			if out := tool(t, dir, block, python, "-"); !strings.Contains(string(out), "mean_kb") {
				t.Errorf("prints\n%s", out)
			}
			return
		}
		if !works("node", "-e", "require('nodejs-polars')") {
			t.Skip("neither the Python module polars nor the npm package nodejs-polars is here")
		}
		t.Log("the queries run in nodejs-polars, as the Python module is not here")
		input := struct {
			Tables  map[string]string `json:"tables"`
			Queries []string          `json:"queries"`
		}{Tables: map[string]string{}}
		for _, m := range regexp.MustCompile(`"([a-z]+)"[],]`).FindAllStringSubmatch(block, -1) {
			input.Tables[m[1]] = filepath.Join("runs", "analysed", m[1]+".parquet")
		}
		for _, m := range regexp.MustCompile(`(?s)"""(.*?)"""`).FindAllStringSubmatch(block, -1) {
			input.Queries = append(input.Queries, m[1])
		}
		text, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		var results [][]map[string]any
		if err := json.Unmarshal(tool(t, dir, string(text), "node", script(t, "polars.js")), &results); err != nil {
			t.Fatal(err)
		}
		if len(results) != strings.Count(block, "tables.execute") {
			t.Fatalf("%d queries of\n%s", len(results), block)
		}
		for i, rows := range results {
			if len(rows) == 0 {
				t.Errorf("no row of %s", input.Queries[i])
			}
		}
		compareQueue(t, f, results[0])
		compareDelays(t, f, results[2])
		compareTimes(t, f, results[3])
	})
	t.Run("pandas", func(t *testing.T) {
		python, before := pandas(t, filepath.Join(dir, "runs", "analysed"), "matplotlib")
		for _, block := range fenced(t, document, "pandas", "python") {
			out := tool(t, dir, before+block, python, "-W", "ignore", "-")
			if strings.Contains(block, "print(") && len(out) == 0 {
				t.Errorf("prints nothing:\n%s", block)
			}
		}
		file, err := os.Open(filepath.Join(dir, "runs", "analysed", "figure.png"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		picture, err := png.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		colours := map[[3]uint32]bool{}
		for x := range picture.Bounds().Dx() {
			for y := range picture.Bounds().Dy() {
				r, g, b, _ := picture.At(x, y).RGBA()
				colours[[3]uint32{r, g, b}] = true
			}
		}
		if len(colours) < 100 {
			t.Errorf("the figure has %d colours, want those of lines and texts", len(colours))
		}
	})
}

// pythonWith returns a Python that has the modules, or "".
func pythonWith(modules ...string) string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if works(python, "-c", "import "+strings.Join(modules, ", ")) {
			return python
		}
	}
	return ""
}

// compareQueue compares rows with start_us, mean_kb and peak_kb with the windows of
// tor0-agg0 in csig, seed 1.
func compareQueue(t *testing.T, f *runfolder.Folder, rows []map[string]any) {
	t.Helper()
	at := map[float64]map[string]any{}
	for _, row := range rows {
		at[row["start_us"].(float64)] = row
	}
	windows := 0
	for w, err := range f.Ports() {
		if err != nil {
			t.Fatal(err)
		}
		if w.Variant != "csig" || w.Seed != 1 || w.PortName != "tor0-agg0" {
			continue
		}
		windows++
		row := at[w.StartUS]
		peak, mean := float64(w.QueueMax)/1e3, float64(w.QueueByteNS)/(f.Manifest.IntervalUS*1e3)/1e3
		if row == nil || !near(row["peak_kb"], peak) || !near(row["mean_kb"], mean) {
			t.Fatalf("window at %v us: %v, want a queue of %v kB, up to %v kB", w.StartUS, row, mean, peak)
		}
	}
	if windows != len(rows) || windows == 0 {
		t.Errorf("%d rows of %d windows", len(rows), windows)
	}
}

// compareDelays compares rows by variant and flow with the samples of delay.
func compareDelays(t *testing.T, f *runfolder.Folder, rows []map[string]any) {
	t.Helper()
	want, got := map[string]float64{}, map[string]float64{}
	for w, err := range f.Signals() {
		if err != nil {
			t.Fatal(err)
		}
		if w.Type == "delay" {
			want[w.Variant+" "+w.FlowName] += float64(w.Samples)
		}
	}
	for _, row := range rows {
		n, ok := row["samples"].(float64)
		if !ok {
			fmt.Sscan(fmt.Sprint(row["samples"]), &n) // DuckDB's sums have 128 bits, which are text
		}
		got[fmt.Sprint(row["variant"], " ", row["flow_name"])] += n
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(want) == 0 {
		t.Errorf("samples by flow %v, want %v", got, want)
	}
}

// compareTimes compares completion times by variant and flow with the summary's medians.
func compareTimes(t *testing.T, f *runfolder.Folder, rows []map[string]any) {
	t.Helper()
	for _, row := range rows {
		name := fmt.Sprint("fct_us.", row["flow_name"])
		if want, ok := f.Summary.Variants[fmt.Sprint(row["variant"])].Metrics[name]; !ok || !near(row["fct_ms"], want/1e3) {
			t.Errorf("%v, want %s of %v", row, name, want)
		}
	}
	if want := len(f.Manifest.Variants) * len(f.Manifest.Flows); len(rows) != want {
		t.Errorf("%d completion times, want %d", len(rows), want)
	}
}

// near reports whether a number of JSON is a value, but for rounding.
func near(v any, want float64) bool {
	got, ok := v.(float64)
	return ok && math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))
}

// copyTables writes each table of a run folder as lines of JSON beside it.
func copyTables(t *testing.T, folder string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d tables, %v", len(names), err)
	}
	for _, name := range names {
		rows, err := parquet.ReadFile[any](name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		lines := json.NewEncoder(&b)
		for _, row := range rows {
			if err := lines.Encode(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(name+".json", b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
