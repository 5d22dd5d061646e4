package campaign

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
)

// tunnelText has two racks and traffic between and within them. Queues are short, so that packets
// are trimmed in tunnels too.
const tunnelText = `
schema: 1
name: tunnel
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
links: {queue: 20kB}
csig: {format: wide}
hosts: {cc: {name: nscc, csig: max-delay}}
workload: {transfers: [0 -> 2 200kB, 1 -> 2 200kB, 3 -> 1 100kB, 3 -> 2 50kB]}
telemetry: {truth: 1}
variants:
  routed: {}
  outer: {tunnels: {tags: outer}}
  inner: {tunnels: {tags: inner}}
  lossless: {tunnels: {tags: outer}, classes: [{name: default, lossless: true}], hosts.cc: {name: dcqcn}, hosts.recovery: go_back_n, links.trim: false, links.queue: auto, links.pfc.xoff: 20kB}
`

// Packets cross tunnels with the bytes of the outer header charged, and nothing is lost track of.
// Samples are of every hop where tags are outside, and of the last one where they are inside. Real
// frames leave the same trace.
func TestTunnels(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(context.Background(), parseText(t, tunnelText), Options{Out: folder})
	if err != nil || !result.Summary.Valid {
		t.Fatal(err, result)
	}
	value := func(variant, name string) float64 {
		v, ok := result.Summary.Variants[variant].Runs[0].Metrics[name]
		if !ok {
			t.Errorf("%s has no %s", variant, name)
		}
		return v
	}
	for _, variant := range []string{"outer", "inner"} {
		if value(variant, "trims") == 0 {
			t.Errorf("%s: nothing is trimmed", variant)
		}
	}
	if pauses, drops := value("lossless", "pauses.default"), value("lossless", "drops"); pauses == 0 || drops > 0 {
		t.Errorf("lossless: %v pauses, %v drops", pauses, drops)
	}
	if routed, outer, inner := value("routed", "truth_missed.delay"), value("outer", "truth_missed.delay"), value("inner", "truth_missed.delay"); routed > 0.05 || outer > 0.05 || inner < 0.2 {
		t.Errorf("of samples %v, %v and %v miss the worst hop", routed, outer, inner)
	}
	if passed := [3]float64{value("routed", "tags.passed"), value("outer", "tags.passed"), value("inner", "tags.passed")}; passed[0]+passed[1] != 0 || passed[2] == 0 {
		t.Errorf("tags passed: %v", passed)
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range f.Manifest.Variants {
		if told := strings.Contains(strings.Join(v.Notes, "\n"), "tunnels.tags: inner"); told != (v.Name == "inner") {
			t.Errorf("%s has the notes %q", v.Name, v.Notes)
		}
		if want := map[string]string{"outer": "outer", "inner": "inner", "lossless": "outer"}[v.Name]; v.Tunnels != want {
			t.Errorf("%s has tunnels %q in the manifest, want %q", v.Name, v.Tunnels, want)
		}
	}
	buildNodes(t)
	real, err := Run(context.Background(), parseText(t, tunnelText+"runtime: netns\nclock: lockstep\n"), Options{Out: filepath.Join(t.TempDir(), "run"), CheckParity: true})
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil || !real.Summary.Valid {
		t.Fatal(err, real)
	}
}

// Generators' frames cross tunnels in real time, also where the ends do not speak: then the tag is
// inside at the first, and at the far end it is as it was sent.
func TestTunnelsOfPrograms(t *testing.T) {
	for _, c := range []struct {
		set     string
		updated float64 // times that a switch has let a tag pass
	}{{"tunnels: {}", 0}, {"tunnels: {tags: inner}", 100 * 2}} {
		set := parseText(t, `
schema: 1
name: tunnel
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 20Mbps, delay: 2ms}}
runtime: netns
clock: wall
wall: {dilation: 1, budget: {lateness: 1000, displaced: 1, rate: 1}}
csig: {format: wide, interval: 50ms}
`+generated+"\n"+c.set)
		f, _ := foreignRun(t, set)
		m := f.Summary.Variants["run"].Runs[0].Metrics
		if m["tags.delivered"] != 100 || m["tags.passed"] != c.updated || m["tags.stripped"] != 0 {
			t.Errorf("%s: %v tags delivered, %v passed, %v stripped", c.set, m["tags.delivered"], m["tags.passed"], m["tags.stripped"])
		}
	}
}
