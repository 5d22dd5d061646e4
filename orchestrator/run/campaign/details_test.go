package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// manyText has 1260 flows, more than measure.SummaryFlows.
const manyText = `
schema: 1
name: many-flows
topology: {leaf_spine: {leaves: 6, spines: 2, hosts_per_leaf: 6, rate: 100Gbps, delay: 1us}}
workload: {all_to_all: {size: 2kB}}
seeds: [1, 2]
csig: {format: compact}
variants:
  run: {}
derived:
  - {name: one_us, expr: 'm("fct_us.35-0")'}
  - {name: spread, expr: 'max("fct_us.*-7") / min("fct_us.*-7")'}
expect:
  - run["slowdown.12-20"] >= 1
  - every_seed(run["fct_us.max"] == max(run["fct_us.*-*"]))
  - every_seed(count(run["goodput_gbps.*"]) == 1260)
`

// "summaries keep per-flow metrics in Parquet beyond a limit (metrics stay addressable in
// expressions)" (issue 11), also when the runs are interrupted and resumed.
func TestMetricsOfManyFlows(t *testing.T) {
	checkout.SkipSlowRace(t)
	set := parseText(t, manyText)
	dir := filepath.Join(t.TempDir(), "run")
	summary := runIn(t, set, Options{Out: dir, Version: "1"})
	f := open(t, dir)
	metrics := map[uint64]map[string]float64{}
	rows := int64(0)
	for row, err := range f.Metrics() {
		if err != nil {
			t.Fatal(err)
		}
		if metrics[row.Seed] == nil {
			metrics[row.Seed] = map[string]float64{}
		}
		metrics[row.Seed][row.Name] = row.Value
		rows++
	}
	kept := int64(0)
	for _, r := range f.Summary.Variants["run"].Runs {
		kept += int64(len(r.Metrics))
		var ofFlows []string
		for name, value := range r.Metrics {
			if metrics[r.Seed][name] != value {
				t.Errorf("%s is %v in the summary and %v in the table", name, value, metrics[r.Seed][name])
			}
			if quantity, flow, ok := strings.Cut(name, "."); ok && strings.Count(flow, "-") == 1 && !strings.ContainsAny(flow, "abcdefghijklmnopqrstuvwxyz") {
				ofFlows = append(ofFlows, quantity+"."+flow)
			}
		}
		slices.Sort(ofFlows)
		if want := []string{"fct_us.35-0", "slowdown.12-20"}; !slices.Equal(ofFlows, want) {
			t.Errorf("seed %d: the summary has metrics of flows %v, want %v", r.Seed, ofFlows, want)
		}
		for i := range 36 {
			for k := range 36 {
				if _, ok := metrics[r.Seed][fmt.Sprintf("fct_us.%d-%d", i, k)]; ok != (i != k) {
					t.Errorf("seed %d: fct_us.%d-%d in the table: %t", r.Seed, i, k, ok)
				}
			}
		}
	}
	d := f.Summary.Details
	if d == nil || d.File != "metrics.parquet" || d.Metrics != rows-kept || !slices.Equal(d.Of, []string{"flows", "flows by port"}) || summary.Details == nil || summary.Details.Metrics != d.Metrics {
		t.Errorf("details %+v, want the %d metrics of flows that the summary lacks", d, rows-kept)
	}
	if f.Manifest.Tables["phases"] != 2*1260 {
		t.Errorf("%d phases, want every flow of both runs", f.Manifest.Tables["phases"])
	}
	for _, e := range summary.Expectations {
		if !e.OK {
			t.Errorf("%s: %s", e.Expr, e.Text+e.Reason)
		}
	}
	if got, want := f.Summary.Variants["run"].Runs[1].Metrics["one_us"], metrics[2]["fct_us.35-0"]; got != want || want == 0 {
		t.Errorf("the derived metric is %v, want %v", got, want)
	}
	if info, err := os.Stat(filepath.Join(dir, runfolder.SummaryFile)); err != nil || info.Size() > 200_000 {
		t.Errorf("summary: %v, %d bytes", err, info.Size())
	}

	out, err := Again{Folder: dir, Derive: []experiment.Derived{{Name: "worst", Expr: `max("slowdown.*-35")`}},
		Expect: []string{`run["cwnd_kb.max.3-4"] > 0`, `run.worst >= run["slowdown.0-35"]`, `count(run["fct_rx_us.9-*"]) == 35`}}.Evaluate()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.Expectations {
		if !e.OK {
			t.Errorf("again: %s: %s", e.Expr, e.Text+e.Reason)
		}
	}

	cut := filepath.Join(t.TempDir(), "cut")
	ctx, opts := until(1, Options{Out: cut, Version: "1"})
	if _, err := Run(ctx, set, opts); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if d := open(t, cut).Summary.Details; d == nil || d.Metrics != (rows-kept)/2 {
		t.Errorf("details of the first run: %+v, want %d metrics", d, (rows-kept)/2)
	}
	if _, err := Resume(context.Background(), cut, Options{Version: "1"}); err != nil {
		t.Fatal(err)
	}
	sameFolders(t, cut, dir)
}

// "seeds x variants multiply": the limits are of all runs together, so that all have the
// same metrics.
func TestDetailsCountAllRuns(t *testing.T) {
	const text = `
schema: 1
name: limits
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
workload: {all_to_all: {size: 1kB}}
seeds: [%s]
`
	for seeds, want := range map[string][]string{
		"1, 2, 3, 4":    nil,       // 960 flows
		"1, 2, 3, 4, 5": {"flows"}, // 1200
		seedsTo(128):    {"flows"}, // 32 switch ports in each of 128 runs
		seedsTo(129):    {"flows", "ports"},
	} {
		jobs, err := compile(parseText(t, fmt.Sprintf(text, seeds)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := detailsOf(jobs).Names(); !slices.Equal(got, want) {
			t.Errorf("%d runs: details %v, want %v", len(jobs), got, want)
		}
	}
	if measure.SummaryFlows != 1024 || measure.SummaryPortsRuns != 4096 {
		t.Error("the limits have changed; so does docs/reference/metrics.md")
	}
}

func seedsTo(n int) string {
	var seeds []string
	for i := range n {
		seeds = append(seeds, fmt.Sprint(i+1))
	}
	return strings.Join(seeds, ", ")
}
