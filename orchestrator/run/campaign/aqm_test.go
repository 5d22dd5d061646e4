package campaign

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// TestAQM holds what links.aqm and links.ecn give to every switch.
func TestAQM(t *testing.T) {
	linear := func(params algorithm.Values) algorithm.Choice {
		return algorithm.Choice{Name: "linear", Params: params}
	}
	auto := linear(algorithm.Values{"low": "auto", "high": "auto"})
	// 0.2 and 0.8 of 43 packets (docs/reference/references.md#switch-queue).
	standard := aqm.Thresholds{Low: 9 * 4150, High: 35 * 4150}
	for _, test := range []struct {
		links string
		aqm   algorithm.Choice
		ecn   aqm.Thresholds
	}{
		{"", auto, standard},
		{"links: {ecn: {low: 10kB}}", auto, aqm.Thresholds{Low: 10 * units.KB, High: standard.High}},
		{"links: {aqm: linear}", auto, standard},
		{"links: {aqm: {high: 100kB}}", linear(algorithm.Values{"low": "auto", "high": "100kB"}), standard},
		{"links: {aqm: none}", algorithm.Choice{Name: "none", Params: algorithm.Values{}}, standard},
		{"links: {aqm: linear, ecn: {enabled: false, low: 10kB, high: 20kB}}", algorithm.Choice{Name: "none"}, aqm.Thresholds{Low: 10 * units.KB, High: 20 * units.KB}},
	} {
		set := parseText(t, fatTree16+"workload: {transfers: [0 -> 8 1MB]}\n"+test.links+"\n")
		p, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err != nil {
			t.Fatalf("%s: %v", test.links, err)
		}
		for _, n := range p.Nodes[p.Hosts():] {
			s := n.Switch
			if diff := cmp.Diff(s.AQM, test.aqm); diff != "" {
				t.Fatalf("%s: %s, got - want +:\n%s", test.links, s.Name, diff)
			}
			for i, port := range s.Ports {
				if port.ECN != test.ecn {
					t.Fatalf("%s: %s port %d: thresholds %v, want %v", test.links, s.Name, i, port.ECN, test.ecn)
				}
			}
		}
	}
}
