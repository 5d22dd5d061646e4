package orchestrator

import (
	"context"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// fatTree16 is scenarios/fat-tree-16.topo: 16 hosts, no oversubscription.
const fatTree16 = `
schema: 1
name: t
topology:
  fat_tree:
    hosts: 16
    pod: 4
    tiers:
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 4, rate: 100Gbps, delay: 1us}
`

func runText(t *testing.T, text string, seed uint64) map[string]float64 {
	t.Helper()
	set, err := experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(set.Variants[0].Experiment, seed)
	if err != nil {
		t.Fatal(err)
	}
	out, err := virtual(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []check{conservation(p, out), complete(p, out)} {
		if !c.ok {
			t.Errorf("%s: %s", c.name, c.detail)
		}
	}
	return measure(p, out)
}

func TestReferenceFCT(t *testing.T) {
	m := runText(t, fatTree16+"workload: {transfers: [0 -> 13 2MB], start_jitter: 0s}\n", 1)
	t.Log(m)
	m = runText(t, fatTree16+"workload: {transfers: [0 -> 13 2MB, 13 -> 0 2MB], start_jitter: 0s}\n", 1)
	t.Log(m)
	m = runText(t, fatTree16+"workload: {incast: {dst: 15, fan_in: 15, size: 2MB}, start_jitter: 0s}\n", 1)
	t.Log(m)
}
func TestThreeFlow(t *testing.T) {
	set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range set.Variants {
		for seed := uint64(1); seed <= 3; seed++ {
			p, err := Compile(v.Experiment, seed)
			if err != nil {
				t.Fatal(err)
			}
			out, err := virtual(context.Background(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []check{conservation(p, out), complete(p, out)} {
				if !c.ok {
					t.Errorf("%s: %s", c.name, c.detail)
				}
			}
			m := measure(p, out)
			t.Log(v.Name, seed, (m["rate_gbps.0-2"]+m["rate_gbps.9-10"])/2/m["rate_gbps.1-10"], m["data_packets"]/m["cpu_seconds"])
			if seed == 1 {
				t.Log(m)
			}
		}
	}
}
