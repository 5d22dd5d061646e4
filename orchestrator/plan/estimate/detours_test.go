package estimate

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Under adversarial traffic each of the 8 hosts of a group sends 1 MB over the one link to
// the next group: 8 MB at 100 Gb/s, 640 us. Detours spread the traffic over all links, of
// which it takes twice as many. Under uniform traffic UGAL keeps to minimal paths.
func TestDetoursArePredicted(t *testing.T) {
	estimate := func(routing, workload string) Work {
		t.Helper()
		text := "schema: 1\nname: t\ntopology: {dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, delay: 1us}}\nworkload: " + workload + "\nrouting: " + routing + "\n"
		set, err := experiment.Parse("t.yaml", "", []byte(strings.TrimSpace(text)), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Compile(set.Base, 1)
		if err != nil {
			t.Fatal(err)
		}
		return Of(p, nil)
	}
	const adversarial, uniform = "{permutation: {size: 1MB, shift: 8}}", "{all_to_all: {size: 40kB}}"
	minimal := estimate("minimal", adversarial)
	if us := minimal.ModelTime.Microseconds(); us < 640 || us > 700 {
		t.Errorf("minimal, adversarial: %v predicted, want 640us and little more", minimal.ModelTime)
	}
	for _, name := range []string{"valiant", "ugal"} {
		e := estimate(name, adversarial)
		if share := float64(e.ModelTime) / float64(minimal.ModelTime); share > 0.5 {
			t.Errorf("%s, adversarial: %v predicted, minimal %v; want at most half of it", name, e.ModelTime, minimal.ModelTime)
		}
	}
	minimal = estimate("minimal", uniform)
	if e := estimate("ugal", uniform); float64(e.PacketHops) > 1.2*float64(minimal.PacketHops) {
		t.Errorf("ugal, uniform: %d hops predicted, minimal %d", e.PacketHops, minimal.PacketHops)
	}
	if e := estimate("valiant", uniform); float64(e.PacketHops) < 1.2*float64(minimal.PacketHops) {
		t.Errorf("valiant, uniform: %d hops predicted, minimal %d; want at least 1.2 times as many", e.PacketHops, minimal.PacketHops)
	}
}
