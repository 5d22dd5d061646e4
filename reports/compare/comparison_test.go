package compare_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/variants"
)

// side returns a side of one variant; values are by metric, for the seeds from 1 on.
func side(name, variant string, values map[string][]float64) *compare.Measured {
	c := compare.Case{Variant: variant}
	for metric, list := range values {
		for i, v := range list {
			if i >= len(c.Seeds) {
				c.Seeds = append(c.Seeds, compare.Seed{Seed: uint64(i + 1), TraceHash: fmt.Sprint(name, i), Metrics: map[string]float64{}})
			}
			c.Seeds[i].Metrics[metric] = v
		}
	}
	return &compare.Measured{Folder: name, Experiment: "x", Cases: []compare.Case{c}}
}

// noisy returns n values around a level, of which each is off by up to 0.2 %.
func noisy(n int, level float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = level * (1 + 0.002*math.Sin(float64(i*i)+level))
	}
	return values
}

var design = compare.Design{Meaning: measure.Meaning, Confidence: 0.95, Delta: 0.01}

func compared(t *testing.T, a, b *compare.Measured, d compare.Design) *compare.Comparison {
	t.Helper()
	c, err := compare.Folders(a, b, d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func outcomes(c *compare.CaseComparison) map[string]variants.Effect {
	all := map[string]variants.Effect{}
	for _, m := range c.Metrics {
		all[m.Name] = m.Outcome
	}
	return all
}

// "one of better, worse, same, inconclusive (changed where a metric has no direction)":
// same lies within the delta, the others exclude it.
func TestOutcomesOfComparisons(t *testing.T) {
	const seeds = 14
	wild := noisy(seeds, 100)
	for i := range wild {
		wild[i] *= 1 + 0.1*math.Pow(-1, float64(i))
	}
	a := side("a", "v", map[string][]float64{"fct_us.p99": noisy(seeds, 100), "fct_us.mean": noisy(seeds, 100), "jain.all": noisy(seeds, 0.5), "marks": noisy(seeds, 1000),
		"slowdown.p99": noisy(seeds, 2), "queue_kb.max": noisy(seeds, 100), "trims": make([]float64, seeds), "drops": make([]float64, seeds), "cct_us.p99.j": noisy(seeds, 100)})
	b := side("b", "v", map[string][]float64{"fct_us.p99": noisy(seeds, 110), "fct_us.mean": noisy(seeds, 90), "jain.all": noisy(seeds, 0.6), "marks": noisy(seeds, 1100),
		"slowdown.p99": noisy(seeds, 2.005), "queue_kb.max": wild, "trims": noisy(seeds, 5), "drops": make([]float64, seeds), "rpc_us.p50.j": noisy(seeds, 1)})
	c := compared(t, a, b, design)
	want := map[string]variants.Effect{"fct_us.p99": variants.Worse, "fct_us.mean": variants.Better, "jain.all": variants.Better, "marks": compare.Changed,
		"slowdown.p99": variants.Same, "queue_kb.max": compare.Inconclusive, "trims": variants.Worse, "drops": variants.Same}
	one := &c.Cases[0]
	if diff := cmp.Diff(want, outcomes(one)); diff != "" {
		t.Error(diff)
	}
	if !one.Paired || len(one.Seeds) != seeds || one.Identical || !slices.Equal(one.OnlyA, []string{"cct_us.p99.j"}) || !slices.Equal(one.OnlyB, []string{"rpc_us.p50.j"}) {
		t.Errorf("%+v", one)
	}
	if one.Tested != 7 { // drops are equal for every seed
		t.Errorf("%d metrics were tested, want 7", one.Tested)
	}
	for _, m := range one.Metrics {
		switch m.Name {
		case "fct_us.p99":
			if math.Abs(m.Effect-0.1) > 0.005 || m.Low == nil || *m.Low > m.Effect || *m.High < m.Effect || m.Absolute {
				t.Errorf("%+v", m)
			}
		case "trims": // growth from nothing has no share
			if !m.Absolute || math.Abs(m.Effect-5) > 0.1 || m.Unit != "packets" {
				t.Errorf("%+v", m)
			}
		}
	}
	var order []variants.Effect
	for _, m := range one.Metrics {
		order = append(order, m.Outcome)
	}
	if !slices.IsSortedFunc(order, func(a, b variants.Effect) int {
		return slices.Index(compare.Effects, a) - slices.Index(compare.Effects, b)
	}) {
		t.Errorf("order %v", order)
	}
}

// "corrected for many metrics": with 6 seeds, too few for Holm's correction of thirty, one differs
// that all seeds move alike, and one does not that they move by very different amounts, although
// alone it would.
func TestComparisonIsCorrected(t *testing.T) {
	a, b := map[string][]float64{"fct_us.p99": noisy(6, 100)}, map[string][]float64{"fct_us.p99": noisy(6, 120)}
	if got := compared(t, side("a", "v", a), side("b", "v", b), design).Cases[0].Metrics[0]; got.Outcome != variants.Worse {
		t.Errorf("alone: %+v", got)
	}
	for i := range 29 { // equal ones cost nothing
		name := fmt.Sprintf("equal.%d", i)
		a[name], b[name] = noisy(6, 1), noisy(6, 1)
	}
	if got := compared(t, side("a", "v", a), side("b", "v", b), design).Cases[0].Metrics[0]; got.Outcome != variants.Worse {
		t.Errorf("with equal ones: %+v", got)
	}
	for i := range 29 {
		name := fmt.Sprintf("x.%d", i)
		a[name], b[name] = noisy(6, float64(1+i)), noisy(6, float64(3+i))
		for k := range b[name] { // each its own noise, and nothing else
			b[name][k] *= float64(1+i) / float64(3+i)
		}
	}
	c := compared(t, side("a", "v", a), side("b", "v", b), design)
	if got := outcomes(&c.Cases[0])["fct_us.p99"]; got != variants.Worse || !c.Cases[0].Swapped {
		t.Errorf("one of many: %s, by swapping %v", got, c.Cases[0].Swapped)
	}
	for i, by := range []float64{1.02, 1.1, 1.3, 1.02, 1.2, 1.05} {
		b["fct_us.p99"][i] = a["fct_us.p99"][i] * by
	}
	c = compared(t, side("a", "v", a), side("b", "v", b), design)
	i := slices.IndexFunc(c.Cases[0].Metrics, func(m compare.MetricComparison) bool { return m.Name == "fct_us.p99" })
	if got := c.Cases[0].Metrics[i]; got.Outcome != compare.Inconclusive || !strings.Contains(got.Reason, "it is one of 30 metrics") {
		t.Errorf("one of many that differs by much less in some seeds: %+v", got)
	}
	// Its own advice is enough.
	n := c.FewestSeeds(30)
	clear(a)
	clear(b)
	for i := range 29 {
		name := fmt.Sprintf("x.%d", i)
		a[name], b[name] = noisy(n, 1), noisy(n, 1.0001)
	}
	a["fct_us.p99"], b["fct_us.p99"] = noisy(n, 100), noisy(n, 120)
	if got := outcomes(&compared(t, side("a", "v", a), side("b", "v", b), design).Cases[0])["fct_us.p99"]; got != variants.Worse {
		t.Errorf("with %d seeds: %s", n, got)
	}
	if compared(t, side("a", "v", a), side("b", "v", b), design).Cases[0].Swapped {
		t.Errorf("with %d seeds the sides are still swapped", n)
	}
	if n < 10 || n > 12 {
		t.Errorf("%d seeds for 30 metrics; 2^-n <= 0.05/2/30 asks for 11", n)
	}
}

// "one seed gives no interval".
func TestComparisonOfOneSeed(t *testing.T) {
	c := compared(t, side("a", "v", map[string][]float64{"fct_us.p99": {100}, "trims": {3}}), side("b", "v", map[string][]float64{"fct_us.p99": {150}, "trims": {3}}), design)
	if diff := cmp.Diff(map[string]variants.Effect{"fct_us.p99": compare.Inconclusive, "trims": variants.Same}, outcomes(&c.Cases[0])); diff != "" {
		t.Error(diff)
	}
	if m := c.Cases[0].Metrics[0]; m.Low != nil || m.High != nil || math.Abs(m.Effect-0.5) > 1e-9 {
		t.Errorf("%+v", m)
	}
}

// "seeds common to both are paired, otherwise the unpaired comparison".
func TestComparisonPairsSeeds(t *testing.T) {
	a, b := side("a", "v", map[string][]float64{"fct_us.p99": noisy(12, 100)}), side("b", "v", map[string][]float64{"fct_us.p99": noisy(12, 120)})
	for i := range b.Cases[0].Seeds {
		b.Cases[0].Seeds[i].Seed += 4 // 5 to 16
	}
	one := compared(t, a, b, design).Cases[0]
	if !one.Paired || len(one.Seeds) != 8 || one.Seeds[0] != 5 || len(one.Metrics[0].ValuesA) != 8 || one.Metrics[0].ValuesA[0] != a.Cases[0].Seeds[4].Metrics["fct_us.p99"] {
		t.Errorf("8 in common: %+v", one)
	}
	for i := range b.Cases[0].Seeds {
		b.Cases[0].Seeds[i].Seed += 4 // 9 to 20: 4 in common are too few to throw away 8
	}
	one = compared(t, a, b, design).Cases[0]
	if one.Paired || one.Seeds != nil || len(one.Metrics[0].ValuesB) != 12 || one.Metrics[0].Outcome != variants.Worse {
		t.Errorf("4 in common: %+v", one)
	}
	// A metric that some seeds lack on both sides is compared by those that have it.
	a, b = side("a", "v", map[string][]float64{"fct_us.p99": noisy(12, 100)}), side("b", "v", map[string][]float64{"fct_us.p99": noisy(12, 120)})
	delete(a.Cases[0].Seeds[3].Metrics, "fct_us.p99")
	delete(b.Cases[0].Seeds[3].Metrics, "fct_us.p99")
	if m := compared(t, a, b, design).Cases[0].Metrics[0]; len(m.ValuesA) != 11 || !strings.Contains(m.Reason, "11 of 12 seeds") {
		t.Errorf("%+v", m)
	}
}

// Where a side lacks seeds that the other has, those that are left say nothing: a flow that
// does not end has no completion time, which would make the rest look better.
func TestComparisonOfLackingSeeds(t *testing.T) {
	const seeds = 14
	for _, c := range []struct {
		lackA, lackB []int
		first        uint64 // of B's seeds
		want         variants.Effect
	}{
		{nil, nil, 1, variants.Better},
		{nil, []int{3, 9}, 1, compare.Inconclusive},
		{[]int{2}, nil, 1, compare.Inconclusive},
		{[]int{2}, []int{3}, 1, compare.Inconclusive},
		{[]int{3, 9}, []int{3, 9}, 1, variants.Better}, // neither has it there
		{nil, nil, 101, variants.Better},
		{nil, []int{3}, 101, compare.Inconclusive}, // without pairs
		{[]int{5}, []int{3}, 101, variants.Better},
	} {
		a, b := side("a", "v", map[string][]float64{"fct_us.p99": noisy(seeds, 100)}), side("b", "v", map[string][]float64{"fct_us.p99": noisy(seeds, 80)})
		for i := range b.Cases[0].Seeds {
			b.Cases[0].Seeds[i].Seed = c.first + uint64(i)
		}
		for _, i := range c.lackA {
			delete(a.Cases[0].Seeds[i].Metrics, "fct_us.p99")
		}
		for _, i := range c.lackB {
			delete(b.Cases[0].Seeds[i].Metrics, "fct_us.p99")
		}
		m := compared(t, a, b, design).Cases[0].Metrics[0]
		why := fmt.Sprintf("A has it with %d of %d seeds, B with %d of %[2]d", seeds-len(c.lackA), seeds, seeds-len(c.lackB))
		if m.Outcome != c.want || (c.want == compare.Inconclusive) != strings.Contains(m.Reason, why) {
			t.Errorf("A lacks %v, B %v of seeds from %d on: %s, %q; want %s", c.lackA, c.lackB, c.first, m.Outcome, m.Reason, c.want)
		}
	}
}

// "equal trace hashes say identical first".
func TestComparisonOfIdenticalRuns(t *testing.T) {
	values := map[string][]float64{"fct_us.p99": noisy(3, 100)}
	a, b := side("a", "v", values), side("a", "v", values)
	if one := compared(t, a, b, design).Cases[0]; !one.Identical || one.Metrics[0].Outcome != variants.Same {
		t.Errorf("%+v", one)
	}
	b.Cases[0].Seeds[2].TraceHash = "other"
	if one := compared(t, a, b, design).Cases[0]; one.Identical {
		t.Error("one trace differs")
	}
	for i := range a.Cases[0].Seeds {
		a.Cases[0].Seeds[i].TraceHash, b.Cases[0].Seeds[i].TraceHash = "", ""
	}
	if one := compared(t, a, b, design).Cases[0]; one.Identical {
		t.Error("runs without a trace hash are not known to be identical")
	}
	b = side("a", "v", map[string][]float64{"fct_us.p99": noisy(4, 100)})
	if one := compared(t, side("a", "v", values), b, design).Cases[0]; one.Identical {
		t.Error("B has a seed more")
	}
}

// "variants paired by name, or the named ones".
func TestComparisonPairsVariants(t *testing.T) {
	variants := func(folder string, names ...string) *compare.Measured {
		m := side(folder, "", map[string][]float64{"fct_us.p99": {1}})
		c := m.Cases[0]
		m.Cases = nil
		for _, name := range names {
			c.Variant = name
			m.Cases = append(m.Cases, c)
		}
		return m
	}
	for _, one := range []struct {
		a, b, va, vb string
		want, err    string
	}{
		{a: "p q r", b: "r p", want: "p-p r-r"},
		{a: "p q", b: "p q", va: "p", vb: "q", want: "p-q"},
		{a: "p q", b: "p q", va: "q", want: "q-q"},
		{a: "p q", b: "z", va: "q", want: "q-z"},
		{a: "p", b: "q", want: "p-q"},
		{a: "p q", b: "z y", err: "no variant is in both: a has p q, and b has z y; name two: a:p b:z"},
		{a: "p q", b: "z y", va: "p", err: `b has no variant "p"; known: z y; name one: b:VARIANT`},
		{a: "p q", b: "p", va: "s", err: `a has no variant "s"; known: p q`},
		{a: "p q", b: "p", vb: "s", err: `b has no variant "s"; known: p`},
		{a: "", b: "p", err: "a has no variant"},
	} {
		d := design
		d.VariantA, d.VariantB = one.va, one.vb
		c, err := compare.Folders(variants("a", strings.Fields(one.a)...), variants("b", strings.Fields(one.b)...), d)
		if one.err != "" {
			var wrong *compare.Error
			if !errors.As(err, &wrong) || err.Error() != one.err {
				t.Errorf("%+v: error %v", one, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", one, err)
			continue
		}
		var got []string
		for _, p := range c.Cases {
			got = append(got, p.VariantA+"-"+p.VariantB)
		}
		if strings.Join(got, " ") != one.want {
			t.Errorf("%+v: got %v", one, got)
		}
	}
}

// "warn what differs, from the manifests' parameters".
func TestComparisonSaysWhatDiffers(t *testing.T) {
	s := readingtest.ThreeFlow()
	s.Windows = 16
	a := s.Folder(t, nil)
	b := s.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Clock, m.IntervalUS, m.Version = "wall", 50, "0.2.0"
		for i := range m.Variants {
			m.Variants[i].LB = "reps"
		}
		m.Variants[1].MTU, m.Variants[1].Tunnels, m.Variants[1].Silent = 9000, "inner", []string{"tor0", "tor1"}
		for i := range m.Ports {
			m.Ports[i].RateBPS /= 2
		}
		m.Variants[2].Parameters = &runfolder.Parameters{Ports: []runfolder.PortClass{{Tier: "tor", PeerTier: "host", QueueBytes: 5000}}}
	})
	c := compared(t, compare.Measure(a), compare.Measure(b), design)
	want := []compare.Disparity{{What: "clock", A: "virtual", B: "wall"}, {What: "telemetry interval", A: "100 µs", B: "50 µs"}, {What: "csiglab", A: "0.1.0", B: "0.2.0"},
		{What: "rates of ports", A: "100 Gb/s", B: "50 Gb/s"}, {What: "lb", A: "mixed", B: "reps"}}
	got := slices.DeleteFunc(slices.Clone(c.Differs), func(d compare.Disparity) bool { return d.What == "machine" }) // of wall clock
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]compare.Disparity{{What: "MTU", A: "4150 B", B: "9000 B"}, {What: "tunnels", B: "inner"}, {What: "switches without CSIG", B: "tor0 tor1"}}, c.Cases[1].Differs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]compare.Disparity{{What: "queue of ports tor to host", B: "5000 B"}}, c.Cases[2].Differs); diff != "" {
		t.Error(diff)
	}
	if same := compared(t, compare.Measure(a), compare.Measure(a), design); len(same.Differs) != 0 || len(same.Cases[0].Differs) != 0 {
		t.Errorf("a folder differs from itself: %v", same.Differs)
	}
}

// Metrics of single flows and ports are left out unless they are asked for, and so is the
// time of the processor; a pattern takes what it matches.
func TestComparisonTakesMetricsOfWholeRuns(t *testing.T) {
	s := readingtest.ThreeFlow()
	s.Windows = 16
	names := func(d compare.Design) string {
		m := compare.Measure(s.Folder(t, func(m *runfolder.Manifest, summary *runfolder.Summary) {
			for i := range m.Flows { // names may have dots
				if m.Flows[i].Name == "0-1" { // so that rate_gbps.0-1 is of no flow
					m.Flows[i].Name = "h.0-1.x"
				}
			}
			for _, v := range summary.Variants {
				for _, r := range v.Runs {
					r.Metrics["rate_gbps.h.0-1.x"], r.Metrics["cpu_seconds"] = 1, float64(r.Seed)
				}
			}
		}))
		d.VariantA, d.VariantB = "csig", "csig"
		var all []string
		for _, one := range compared(t, m, m, d).Cases[0].Metrics {
			all = append(all, one.Name)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if got, want := names(design), "fairness_ratio fct_us.max fct_us.mean fct_us.p99 packets.new packets.retransmitted rate_gbps.0-1 target_qdelay_us trims"; got != want {
		t.Errorf("got %s", got)
	}
	single := design
	single.Single = true
	if got := names(single); !strings.Contains(got, "rate_gbps.h.0-1.x") || !strings.Contains(got, "fct_us.0-3") {
		t.Errorf("--single: got %s", got)
	}
	only := design
	only.Only = func(name string) bool { return name == "cpu_seconds" || name == "rate_gbps.h.0-1.x" }
	if got := names(only); got != "cpu_seconds" {
		t.Errorf("a pattern: got %s, and --single is not said", got)
	}
	only.Named = []string{"rate_gbps.h.0-1.x"}
	if got := names(only); got != "cpu_seconds rate_gbps.h.0-1.x" {
		t.Errorf("a name: got %s", got)
	}
}

// Values that no run has do no harm.
func TestComparisonOfStrangeValues(t *testing.T) {
	for _, values := range [][2][]float64{
		{{math.NaN(), 1, 1}, {1, 1, 2}}, {{math.Inf(1), 1, 1}, {1, 1, math.Inf(-1)}}, {{math.MaxFloat64, -math.MaxFloat64, 0}, {-math.MaxFloat64, math.MaxFloat64, 1}},
		{{-1, -2, 0}, {1, 2, 0}}, {{5e-324, 5e-324, 5e-324}, {1e308, 1e308, 1e308}}, {{0, 0, 1}, {3, 3, 3}}, {{math.NaN()}, {math.NaN()}},
	} {
		c := compared(t, side("a", "v", map[string][]float64{"x": values[0]}), side("b", "v", map[string][]float64{"x": values[1]}), design)
		for _, m := range c.Cases[0].Metrics {
			if math.IsNaN(m.Effect) || math.IsInf(m.Effect, 0) || m.Outcome == "" || m.P < 0 || m.P > 1 {
				t.Errorf("%v: %+v", values, m)
			}
		}
	}
}
