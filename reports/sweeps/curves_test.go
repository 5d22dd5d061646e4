package sweeps

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/reports/chart"
)

const curved = `schema: 1
name: small
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 100kB]}
variants: {base: {}, mine: {hosts.cc: swift}}
seeds: 1..6
sweep: {grid: {hosts.cc.base_target: [20us, 5us, 10us]}}
`

// gains gives the variant mine a value that its target decides.
type gains struct{}

func (gains) Run(_ context.Context, t trial.Trial) (trial.Outcome, error) {
	v := 100 + float64(t.Seed)
	if t.Variant == "mine" {
		for target, factor := range map[string]float64{"=5us": 0.9, "=10us": 0.7, "=20us": 1.3} {
			if strings.Contains(strings.Join(t.Set, " ")+" ", target+" ") {
				v *= factor
			}
		}
	}
	return trial.Outcome{TraceHash: strings.Repeat("ab", 32), Metrics: map[string]float64{"fct_us.p99": v, "fct_us.max": 0}}, nil
}

// A sweep over a number has curves over it in its order: of what a variant gains with its interval, and
// of the medians. A metric that is 0 everywhere has none.
func TestCurves(t *testing.T) {
	folder, of := swept(t, curved, gains{})
	s, err := Read(folder, of, sweep.Key, func(string) meaning.Meaning { return meaning.Meaning{Unit: "µs", Better: meaning.Lower} })
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]*chart.Figure{}
	var ids []string
	for _, f := range s.Figures() {
		figures[f.ID], ids = f, append(ids, f.ID)
	}
	if got := strings.Join(ids, " "); got != "fct_us-p99-gain fct_us-p99-curves" {
		t.Fatalf("figures %s", got)
	}
	gain := figures["fct_us-p99-gain"].Panels[0].Chart.(*chart.Lines)
	if len(gain.Lines) != 1 || gain.X.Label() != "hosts.cc.base_target (µs)" {
		t.Fatalf("%d lines over %s", len(gain.Lines), gain.X.Label())
	}
	l := gain.Lines[0]
	for i, want := range []float64{-10, -30, 30} {
		if x := []float64{5, 10, 20}[i]; l.X[i] != x || math.Abs(l.Y[i]-want) > 1e-9 || l.Low[i] > l.Y[i] || l.High[i] < l.Y[i] {
			t.Errorf("at %v: %v [%v, %v], want %v at %v", l.X[i], l.Y[i], l.Low[i], l.High[i], want, x)
		}
	}
	values := figures["fct_us-p99-curves"].Panels[0].Chart.(*chart.Lines)
	if base := values.Lines[0]; len(values.Lines) != 2 || base.Y[0] != 103.5 || base.Low[2] != 101 || base.High[2] != 106 {
		t.Errorf("%d lines, the first %+v", len(values.Lines), base)
	}
	told := strings.Join(s.story(), " ")
	for _, want := range []string{"mine is ahead of base in 2 of 3 cells", "mine is best at hosts.cc.base_target 10us: fct_us.p99 72.4", "of base: −30\u00a0%"} {
		if !strings.Contains(told, want) {
			t.Errorf("the story lacks %q: %s", want, told)
		}
	}
}

// Values of one kind are amounts, in the unit of the greatest; others are none.
func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"4", "2", "1e3"}, "[4 2 1000] [1 0 2]"},
		{[]string{"500ns", "2us", "1us"}, "µs [0.5 2 1] [0 2 1]"},
		{[]string{"25Gbps", "100Gbps"}, "Gb/s [25 100] [0 1]"},
		{[]string{"64kB", "1MB"}, "MB [0.064 1] [0 1]"},
		{[]string{"4", "2us"}, ""}, {[]string{"reps", "1"}, ""}, {[]string{"as it is", "1us"}, ""},
	} {
		got := ""
		if a := amountsOf(c.texts); a != nil {
			got = strings.TrimSpace(fmt.Sprintf("%s %v %v", a.unit, a.values, a.order))
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.texts, got, c.want)
		}
	}
}
