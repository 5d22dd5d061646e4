package whatif

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/experiment"
)

const text = `
schema: 1
name: small
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
jobs:
  - {name: pipe, pipeline: {stages: 4, microbatches: 4, forward: 100us, message: 64KiB}, stragglers: [{rank: 1, slow: 0.5}, {rank: 2, pause: 1ms, step: 0}]}
faults:
  - {kind: rate, links: tor0-agg1, share: 0.25}
  - {kind: rate, links: tor1-agg1, share: 0.5, at: 1ms}
`

func load(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	overrides, err := experiment.ParseSets("--set", set)
	if err != nil {
		t.Fatal(err)
	}
	s, err := experiment.Parse("small.yaml", "", []byte(text), experiment.Options{Override: overrides, Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	return s.Variants[0].Experiment
}

// What a change is to links and ranks, and why there is no prediction of others.
func TestBetween(t *testing.T) {
	rates := func(times float64, links ...string) Change {
		c := Change{Rates: map[string]float64{}, Computes: map[string]map[int32]float64{}}
		for _, l := range links {
			c.Rates[l] = times
		}
		return c
	}
	slow := func(rank int32, times float64) Change {
		c := rates(1)
		c.Computes["pipe"] = map[int32]float64{rank: times}
		return c
	}
	for _, c := range []struct {
		set     string
		want    Change
		unknown string
	}{
		{"seeds=[7]", rates(1), ""},
		{`links.rates=[{links: tor0-agg0, rate: 400Gbps}]`, rates(4, "tor0-agg0"), ""},
		{`links.rates=[{links: "tor*-agg1", rate: 50Gbps}]`, rates(0.5, "tor0-agg1", "tor1-agg1"), ""},
		{"topology.leaf_spine.spine_rate=200Gbps", rates(2, "tor0-agg0", "tor0-agg1", "tor1-agg0", "tor1-agg1"), ""},
		{"faults.0.share=0.5", rates(2, "tor0-agg1"), ""},
		{"jobs.0.stragglers=[{rank: 2, pause: 1ms, step: 0}]", slow(1, 1/1.5), ""},
		{"jobs.0.stragglers=[{rank: 1, slow: 0.5}, {rank: 3, slow: 1}, {rank: 2, pause: 1ms, step: 0}]", slow(3, 2), ""},
		{"jobs.0.stragglers=[{rank: 1, slow: 0.5}]", rates(1), "pauses"},
		{"faults.1.share=0.25", rates(1), "faults"},
		{"topology.leaf_spine.spines=3", rates(1), "other nodes"},
		{"topology.leaf_spine.delay=2us", rates(1), "delays"},
		{"hosts.lb=reps", rates(1), "hosts.lb.name"},
		{"links.queue=300kB", rates(1), "links.queue"},
		{"jobs.0.pipeline.message=1MiB", rates(1), "jobs.pipeline.message"},
	} {
		got, err := Between(load(t), load(t, c.set))
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
			continue
		}
		if (c.unknown == "") != (got.Unknown == "") || !strings.Contains(got.Unknown, c.unknown) {
			t.Errorf("%s: unknown %q, want %q", c.set, got.Unknown, c.unknown)
		}
		if got.Unknown != "" {
			continue
		}
		if d := cmp.Diff(c.want, *got); d != "" {
			t.Errorf("%s: %s", c.set, d)
		}
		if got.Empty() != (c.set == "seeds=[7]") {
			t.Errorf("%s: empty %v", c.set, got.Empty())
		}
	}
}

// What takes an obstacle away is an override that the experiment accepts, and that does just that.
func TestRemovals(t *testing.T) {
	e := load(t, `links.rates=[{links: tor1-agg0, rate: 25Gbps}]`)
	set, err := Faster(e, "tor0-agg*", 4)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Between(e, load(t, set))
	if want := map[string]float64{"tor0-agg0": 4, "tor0-agg1": 4}; err != nil || got.Unknown != "" || !cmp.Equal(got.Rates, want) {
		t.Errorf("%s: %+v, %v", set, got, err)
	}
	if set, err := Faster(e, "tor0-agg7", 4); set != "" || err != nil {
		t.Errorf("no such link: %q, %v", set, err)
	}
	if set, err := Faster(e, "tor0-agg0", 4000); set != "" || err != nil {
		t.Errorf("too fast: %q, %v", set, err)
	}
	set = Hasten(load(t), "pipe", 1)
	got, err = Between(load(t), load(t, set))
	if err != nil || got.Unknown != "" || !cmp.Equal(got.Computes, map[string]map[int32]float64{"pipe": {1: 1 / 1.5}}) {
		t.Errorf("%s: %+v, %v", set, got, err)
	}
	if set := Hasten(load(t), "pipe", 2) + Hasten(load(t), "ring", 1); set != "" {
		t.Errorf("a rank that is not slow, and no such job: %q", set)
	}
}
