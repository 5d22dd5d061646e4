package campaign

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

func loadThreeFlow(t testing.TB) *experiment.Set {
	t.Helper()
	set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// The embedded experiment holds its own expectations, which are those of the
// published scenario.
func TestThreeFlowExpectations(t *testing.T) {
	checkout.SkipSlowRace(t)
	set := loadThreeFlow(t)
	result, err := Run(context.Background(), set, Options{Out: t.TempDir() + "/run"})
	if err != nil {
		t.Fatal(err)
	}
	read, err := runfolder.Open(result.Folder)
	if err != nil {
		t.Fatal(err)
	}
	read.Manifest.Digest = "" // of the file
	if diff := cmp.Diff(result.Written.Manifest, read.Manifest, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("manifest (-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(result.Written.Summary, read.Summary, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("summary (-written +read):\n%s", diff)
	}
	s := result.Summary
	if !s.Valid {
		t.Errorf("not valid: %q", s.Reasons)
	}
	if len(s.Expectations) < 8 {
		t.Errorf("%d expectations, want at least 8", len(s.Expectations))
	}
	for _, e := range s.Expectations {
		if !e.OK {
			t.Errorf("expectation %s: value %v", e.Expr, e.Value)
		}
	}
	for name, v := range s.Variants {
		if len(v.Runs) < 5 {
			t.Errorf("%s: %d seeds, want at least 5", name, len(v.Runs))
		}
		t.Logf("%s: median fairness ratio %.3f", name, v.Metrics["fairness_ratio"])
	}
	m := s.Variants["baseline"].Metrics
	// The victim's actions: almost no no-op or proportional increase, but
	// decreases and fair increases (docs/reference/references.md#three-flow).
	if got := m["cc_share.1-10.proportional_increase"]; got > 0.01 {
		t.Errorf("baseline: proportional increase is %.3f of the victim's ACKs, want none", got)
	}
	if md, fi := m["cc_share.1-10.multiplicative_decrease"], m["cc_share.1-10.fair_increase"]; md < 0.6 || fi < 0.15 {
		t.Errorf("baseline: the victim decreases on %.3f of its ACKs and fair-increases on %.3f, want about 0.74 and 0.26", md, fi)
	}
	// Its delay stays above the target, the others' below.
	target := m["target_qdelay_us"]
	if v, a, b := m["cc_delay_us.1-10"], m["cc_delay_us.0-2"], m["cc_delay_us.9-10"]; v < target || a > target || b > target {
		t.Errorf("baseline: delays %.2f (victim), %.2f, %.2f around the target %.2f", v, a, b, target)
	}
	// With CSIG: mostly decreases and no-ops.
	m = s.Variants["csig"].Metrics
	if got := m["cc_share.1-10.multiplicative_decrease"] + m["cc_share.1-10.noop"]; got < 0.85 {
		t.Errorf("csig: decreases and no-ops are %.3f of the victim's ACKs, want most", got)
	}
}

// Sensitivity: halving the rate of the network must halve the victim's rate and
// more than double nothing else; a knob that does not act would leave it.
func TestRateActs(t *testing.T) {
	checkout.SkipSlowRace(t)
	full := measureVariant(t, "baseline")
	half := measureVariant(t, "baseline", "topology.fat_tree.tiers=[{down: 2, up: 1, rate: 50Gbps, delay: 1us}, {down: 2, up: 1, rate: 50Gbps, delay: 1us}, {down: 4, rate: 50Gbps, delay: 1us}]")
	sum := func(m map[string]float64) float64 { return m["rate_gbps.1-10"] + m["rate_gbps.0-2"] }
	if got := sum(half) / sum(full); got < 0.49 || got > 0.51 {
		t.Errorf("half the link rate gives %.3f of the throughput, want 0.5", got)
	}
}

// The base RTT that learns from NACKs of trimmed packets is a parameter;
// without it the baseline is less fair (docs/reference/references.md#three-flow; the reference rules have 5.9).
func TestBaseRTTFromNack(t *testing.T) {
	checkout.SkipSlowRace(t)
	with := measureVariant(t, "baseline")["base_rtt_us.1-10"]
	without := measureVariant(t, "baseline", "hosts.cc.base_rtt_from_nack=false")
	if got := without["base_rtt_us.1-10"]; got <= with {
		t.Errorf("base RTT without NACKs %v us, with %v us; want more", got, with)
	}
	ratio := (without["rate_gbps.0-2"] + without["rate_gbps.9-10"]) / 2 / without["rate_gbps.1-10"]
	if ratio < 5.3 || ratio > 6.5 {
		t.Errorf("fairness ratio without NACKs %.2f, want about 5.9", ratio)
	}
}

// The init policies: one packet in four, and probes instead of tagged data, feed
// the controller nearly as well as a tag on every packet.
func TestInitPolicies(t *testing.T) {
	checkout.SkipSlowRace(t)
	baseline := measureVariant(t, "baseline")
	for _, policy := range []string{"1/4", "probe/10us"} {
		m := measureVariant(t, "csig-wide", "csig.init="+policy)
		ratio := (m["rate_gbps.0-2"] + m["rate_gbps.9-10"]) / 2 / m["rate_gbps.1-10"]
		if ratio < 1.8 || ratio > 2.8 {
			t.Errorf("init %s: fairness ratio %.2f, want about 2.3", policy, ratio)
		}
		probes := m["packets.probes"] > 0
		if want := policy == "probe/10us"; probes != want {
			t.Errorf("init %s: %v probes", policy, m["packets.probes"])
		}
		t.Logf("init %s: fairness ratio %.3f, %v probes", policy, ratio, m["packets.probes"])
	}
	if baseline["packets.probes"] != 0 {
		t.Errorf("baseline: %v probes", baseline["packets.probes"])
	}
}

func measureVariant(t *testing.T, variant string, overrides ...string) map[string]float64 {
	t.Helper()
	set := load(t, "three-flow", overrides...)
	for _, v := range set.Variants {
		if v.Name == variant {
			m, _ := runVirtual(t, v.Experiment, 1)
			return m
		}
	}
	t.Fatalf("no variant %s", variant)
	return nil
}
