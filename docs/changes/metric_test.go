package changes_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
)

// The two metrics of this file stand for new ones: each is the entry that its group in package
// measure would have.
var (
	rxPackets = &measure.Entry{Form: "rx_packets", Doc: "packets that ports received", Run: func(r *measure.Run, set measure.Set) {
		total := 0.0
		for _, n := range r.Nodes {
			for _, p := range n.Ports {
				total += float64(p.RxPackets)
			}
		}
		set(total)
	}}
	wait = &measure.Entry{Form: "wait_us.<flow>", Doc: "from the last byte to its ACK", Flow: func(_ *measure.Run, f *metrics.Flow, set measure.Set) {
		set(f.Sender.Done.Sub(f.Receiver.Done).Microseconds())
	}}
)

// extend adds an entry to a table until the test ends.
func extend[T any](t *testing.T, table *[]T, entry T) {
	t.Helper()
	whole := *table
	*table = append(slices.Clone(whole), entry)
	t.Cleanup(func() { *table = whole })
}

const withNewMetrics = `schema: 1
name: new-metrics
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 200kB]}
expect:
  - run.rx_packets > run.data_packets
  - run["wait_us.0-2"] > 3
derived:
  - {name: hops, expr: rx_packets / data_packets}
`

// TestScalarMetric adds a metric of a run and one of each transfer to their groups
// and finds them where a user does: in expressions of the experiment, in summary.json
// and in the report's tables, with their units.
func TestScalarMetric(t *testing.T) {
	extend(t, &measure.Runs.Entries, rxPackets)
	extend(t, &measure.Transfers.Entries, wait)
	set, err := experiment.Parse("new.yaml", "", []byte(withNewMetrics), options(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "run")
	result, err := campaign.Run(t.Context(), set, campaign.Options{Out: folder})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Summary.Expectations {
		if !e.OK {
			t.Errorf("expectation %s: %v", e.Expr, e.Value)
		}
	}
	if m := result.Summary.Variants["run"].Metrics; m["hops"] < 3 {
		t.Errorf("derived metric hops: got %v, want at least 3", m["hops"])
	}
	summary, err := os.ReadFile(filepath.Join(folder, runfolder.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"rx_packets": `, `"wait_us.0-2": `} {
		if !strings.Contains(string(summary), want) {
			t.Errorf("summary.json has no %s", want)
		}
	}
	finished, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	read, err := reports.Read(finished, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	if err := read.WriteMarkdown(&report); err != nil {
		t.Fatal(err)
	}
	if want := "| rx\\_packets | packets |"; !strings.Contains(report.String(), want) {
		t.Errorf("the report has no %q:\n%s", want, report.String())
	}
	var html strings.Builder
	if err := read.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	if want := `<td class="" data-column="Metric">wait_us.0-2</td><td class="" data-column="Unit">µs</td>`; !strings.Contains(html.String(), want) {
		t.Errorf("the page has no %q", want)
	}
}
