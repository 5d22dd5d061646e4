package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/series"
)

// TestReportForms holds that a run's folder has its report in each form.
func TestReportForms(t *testing.T) {
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	file := filepath.Join(folder, runfolder.ReportFile)
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "report", folder); code != 0 || stdout != file+"\n" {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if page, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(page), "<!doctype html>") {
		t.Errorf("page of %d bytes: %v", len(page), err)
	}
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--markdown"); code != 0 || !strings.HasPrefix(stdout, "# three-flow\n") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--json")
	var numbers struct {
		Verdict reading.Verdict
		Charts  []series.Chart
	}
	if err := json.Unmarshal([]byte(stdout), &numbers); code != 0 || err != nil || numbers.Verdict.Count(reading.Reproduced) != 1 || len(numbers.Charts) != 6 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
}

// numbers returns the numbers of a run folder that has the summary and no record,
// with a bottleneck.
func (f *fakeLab) numbers() (*reports.Report, error) {
	parent, err := os.MkdirTemp("", "csiglab")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(parent)
	m := runfolder.Manifest{Name: f.summary.Name, IntervalUS: 100}
	for _, v := range f.set.Variants {
		m.Variants = append(m.Variants, runfolder.Variant{Name: v.Name})
	}
	for _, p := range f.set.Base.Published {
		m.Published = append(m.Published, runfolder.Published{Variant: p.Variant, Metric: p.Metric, Value: p.Value, Low: p.Low, High: p.High, Note: p.Note})
	}
	w, err := runfolder.Create(filepath.Join(parent, "x"), m)
	if err != nil {
		return nil, err
	}
	if err := w.Finish(f.summary); err != nil {
		return nil, err
	}
	folder, err := runfolder.Open(w.Dir())
	if err != nil {
		return nil, err
	}
	for _, seed := range f.set.Base.Seeds {
		folder.Manifest.Runs = append(folder.Manifest.Runs, runfolder.Run{Variant: m.Variants[0].Name, Seed: seed})
	}
	r, err := reports.Read(folder, measure.Meaning)
	if err == nil {
		r.Limits = []reading.Port{{Place: reading.Place{From: "tor0", To: "agg0"}, Full: true, Use: []reading.Use{{Variant: "csig", Utilisation: 0.99, MeanQueueBytes: 5e4}}}}
	}
	return r, err
}

// "csiglab report RUN --nccl-json" is of one variant that has a job of kind collective.
func TestReportNCCL(t *testing.T) {
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	for want, args := range map[string][]string{
		"--nccl-json is of one variant; add --variant with one of: baseline csig csig-wide": {"--nccl-json"},
		"variant csig has no job of kind collective":                                        {"--nccl-json", "--variant", "csig"},
		`unknown variant "cs"; known: baseline csig csig-wide`:                              {"--nccl-json", "--variant", "cs"},
		"--variant needs --nccl-json":                                                       {"--variant", "csig"},
		"--json and --nccl-json exclude each other":                                         {"--nccl-json", "--json"},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"report", folder}, args...)...); code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s%s, want %q", args, code, stdout, stderr, want)
		}
	}
	if code, stdout, _ := csiglab(&fakeLab{}, nil, "report", t.TempDir(), "--nccl-json"); code != command.ExitUsage || stdout != "" {
		t.Errorf("an empty folder: exit %d", code)
	}
}

// Tables as nccl-tests print them: size, time and bandwidths of each collective of a run, and of each
// point of a sweep; algbw is size over time, busbw that by 2(n-1)/n.
func TestCollectiveTables(t *testing.T) {
	dir := t.TempDir()
	file := write(t, "ring.yaml", `
schema: 1
name: ring
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
jobs: [{name: ar, steps: 1, collective: {kind: all_reduce, size: 1MiB}}]
`)
	run, swept := filepath.Join(dir, "run"), filepath.Join(dir, "sweep")
	for _, args := range [][]string{{"run", file, "--no-report", "--out", run}, {"sweep", file, "--grid", "jobs[0].collective.size=1MiB,4MiB", "--out", swept}} {
		if code, _, said := separately(t, args...); code != command.ExitOK {
			t.Fatalf("%q: exit %d: %s", args, code, said)
		}
	}
	row := func(folder, first string) []string {
		t.Helper()
		code, out, said := csiglab(&fakeLab{}, nil, "report", folder, "--nccl")
		for line := range strings.Lines(out) {
			if cells := strings.Fields(line); code == command.ExitOK && len(cells) > 3 && cells[0] == first {
				return cells
			}
		}
		t.Fatalf("report %s: exit %d, no row %q:\n%s%s", folder, code, first, out, said)
		return nil
	}
	cells := row(run, "run")
	var numbers []float64
	for _, text := range cells[len(cells)-3:] {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(cells, err)
		}
		numbers = append(numbers, v)
	}
	us, alg, bus := numbers[0], numbers[1], numbers[2]
	if cells[5] != "1048576" || math.Abs(alg-1048576/us/1e3) > 0.01 || math.Abs(bus-alg*2*3/4) > 0.02 || us < 1e6/25e3*1.5 {
		t.Errorf("%q: want 1 MiB, its algbw and busbw", cells)
	}
	if small := row(swept, "1MiB"); !slices.Equal(small[len(small)-3:], cells[len(cells)-3:]) {
		t.Errorf("the sweep has %q, the run %q", small, cells)
	}
	if large := row(swept, "4MiB"); large[len(large)-3] == cells[len(cells)-3] {
		t.Errorf("4 MiB take as long as 1 MiB: %q", large)
	}
	if code, out, said := csiglab(&fakeLab{}, nil, "report", readingtest.ThreeFlow().Folder(t, nil).Dir, "--nccl"); code == command.ExitOK || out != "" || !strings.Contains(said, "has no times of collectives") {
		t.Errorf("a run without collectives: exit %d: %s%s", code, out, said)
	}
}

// "--csv everywhere that a table is" (issue 35): the metrics of a run, and of a comparison, as rows.
func TestCSV(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if code, _, said := separately(t, "run", pointsFile(t, "100kB", "variants: {a: {}, b: {links.mtu: 1500B}}\n"), "--no-report", "--out", dir); code != command.ExitOK {
		t.Fatalf("exit %d: %s", code, said)
	}
	f, err := runfolder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(args ...string) map[string][]string {
		t.Helper()
		code, stdout, stderr := csiglab(&fakeLab{}, nil, args...)
		list, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
		if code != command.ExitOK || stderr != "" || err != nil || len(list) < 2 {
			t.Fatalf("%v: exit %d, %s, %v:\n%s", args, code, stderr, err, stdout)
		}
		byName := map[string][]string{}
		for _, row := range list[1:] {
			byName[strings.Join(row[:3], " ")] = row
		}
		return byName
	}
	of := rows("report", f.Dir, "--csv")
	for name, v := range f.Summary.Variants {
		for _, r := range v.Runs {
			for metric, want := range r.Metrics {
				row := of[fmt.Sprintf("%s %d %s", name, r.Seed, metric)]
				if row == nil || row[3] != strconv.FormatFloat(want, 'g', -1, 64) {
					t.Errorf("%s, seed %d: %s is %v, want %v", name, r.Seed, metric, row, want)
				}
			}
		}
	}
	compared := rows("compare", f.Dir+":a", f.Dir+":b", "--csv")
	if row := compared["a and b fct_us.mean µs"]; row == nil || row[3] != "lower" || row[len(row)-1] == "" {
		t.Errorf("fct_us.mean: %v of %v", row, slices.Sorted(maps.Keys(compared)))
	}
}
