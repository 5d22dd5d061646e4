package campaign

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// oneFlow is one flow of 2 MB between pods of an idle fat tree.
const oneFlow = `
schema: 1
name: one-flow
topology: {k_ary: {k: 4, rate: %s, delay: 1us, switch_delay: %s}}
workload: {transfers: [0 -> 13 2MB]}
hosts: {cc: {name: nscc, csig: max-delay}}
csig: {format: %s, init: %s%s}
seeds: 1..12
`

func idleFlow(rate, delay, format, init, more string) string {
	return fmt.Sprintf(oneFlow, rate, delay, format, init, more)
}

// Issue 8, must show 1: sampling does not lock onto the receiver's coalescing. Each
// seed gets its share of the 490 packets, whatever the format.
func TestSamplesOfASampledFlow(t *testing.T) {
	for _, test := range []struct {
		init        string
		least, most float64
	}{
		{"1/4", 100, 145}, {"1/16", 490. / 16 * 0.7, 490. / 16 * 1.3}, {"1/64", 490. / 64 * 0.7, 490. / 64 * 1.3},
		{"stride/4", 100, 145}, {"every", 124, 124}, {"none", 0, 0},
		{"1/4us", 30, 50}, // the flow takes 167 us at the NIC
	} {
		e := parseText(t, idleFlow("100Gbps", "0s", "wide", test.init, "")).Variants[0].Experiment
		for seed := range uint64(12) {
			m, _ := runVirtual(t, e, seed+1)
			if got := m["samples.0-13"]; got < test.least || got > test.most || got-m["samples_fresh.0-13"] > 1 || m["samples_untouched.0-13"] != 0 {
				t.Errorf("%s, seed %d: %v samples, %v in order, %v untouched, want %.0f to %.0f, as many, none",
					test.init, seed+1, got, m["samples_fresh.0-13"], m["samples_untouched.0-13"], test.least, test.most)
			}
			// 20 steps of 16 ns and a half; the last packet, which is shorter, waits for
			// those in front of it, or overtakes them.
			if test.init != "none" && (m["csig_delay_us.min.0-13"] != 0.328 || m["csig_delay_us.max.0-13"] > 0.5 || m["csig_delay_us.mean.0-13"] > 0.35) {
				t.Errorf("%s: delays from %v to %v us, mean %v, want those of an idle hop, 0.328",
					test.init, m["csig_delay_us.min.0-13"], m["csig_delay_us.max.0-13"], m["csig_delay_us.mean.0-13"])
			}
		}
	}
}

// Issue 8, must show 3: on an idle path the delay that feeds CC is about 0 and the
// window grows fast, at every rate, switch delay and format. The reference's rules
// take the residence for queueing. All packets are full: a shorter last one catches up
// with those in front of it, and waits.
func TestIdlePathHasNoDelay(t *testing.T) {
	compact := ", quantisers: {delay: delay-lin-500ns}"
	for _, rate := range []string{"1Gbps", "10Gbps", "100Gbps"} {
		for _, delay := range []string{"0s", "1us", "3us"} {
			for _, format := range []string{"wide", "compact"} {
				more := ""
				if format == "compact" {
					more = compact
				}
				text := strings.Replace(idleFlow(rate, delay, format, "every", more), "2MB", "2002140B", 1)
				m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
				if got := m["cc_delay_us.0-13"]; got > 0.1 {
					t.Errorf("%s, switch delay %s, %s: CC is fed %v us on an idle path", rate, delay, format, got)
				}
				if got := m["cc_share.0-13.fast_increase"]; got < 0.4 {
					t.Errorf("%s, switch delay %s, %s: fast increase at %v of the ACKs, want most after the first window", rate, delay, format, got)
				}
				kept, _ := runVirtual(t, parseText(t, strings.Replace(text, "max-delay", "max-delay, csig_unloaded: keep", 1)).Variants[0].Experiment, 1)
				if idle := rate == "100Gbps" && delay == "0s"; (kept["cc_share.0-13.fast_increase"] > 0) != idle {
					t.Errorf("%s, switch delay %s, %s, kept: fast increase at %v of the ACKs, delay %v us",
						rate, delay, format, kept["cc_share.0-13.fast_increase"], kept["cc_delay_us.0-13"])
				}
			}
		}
	}
}

// Issue 8, must show 4: a delay below the first edge reaches the controller as such,
// though no hop writes it, so that compact tags act as wide ones on an idle path. If a
// hop passes the tags on, an untouched one says nothing, and RTT serves.
func TestBucketZeroIsASample(t *testing.T) {
	compact := ", quantisers: {delay: delay-lin-500ns}"
	zero, _ := runVirtual(t, parseText(t, idleFlow("100Gbps", "0s", "compact", "every", compact)).Variants[0].Experiment, 1)
	wide, _ := runVirtual(t, parseText(t, idleFlow("100Gbps", "0s", "wide", "every", "")).Variants[0].Experiment, 1)
	if zero["samples.0-13"] != 124 || zero["samples_untouched.0-13"] != 124 {
		t.Errorf("%v samples, %v untouched, want 124, all untouched", zero["samples.0-13"], zero["samples_untouched.0-13"])
	}
	for _, name := range []string{"fct_us.0-13", "cc_share.0-13.fast_increase"} {
		if zero[name] != wide[name] {
			t.Errorf("%s: %v with compact tags, %v with wide ones", name, zero[name], wide[name])
		}
	}
	for _, policy := range []string{"pass", "strip", "terminate"} {
		for _, format := range []string{"compact", "wide"} {
			for _, signal := range []string{"abw", "abw-c", "delay", "nqd"} {
				more := fmt.Sprintf(", signal: %s, ports: [{switch: \"*\", policy: %s}]", signal, policy)
				text := strings.Replace(idleFlow("100Gbps", "0s", format, "every", more), ", csig: max-delay", "", 1)
				m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
				want := 0.
				if policy == "pass" {
					want = 124 // tags come back, and none is a sample
				}
				_, stated := m["csig_abw_gbps.mean.0-13"]
				if m["samples.0-13"] != 0 || stated || m["samples_untouched.0-13"] != want && (format != "wide" || signal != "abw-c") {
					t.Errorf("%s %s, policy %s: %v samples, %v untouched tags, want 0, %v",
						format, signal, policy, m["samples.0-13"], m["samples_untouched.0-13"], want)
				}
			}
		}
	}
}

// Issue 8, must show 3: with a switch delay, three-flow with the residence less its
// idle part is three-flow with waiting alone; and with sampled tags of delay the
// interval of bandwidth meters does not matter.
func TestThreeFlowJudgesQueueing(t *testing.T) {
	checkout.SkipSlowRace(t)
	ratio := func(overrides ...string) float64 {
		m := measureVariant(t, "csig-wide", overrides...)
		return (m["rate_gbps.0-2"] + m["rate_gbps.9-10"]) / 2 / m["rate_gbps.1-10"]
	}
	for _, delay := range []string{"1us", "3us"} {
		var switches []string
		for tier := range 3 {
			switches = append(switches, fmt.Sprintf("topology.fat_tree.tiers.%d.switch_delay=%s", tier, delay))
		}
		residence, wait := ratio(switches...), ratio(append(switches, "csig.delay=wait")...)
		if math.Abs(residence/wait-1) > 0.05 {
			t.Errorf("switch delay %s: fairness ratio %.3f with residence, %.3f with waiting", delay, residence, wait)
		}
	}
	for _, init := range []string{"1/16", "1/64"} {
		first := ratio("csig.init="+init, "csig.interval=1us")
		for _, interval := range []string{"16us", "128us"} {
			if got := ratio("csig.init="+init, "csig.interval="+interval); math.Abs(got/first-1) > 0.1 {
				t.Errorf("init %s, interval %s: fairness ratio %.3f, with 1us %.3f", init, interval, got, first)
			}
		}
	}
}

// A flow that wants samples and gets none for long is worth a note.
func TestStarvedFlowIsNoted(t *testing.T) {
	run := func(init, ports string) []string {
		set := parseText(t, idleFlow("100Gbps", "0s", "wide", init, ports))
		set.Variants[0].Experiment.Seeds, set.Base.Seeds = []uint64{1}, []uint64{1}
		result, err := Run(t.Context(), set, Options{Out: t.TempDir() + "/run", Runtime: set.Base.Runtime, Clock: set.Base.Clock})
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, n := range result.Notes {
			if strings.Contains(n, "CSIG samples") {
				notes = append(notes, n)
			}
		}
		return notes
	}
	if got := run("every", ""); len(got) != 0 {
		t.Errorf("notes %q with a tag on every packet", got)
	}
	if got := run("none", ""); len(got) != 0 {
		t.Errorf("notes %q where nothing was asked for", got)
	}
	stripped := `, ports: [{switch: "*", policy: strip}]`
	if got := run("every", stripped); len(got) != 1 || !strings.Contains(got[0], "flow 0-13 wanted CSIG samples and got none for 176") || !strings.Contains(got[0], "13 network RTTs") {
		t.Errorf("notes %q where tags are stripped, want one of 17x us", got)
	}
}
