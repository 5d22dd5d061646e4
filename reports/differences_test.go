package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// The demo: what CSIG makes better, what worse, and why; and what it leaves as it is.
func TestDifferences(t *testing.T) {
	e := analysistest.ThreeFlow()
	e.Rates["csig-wide"], e.Queues["csig-wide"] = e.Rates["baseline"], e.Queues["baseline"]
	e.Queues["csig"] = [2]float64{96, 131}
	e.Early = map[string]int{"csig": 240}
	e.Trims = map[string]float64{"baseline": 27, "csig": 27, "csig-wide": 27}
	r := build(t, e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Variants[1].CSIG, m.Variants[2].CSIG = "compact", "wide"
	}))
	text := strings.Join(r.Findings, "\n")
	for _, want := range []string{
		"CSIG (csig against baseline). Better: the rate of the slowest flow (17.7 → 30.1\u00a0Gb/s, +70\u00a0%); worse: mean FCT (24 → 26.7\u00a0ms, +11\u00a0%) and the mean queue of s1 → s2 (87.7 → 131\u00a0kB, +4",
		"; no difference: p99 FCT, trims and retransmissions.",
		"Why: flow 0-3, which crosses both bottlenecks, gains 12.4\u00a0Gb/s and completes at about the same time; flows 0-1 and 2-3, which cross one each, lose 12.",
		"\u00a0Gb/s each and complete 20\u00a0% later. The mean queue of s1 → s2 grows the most, from 88\u00a0kB (7\u00a0µs) to 131\u00a0kB (10.4\u00a0µs): it comes to the 10.5\u00a0µs of queueing delay that CC steers to.",
		"CSIG made no difference here. From baseline to csig-wide, figures differ by less than their seeds do, or by less than 1\u00a0%: mean FCT (24 → 24\u00a0ms), p99 FCT (32 → 32\u00a0ms), the rate of the slowest flow (17.7 → 17.7\u00a0Gb/s), the mean queue of s1 → s2 (87.7 → 87.7\u00a0kB), trims (27 → 27) and retransmissions (27 → 27).",
		"Packets dropped or trimmed: s1 → s2 trims 27 in each variant.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
	if want := "Against baseline, CSIG (csig) improves the rate of the slowest flow (17.7 → 30.1\u00a0Gb/s, +70\u00a0%), at the price of mean completion time (24 → 26.7\u00a0ms, +11\u00a0%) and the mean queue of s1 → s2 ("; len(r.Story) != 5 || !strings.HasPrefix(r.Story[3], want) {
		t.Errorf("story %q, want %q as the fourth of five sentences", r.Story, want)
	}
	if got, want := r.Compared.Rows[0], []cell{{Text: "Mean FCT"}, {Text: "24\u00a0ms"}, {"26.7\u00a0ms, +11\u00a0% ✗ worse", stateBad}, {Text: "24\u00a0ms"}}; !cmp.Equal(got, want) {
		t.Errorf("row %v, want %v", got, want)
	}
	if got := r.Compared.Rows[2][2]; got.State != stateGood || !strings.HasSuffix(got.Text, "✓ better") {
		t.Errorf("rate %v", got)
	}
}

// Without a cause in the figures there is none in the report, and one seed does not say
// how much seeds differ.
func TestNoCause(t *testing.T) {
	r := &analysis.Result{Variants: []analysis.Variant{{Name: "a"}, {Name: "b"}}}
	one := func(v float64) analysis.Side {
		return analysis.Side{Median: v, Seeds: analysis.Spread{Count: 1, Min: v, Max: v}}
	}
	d := analysis.Difference{Variant: "b", Quantities: []analysis.Quantity{{Name: "fct_us.mean", Unit: "µs", Base: one(100), Value: one(90), Change: -0.1, Outcome: analysis.Better}}}
	r.Findings.Differences = []analysis.Difference{d}
	want := []string{"Variant b against a. Better: mean FCT (100 → 90\u00a0µs, −10\u00a0%). One seed does not say how much seeds differ."}
	if diff := cmp.Diff(Findings(r), want); diff != "" {
		t.Errorf("findings (-got +want):\n%s", diff)
	}
	if got, want := changed(r), "against a, variant b improves mean completion time (100 → 90\u00a0µs, −10\u00a0%)"; got != want {
		t.Errorf("story %q, want %q", got, want)
	}
	d.Quantities[0].Outcome = analysis.Same
	if got, want := changed(r), "variant b made no difference here against a in mean completion time"; got != want {
		t.Errorf("story %q, want %q", got, want)
	}
	// Of many flows the report counts those that change.
	d.Flows.Common = 240
	d.Quantities[0].Outcome = analysis.Worse
	d.Flows.Later = []analysis.FlowChange{{Flow: "x", Base: 10, Value: 12}, {Flow: "y", Base: 10, Value: 11}}
	r.Findings.Differences[0] = d
	if got, want := Findings(r)[1], "Of 240 flows, b completes none sooner and 2 later (by 15\u00a0% in the median) than a, by more than their seeds differ."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A comparison says what limits its meaning.
func TestCautions(t *testing.T) {
	side := analysis.Side{Median: 1, Seeds: analysis.Spread{Count: 2, Min: 1, Max: 1}}
	r := &analysis.Result{Variants: []analysis.Variant{{Name: "a"}, {Name: "b"}}}
	r.Findings.Differences = []analysis.Difference{{Variant: "b", OtherFlows: true, OtherCompleted: true,
		Quantities: []analysis.Quantity{{Name: "trims", Unit: "packets", Base: side, Value: side, Outcome: analysis.Worse}}}}
	const want = "The variants a and b have different flows, and figures over all flows differ for that reason too. Mean and p99 FCT are not compared, because not every run completed the same flows."
	if got := Findings(r)[0]; !strings.HasSuffix(got, ". "+want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
	if got := changed(r); !strings.HasPrefix(got, "against a, variant b, which has other flows, makes worse") {
		t.Errorf("story %q", got)
	}
	r.Findings.Differences[0].Quantities[0].Outcome = analysis.Same
	if got := Findings(r)[0]; !strings.HasSuffix(got, ". "+want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
}

// Ports of hosts are named as NICs, wherever ports are named.
func TestNICsAreNamed(t *testing.T) {
	e := analysistest.ThreeFlow()
	e.Utilise, e.NIC = 0.5, analysistest.NIC{Utilise: 0.99, QueueBytes: 50_000, Dropped: 2}
	r := build(t, e.Folder(t, nil))
	text := strings.Join(append(r.Findings, chartOf(t, r, "queues").Panels[0].Title), "\n")
	for _, want := range []string{"The bottleneck is the NIC of h0 (99 % busy; mean queue 50\u00a0kB in baseline", "The NIC of h0 limits 0-3 and 0-1.", "dropped or trimmed: the NIC of h0 drops 640 in each variant.", "\nthe NIC of h0"} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
}
