package sweep

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// ownNames is a runner whose runs have metrics of their own, as runs with other flows do.
type ownNames struct{ metrics int }

func (o ownNames) Run(_ context.Context, t trial.Trial) (trial.Outcome, error) {
	m := map[string]float64{"fct_us.p99": float64(t.Seed)}
	for i := range o.metrics {
		m[fmt.Sprintf("fct_us.%s-%d-%s-%d", strings.Join(t.Set, " "), i, t.Variant, t.Seed)] = float64(i)
	}
	return trial.Outcome{Metrics: m}, nil
}

// A sweep whose points have more metrics together than Parquet files have columns ends with
// its results.
func TestMoreMetricsThanColumns(t *testing.T) {
	checkout.SkipSlowRace(t)
	const each = 3000
	s := create(t, plan(t, request(file(t, text))))
	sum, _ := swept(t, s, ownNames{each}, 2)
	if want := fmt.Sprintf("%d metrics", each*sum.Trials+1); !strings.Contains(sum.Text(), want) {
		t.Errorf("%.500s\nwant %q", sum.Text(), want)
	}
	list := rows(t, sum)
	for _, row := range list {
		if len(row.Metrics) != each+1 || row.Metrics["fct_us.p99"] != float64(row.Seed) {
			t.Errorf("point %d, %s, seed %d: %d metrics, want %d", row.Point, row.Variant, row.Seed, len(row.Metrics), each+1)
		}
	}
	if len(list) != sum.Trials || sum.Trials*each < 1<<16 {
		t.Errorf("%d rows of %d trials", len(list), sum.Trials)
	}
	// Chosen metrics make a wide table again, without running anything.
	if again, _ := finished(t, s, "fct_us.p99"); strings.Contains(again.Text(), "has a row for each metric") {
		t.Errorf("%.500s", again.Text())
	}
}

// A sweep that judges writes the metrics that it judges by; a pattern brings back the others.
func TestJudgedMetrics(t *testing.T) {
	s := create(t, plan(t, request(file(t, `schema: 1
name: judged
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 100kB]}
seeds: 1..2
sweep:
  axes: {lb: {plain: {hosts.lb: single}, other: {hosts.lb: ecmp}}}
  judge: {between: [lb], metrics: {fct_us.p99: Tail, jain.all: Fairness}}
`))))
	sum, _ := swept(t, s, ownNames{3}, 2)
	for _, row := range rows(t, sum) {
		if len(row.Metrics) != 1 || row.Metrics["fct_us.p99"] != float64(row.Seed) { // no run has the other one
			t.Errorf("point %d, seed %d: %v", row.Point, row.Seed, row.Metrics)
		}
	}
	again, _ := finished(t, s, "*")
	for _, row := range rows(t, again) {
		if len(row.Metrics) != 4 {
			t.Errorf("with every metric, point %d, seed %d: %v", row.Point, row.Seed, row.Metrics)
		}
	}
}
