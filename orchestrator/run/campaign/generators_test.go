package campaign

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// besideRaw has raw frames of several hosts beside a transfer. Hosts 1 and 4 only
// send to each other, 5 only receives, and the transport of 3 gets frames that it did
// not ask for.
const besideRaw = `
schema: 1
name: beside-raw
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, rate: 100Gbps, delay: 1us}}
csig: {format: compact}
workload: {transfers: [0 -> 3 100kB]}
generators:
  - {host: 1, to: 4, rate: 50Gbps, count: 300, paths: 8, size: 1000B}
  - {host: 4, to: 1, every: 1us, count: 100, size: 64B, stack: "s-tag c-tag csig:abw"}
  - {host: 2, to: 5, every: 1us, count: 100, size: 600B, stack: "macsec c-tag csig:delay"}
  - {host: 2, to: 5, rate: 3Gbps, count: 100, size: 600B, stack: "macsec:encrypted c-tag csig:delay"}
  - {host: 2, to: 3, every: 1us, count: 10, size: 600B, stack: "csig:delay"}
`

// A run with generators ends when they have sent all and it has arrived. Every frame
// is accounted for, under the clock virtual and with real frames.
func TestGeneratorsBesideTransfers(t *testing.T) {
	set := parseText(t, besideRaw)
	m, r := runVirtual(t, set.Variants[0].Experiment, 1)
	if m["flows.incomplete"] != 0 || !r.Drained {
		t.Errorf("%v flows are incomplete, drained %v", m["flows.incomplete"], r.Drained)
	}
	got := map[string]int64{}
	for _, h := range []int{1, 4, 5} {
		for _, f := range r.Nodes[h].Receivers {
			got[fmt.Sprint("at ", h)] += f.DeliveredWhole
		}
	}
	for name, want := range map[string]int64{"at 4": 300, "at 1": 100, "at 5": 200} {
		if got[name] != want {
			t.Errorf("%s: %d frames, want %d", name, got[name], want)
		}
	}
	// What switches do to a tag, and what is left of it.
	if m["drops"] != 10 || m["tags.delivered"] != 200 || m["tags.updated"] == 0 {
		t.Errorf("%v drops, %v tagged frames delivered, %v updates; want 10 frames that the transport of h3 dropped, 200, some", m["drops"], m["tags.delivered"], m["tags.updated"])
	}
	// 300 frames in steps of 160 ns: their rate over the time that they took.
	if rate := m["rate_gbps.h1-h4 raw"] * m["model_ms"] * 1e6 / 8; math.Abs(rate/300e3-1) > 0.01 {
		t.Errorf("%v bytes of h1 arrived, want 300,000", rate)
	}
}

func TestGeneratorsInNetns(t *testing.T) {
	buildNodes(t)
	got := runIn(t, parseText(t, besideRaw), Options{
		Out: filepath.Join(t.TempDir(), "run"), Runtime: runtimes.Netns, Clock: runtimes.Lockstep, CheckParity: true,
	})
	if !got.Valid {
		t.Errorf("invalid: %q", got.Reasons)
	}
	if m := got.Variants["run"].Metrics; m["tags.delivered"] != 200 || m["drops"] != 10 {
		t.Errorf("%v tagged frames delivered, %v dropped, want 200 and 10", m["tags.delivered"], m["drops"])
	}
}

// A generator without a workload is a run, and one that never ends is cut off.
func TestGeneratorsAlone(t *testing.T) {
	set := parseText(t, `
schema: 1
name: load
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 100Gbps, delay: 1us}}
end: 100us
measure: {from: 10us, to: 90us}
generators: [{host: 0, to: 1, rate: 50Gbps}]
`)
	m, _ := runVirtual(t, set.Variants[0].Experiment, 1)
	if rate := m["rate_gbps.h0-h1 raw"]; math.Abs(rate/50-1) > 0.005 {
		t.Errorf("half a link's load arrives at %v Gb/s", rate)
	}
}

// A host of generators has no transport.
func TestGeneratorsHaveNoTransport(t *testing.T) {
	set := parseText(t, besideRaw)
	e := *set.Variants[0].Experiment
	e.Generators = append(slices.Clone(e.Generators), experiment.Generator{Host: 0, To: 1, Size: 64, Count: 1, Every: 1, Paths: 1})
	_, err := plan.Compile(&e, 1)
	want := "generators[5].host: host 0 sends or receives transfers; a host of generators has no transport"
	if !errors.Is(err, failure.ErrConfiguration) || err.Error() != want {
		t.Errorf("got %v, want a configuration error: %s", err, want)
	}
}

// In real time generators pace as hosts do: every frame arrives, and its tags are what
// switches made of them.
func TestGeneratorsInRealTime(t *testing.T) {
	buildNodes(t)
	set := parseText(t, `
schema: 1
name: raw-wall
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 20Mbps, delay: 2ms}}
csig: {format: compact, init: none, ports: [{to: host, policy: terminate, init: every, signals: [delay, abw]}]}
generators:
  - {host: 0, to: 2, rate: 10Mbps, count: 100}
  - {host: 3, to: 1, every: 1ms, count: 100, size: 300B, stack: "csig:delay:3/4 csig:abw"}
wall: {dilation: 10, budget: {lateness: 1000, displaced: 1, rate: 1}}
`)
	got := runIn(t, set, Options{Out: filepath.Join(t.TempDir(), "run"), Runtime: runtimes.Netns, Clock: runtimes.Wall})
	if !got.Valid {
		t.Errorf("reasons %q", got.Reasons)
	}
	m := got.Variants["run"].Metrics
	for name, want := range map[string]float64{"tags.initiated": 200, "tags.refused": 200, "tags.terminated": 200, "samples.h0-h2 raw": 100, "samples.h3-h1 raw": 100, "drops": 0} {
		if m[name] != want {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
}
