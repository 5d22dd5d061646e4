package campaign

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/nccl"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/jobs"
)

// stepsText has the same job over a link of a quarter of the rate, without CSIG and with
// it, and with a rank that computes 20 % longer over links of the full rate.
const stepsText = `
schema: 1
name: steps
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
telemetry: {interval: 10us}
faults: [{kind: rate, links: tor0-agg0, rate: 25Gbps, at: 0s}]
jobs:
- {name: train, profile: {compute: 500us, bytes: 1MB}, steps: 3, jitter: 0.005}
variants:
  even: {}
  csig: {csig: {format: compact}}
  straggler:
    faults: []
    jobs:
    - {name: train, profile: {compute: 500us, bytes: 1MB}, steps: 3, jitter: 0.005, stragglers: [{rank: 5, slow: 0.2}]}
`

// reported returns a section of a report.
func reported[S section.Section](t *testing.T, r *reports.Report) S {
	t.Helper()
	s, ok := reports.Of[S](r)
	if !ok {
		t.Fatalf("the report has no %T", s)
	}
	return s
}

// jobsOf runs an experiment and reads its report.
func jobsOf(t *testing.T, text string) (*reports.Report, *runfolder.Folder) {
	t.Helper()
	return analysed(t, parseText(t, text))
}

// analysed runs a set and reads its report.
func analysed(t *testing.T, set *experiment.Set) (*reports.Report, *runfolder.Folder) {
	t.Helper()
	result, err := Run(context.Background(), set, Options{Out: filepath.Join(t.TempDir(), "run")})
	if err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(result.Folder)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reports.Read(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	return r, f
}

// "A straggler of 20 % in one rank shows in the step's critical path by name; without it
// the critical path is the bottleneck link's" (issue 13, must show 7).
func TestCriticalPaths(t *testing.T) {
	r, _ := jobsOf(t, stepsText)
	numbers := reported[*jobs.Section](t, r)
	if len(numbers.Jobs) != 3 {
		t.Fatalf("%d jobs", len(numbers.Jobs))
	}
	for i := range numbers.Jobs {
		j := &numbers.Jobs[i]
		if len(j.Paths) != 3 || j.Slowest < 0 || j.Done != 3 {
			t.Fatalf("%s: %d paths, the slowest %d, %v steps done; want 3 of them", j.Variant, len(j.Paths), j.Slowest, j.Done)
		}
		collective := j.Collectives[0].SlowestIn
		for _, p := range append(slices.Clone(j.Paths), *collective) {
			where := fmt.Sprintf("%s, step %d, %s", j.Variant, p.Step, p.Collective)
			if got := p.ComputeUS + p.TransferUS + p.IdleUS; math.Abs(got-p.US()) > 1e-3 {
				t.Errorf("%s: the pieces are %v us long, the whole is %v", where, got, p.US())
			}
			l := p.Lost
			switch {
			case l == nil:
				t.Errorf("%s: nothing is lost", where)
			case j.Variant != "straggler":
				if l.Rank >= 0 || l.Port != "tor0-agg0" && l.Port != "agg0-tor0" || l.Share < 0.2 || l.DelayUS <= 0 || l.Flow == "" {
					t.Errorf("%s: lost %+v, want at the link tor0-agg0", where, l)
				}
			case p.Collective == "" && (l.Rank != 5 || l.Host != "h5" || math.Abs(l.US-100) > 10):
				t.Errorf("%s: lost %+v, want 100 us at rank 5 on h5", where, l)
			}
		}
		slowest := &j.Paths[j.Slowest]
		if len(slowest.Pieces) == 0 || slowest.Pieces[0].FromUS != slowest.FromUS || slowest.Pieces[len(slowest.Pieces)-1].ToUS != slowest.ToUS {
			t.Errorf("%s: the pieces go from %v to %v", j.Variant, slowest.FromUS, slowest.ToUS)
		}
		for k := 1; k < len(slowest.Pieces); k++ {
			if a, b := slowest.Pieces[k-1], slowest.Pieces[k]; a.ToUS != b.FromUS {
				t.Errorf("%s: a piece ends at %v, the next one begins at %v", j.Variant, a.ToUS, b.FromUS)
			}
		}
		if j.Picture == nil || len(j.Picture.Lanes) != 8 || !j.Picture.Few {
			t.Errorf("%s: the picture does not have 8 lanes", j.Variant)
		}
	}
	if s := numbers.Jobs[2]; s.Straggler == nil || *s.Straggler != 5 || math.Abs(s.StragglerRatio.P50-1.17) > 0.02 { // 1.2 over the mean of 1.025
		t.Errorf("straggler %+v, ratio %+v", s.Straggler, s.StragglerRatio)
	}
	texts := strings.Join(r.Findings(), "\n")
	for _, want := range []string{"in straggler", "at rank 5 (h5)", "computes longer than the median rank"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the findings lack %q:\n%s", want, texts)
		}
	}
}

// The metrics of a job and of its collective are those of its records, and expressions
// find them by name and by pattern; connections have no completion times.
func TestMetricsOfAJob(t *testing.T) {
	numbers, f := jobsOf(t, `
schema: 1
name: metrics
topology: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
csig: {format: compact}
workload: {transfers: [0 -> 1 1MB]}
jobs: [{name: ring, hosts: [0..3], collective: {kind: all_reduce, size: 16MiB}, steps: 2, start: 1ms}]
derived: [{name: exposure, expr: 'm("exposed_us.mean.ring") / m("iteration_us.mean.ring")'}]
expect:
- run["busbw_gbps.mean.ring.all_reduce"] > 85
- run["busbw_gbps.mean.ring.all_reduce"] < 100
- max(run["cct_us.*.ring.*"]) == run["cct_us.max.ring.all_reduce"]
- run.exposure > 0.95
- run["flows.incomplete"] == 0
`)
	for _, e := range f.Summary.Expectations {
		if !e.OK {
			t.Errorf("%s: %s", e.Text, e.Reason)
		}
	}
	if len(numbers.Completion) != 1 || numbers.Completion[0].Flow != "0-1" {
		t.Errorf("flows with completion times: %+v", numbers.Completion)
	}
	samples := 0
	for row, err := range f.Signals() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Job != nil && row.Step != nil && row.Collective == "all_reduce" && row.Group != nil {
			samples++
		}
	}
	if samples == 0 {
		t.Error("no CSIG sample names the collective that it hurt")
	}
	steps, instances := map[int32]int{}, 0
	for row, err := range f.Operations() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Kind == "send" {
			steps[row.Step]++
		}
	}
	for row, err := range f.Instances() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Collective != "" && row.Ranks == 4 {
			instances++
		}
	}
	if steps[1] != 4*6 || steps[2] != 4*6 || instances != 2 { // 2(N-1) messages of each of N ranks
		t.Errorf("sends by step %v, %d instances; want 24 in each of two, and 2", steps, instances)
	}
}

// The JSON of nccl-tests, version 3: bandwidths are S/t and times 2(N-1)/N in 1e9 bytes
// per second, and the statistics are those of the times. Keys as its src/util.cu writes them.
func TestNCCL(t *testing.T) {
	_, f := jobsOf(t, `
schema: 1
name: nccl
topology: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 4, rate: 50Gbps, delay: 100ns}}
jobs: [{name: ring, collective: {kind: all_reduce, size: 1MiB, gap: 10us, warmup: 2}, steps: 5}]
seeds: [1, 2]
`)
	n, err := nccl.Read(f, "run")
	if err != nil {
		t.Fatal(err)
	}
	if n.Version != 3 || len(n.Results) != 2 || n.Config.Iterations != 5 || n.Config.Warmup != 2 || len(n.Config.Devices) != 4 || n.Config.Devices[3].Host != "h3" || n.Config.Minimum != 1<<20 {
		t.Errorf("got %+v", n)
	}
	for _, r := range n.Results {
		times, o, p := r.PerIteration.Times, r.OutOfPlace, r.PerIteration
		if len(times) != 5 || r.Iterations != 5 || r.Size != 1<<20 || r.Count != 1<<18 || r.Op != "sum" || r.Root != "    -1" || r.InPlace != nil {
			t.Fatalf("%+v", r)
		}
		var mean, deviation float64
		for _, us := range times {
			mean += us / 5
		}
		for _, us := range times {
			deviation += (us - mean) * (us - mean) / 5
		}
		sorted := slices.Sorted(slices.Values(times))
		near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*want }
		if !near(o.US, mean) || !near(o.AlgBW, (1<<20)/mean/1000) || !near(o.BusBW, o.AlgBW*1.5) || !near(p.SD, math.Sqrt(deviation)) || !near(p.CV, 100*p.SD/mean) ||
			p.Min != sorted[0] || p.P50 != sorted[2] || p.P95 != sorted[4] || p.P99 != sorted[4] || p.Max != sorted[4] || !near(p.Mean, mean) {
			t.Errorf("%+v and %+v of %v", o, p, times)
		}
		if gbps := o.BusBW * 8; gbps < 25 || gbps > 50 {
			t.Errorf("bus bandwidth of %v Gb/s on links of 50", gbps)
		}
	}
	if _, err := nccl.Read(f, "other"); err == nil {
		t.Error("an unknown variant has results")
	}
}
