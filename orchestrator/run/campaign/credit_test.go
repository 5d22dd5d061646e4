package campaign

import (
	"math"
	"testing"
)

// The rows of the reference simulator's validation plan with receiver credits, alone (RCCC)
// and with NSCC, and its stored completion time of the last flow
// (docs/reference/references.md#reference-results).
var creditPlan = []struct {
	name, fabric, workload string
	alone, both            float64 // us
	within                 float64 // of it, as a share
	large                  bool
}{
	{"one", fatTree16, "{transfers: [0 -> 13 2MB], start_jitter: 0s}", 177.368, 177.368, 0.005, false},
	{"bidir", fatTree16, "{transfers: [0 -> 13 2MB, 13 -> 0 2MB], start_jitter: 0s}", 178.18, 0, 0.005, false},
	{"incast of 15", fatTree16, "{incast: {dst: 15, fan_in: 15, size: 2MB}, start_jitter: 0s}", 2464.44, 2462.9, 0.005, false},
	{"incast of 127", kAry8, "{incast: {dst: 127, fan_in: 127, size: 2MB}, start_jitter: 0s}", 20891.4, 20892, 0.02, true},
	{"permutation of 1024", kAry16, "{permutation: {size: 2MB}, start_jitter: 0s}", 203.38, 202.6, 0.03, true},
	{"permutation of 1024, 4:1", leafSpine4to1, "{permutation: {size: 2MB}, start_jitter: 0s}", 0, 814.1, 0.05, true},
}

func TestCreditPlan(t *testing.T) {
	for _, v := range creditPlan {
		for hosts, want := range map[string]float64{
			"hosts: {cc: rccc, lb: {name: mixed, paths: 128}}\n":                v.alone,
			"hosts: {cc: nscc, credits: true, lb: {name: mixed, paths: 128}}\n": v.both,
		} {
			if want == 0 {
				continue
			}
			t.Run(v.name+" "+hosts[8:16], func(t *testing.T) {
				if v.large {
					needTime(t)
				}
				fabric := v.fabric
				if fabric != fatTree16 {
					fabric = "schema: 1\nname: t\n" + fabric
				}
				m, _ := runVirtual(t, parseText(t, fabric+"workload: "+v.workload+"\n"+hosts).Variants[0].Experiment, 1)
				got := m["fct_us.max"]
				t.Logf("%.2f us here, %.2f us in the reference: ratio %.4f; %g credits, %g requests, %g trims", got, want, got/want, m["packets.credits"], m["packets.credit_requests"], m["trims"])
				if math.Abs(got/want-1) > v.within {
					t.Errorf("the last flow completes after %.2f us, want %.2f us within %g", got, want, v.within)
				}
				if m["packets.credits"] == 0 {
					t.Error("no credit was granted")
				}
			})
		}
	}
}
