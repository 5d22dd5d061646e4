package campaign

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// forgery is a fabric with a domain in which h0 sends transfers to h3, with CSIG of
// its own. h1 and h4 have none, and their switches put tags on and take the samples. h2
// is a host that forges tags, and also gets tags from its switch.
const forgery = `
schema: 1
name: forgery
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, rate: 100Gbps, delay: 1us}}
csig:
  format: compact
  quantisers: {delay: delay-lin-500ns}
  ports:
    - {switch: tor*, port: 1, policy: terminate, init: every, signals: [delay, abw]}
    EDGE
hosts: {cc: {name: nscc, csig: max-delay}}
workload: {transfers: [0 -> 3 1MB]}
generators:
  - {host: 1, to: 4, rate: 40Gbps, count: 400, paths: 8}
  - {host: 2, to: 4, rate: 50Gbps, count: 300, paths: 8, stack: "STACK"}
  - {host: 2, to: 5, rate: 45Gbps, count: 300, size: 700B, paths: 8, stack: "STACK"}
`

// samplesOf runs forgery with the rule of the forger's port and a stack, and returns the
// windows of samples, those of the forger's flows apart, and the metrics.
func samplesOf(t *testing.T, edge, stack string) (others, own []metrics.SignalWindow, m map[string]float64) {
	t.Helper()
	set := parseText(t, strings.NewReplacer("EDGE", edge, "STACK", stack).Replace(forgery))
	m, r := runVirtual(t, set.Variants[0].Experiment, 1)
	for _, w := range r.kept.Signals {
		if w.Flow <= 1 { // the transfer's, and that of h1
			others = append(others, w)
		} else {
			own = append(own, w)
		}
	}
	key := func(w metrics.SignalWindow) string {
		return fmt.Sprintf("%d %d %05d %020d", w.Flow, w.Type, w.Locator, w.Start)
	}
	for _, list := range [][]metrics.SignalWindow{others, own} { // nodes emit in turns
		slices.SortFunc(list, func(a, b metrics.SignalWindow) int { return strings.Compare(key(a), key(b)) })
	}
	return others, own, m
}

// withoutTags leaves out the CSIG tags of a stack.
func withoutTags(stack string) string {
	words := slices.DeleteFunc(strings.Fields(stack), func(w string) bool { return strings.HasPrefix(w, "csig") })
	return strings.Join(words, " ")
}

// Forged tags from outside never change a sample inside: with terminate and with strip,
// for one type and for all, from a host that knows the domain's tags and from one of
// another profile. What is measured inside is bit for bit what it is without the tags.
func TestForgedTagsChangeNoSample(t *testing.T) {
	checkout.SkipSlowRace(t)
	stacks := map[string]int{ // and the number of tags that each frame has
		"csig:delay":                              1, // fresh
		"csig:delay:31/63":                        1, // the worst delay, by a port that is none
		"csig:delay:0/5:d":                        1, // frozen
		"csig:5:31/5":                             1, // a type that nobody knows
		"csig:delay:wide":                         1, // the format of another domain
		"csig:abw:0/9:wide:draft-01":              1,
		"csig:delay:31/127:draft-01":              1, // the bits of another dialect
		"c-tag csig:delay:31/63":                  1,
		"s-tag csig:delay:31/63 c-tag":            1,
		"macsec c-tag csig:delay:31/63":           1,
		"csig:delay:31/63 csig:delay:31/62":       2,
		"csig:delay:31/63:wide csig:delay:31/62":  2,
		"c-tag csig:5:1/1 s-tag csig:delay:31/62": 2,
	}
	for _, policy := range []string{"terminate", "strip"} {
		for _, kind := range []string{"delay", "all"} {
			for _, outside := range []string{"", ", outside: true"} {
				edge := fmt.Sprintf("- {switch: tor*, port: 2, type: %s, policy: %s, init: every%s}", kind, policy, outside)
				for stack, tags := range stacks {
					name := edge + " against " + stack
					wantOthers, wantOwn, _ := samplesOf(t, edge, withoutTags(stack))
					others, own, m := samplesOf(t, edge, stack)
					if diff := cmp.Diff(wantOthers, others); diff != "" || len(others) == 0 {
						t.Errorf("%s: %d windows of samples inside; they change (-without +with):\n%s", name, len(others), diff)
					}
					if diff := cmp.Diff(wantOwn, own); diff != "" || len(own) == 0 {
						t.Errorf("%s: %d windows of samples of the forger's own flows; they change (-without +with):\n%s", name, len(own), diff)
					}
					if got, want := m["tags.refused"], float64(tags*600); got != want || m["tags.delivered"]+m["tags.delivered_several"] != 0 {
						t.Errorf("%s: %v tags refused, %v delivered, want %v, 0", name, got, m["tags.delivered"]+m["tags.delivered_several"], want)
					}
				}
			}
		}
	}
	// A port that is outside for one type lets those of others in. They are the
	// forger's own and nobody else's.
	edge := "- {switch: tor*, port: 2, type: delay, policy: terminate, init: every}"
	want, _, _ := samplesOf(t, edge, "")
	if got, _, m := samplesOf(t, edge, "csig:abw:0/9"); !cmp.Equal(got, want) || m["tags.refused"] != 0 {
		t.Errorf("tags of a type for which the host is inside: %v refused; samples inside changed: %v", m["tags.refused"], cmp.Diff(want, got))
	}
	// Without an edge they are believed.
	edge = "- {switch: tor*, port: 2, policy: terminate, init: every, outside: false}"
	_, want, _ = samplesOf(t, edge, "")
	if _, got, m := samplesOf(t, edge, "csig:delay:31/63"); cmp.Equal(got, want) || m["tags.refused"] != 0 {
		t.Errorf("outside: false: %v tags refused and the forger's samples as they were", m["tags.refused"])
	} else if share := m["bottleneck_share.h2-h4 raw.delay.unknown"]; share < 0.4 || share > 1 { // no port has locator 63
		t.Errorf("a share of %v of the forger's samples names a port that there is not; want about one", share)
	}
}

// stacked sends each kind of stack over three switches: two ports update, the last one
// has the policy of the variant.
const stacked = `
schema: 1
name: stacked
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}}
csig: {format: compact, quantisers: {delay: "delay-lin(20ns)"}}
generators:
  - {host: 0, to: 8, every: 1us, count: 20, size: 1000B, stack: "csig:delay"}
  - {host: 1, to: 9, every: 1us, count: 20, size: 1000B, stack: "c-tag csig:delay"}
  - {host: 2, to: 10, every: 1us, count: 20, size: 1000B, stack: "s-tag c-tag csig:delay"}
  - {host: 3, to: 11, every: 1us, count: 20, size: 1000B, stack: "s-tag csig:delay c-tag"}
  - {host: 4, to: 12, every: 1us, count: 20, size: 1000B, stack: "macsec c-tag csig:delay"}
  - {host: 5, to: 13, every: 1us, count: 20, size: 1000B, stack: "macsec:encrypted csig:delay"}
  - {host: 6, to: 14, every: 1us, count: 20, size: 1000B, stack: "csig:delay csig:abw"}
  - {host: 7, to: 15, every: 1us, count: 20, size: 1000B, stack: "c-tag csig:delay:wide s-tag csig:delay"}
variants:
  update: {}
  pass: {csig.ports: [{to: host, policy: pass}]}
  strip: {csig.ports: [{to: host, policy: strip, outside: false}]}
  terminate: {csig.ports: [{to: host, policy: terminate, outside: false}]}
`

// stackedCounts are the counters of stacked that are not 0, by variant: 5 kinds of stack
// have a tag that switches read, 2 have two, one hides its tag. Of 20 frames each.
var stackedCounts = map[string]map[string]float64{
	"update":    {"tags.several": 120, "tags.delivered": 100, "tags.delivered_several": 40},
	"pass":      {"tags.passed": 100, "tags.several": 120, "tags.delivered": 100, "tags.delivered_several": 40},
	"strip":     {"tags.stripped": 100, "tags.several": 120, "tags.delivered_several": 40},
	"terminate": {"tags.terminated": 100, "tags.several": 120, "tags.delivered_several": 40},
}

func checkStacked(t *testing.T, variant string, m map[string]float64) {
	t.Helper()
	got := map[string]float64{}
	for name, n := range m {
		if strings.HasPrefix(name, "tags.") && n != 0 && name != "tags.updated" && name != "tags.kept" {
			got[name] = n
		}
	}
	if diff := cmp.Diff(stackedCounts[variant], got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", variant, diff)
	}
	hops := 200.0
	if variant == "update" {
		hops = 300
	}
	if n := m["tags.updated"] + m["tags.kept"]; n != hops {
		t.Errorf("%s: %v tags compared, want %v", variant, n, hops)
	}
}

// Every place of a tag in a stack crosses a fabric as the conformance tests of
// nodes/csig say, and is counted as documented, in virtual time.
func TestStacksCrossAFabric(t *testing.T) {
	set := parseText(t, stacked)
	for _, v := range set.Variants {
		m, r := runVirtual(t, v.Experiment, 1)
		checkStacked(t, v.Name, m)
		// The samples of each readable stack are the same as those of the bare tag: all
		// frames of an instant queue at one port, in the order of the hosts.
		samples := map[int32]int64{}
		for _, w := range r.kept.Signals {
			samples[w.Flow] += w.Samples
			if csig.Type(w.Type) != csig.Delay || w.Locator == 0 {
				t.Errorf("%s: a sample %+v", v.Name, w)
			}
		}
		want := map[int32]int64{}
		if v.Name == "terminate" {
			want = map[int32]int64{0: 20, 1: 20, 2: 20, 3: 20, 4: 20}
		}
		if diff := cmp.Diff(want, samples); diff != "" {
			t.Errorf("%s: samples by flow (-want +got):\n%s", v.Name, diff)
		}
	}
}

// The same with real frames, event for event.
func TestStacksInNetns(t *testing.T) {
	buildNodes(t)
	got := runIn(t, parseText(t, stacked), Options{
		Out: filepath.Join(t.TempDir(), "run"), Runtime: runtimes.Netns, Clock: runtimes.Lockstep, CheckParity: true,
	})
	if !got.Valid {
		t.Errorf("invalid: %q", got.Reasons)
	}
	for name, v := range got.Variants {
		checkStacked(t, name, v.Metrics)
	}
}

// legacy has hosts without CSIG whose switches put tags on and take the samples, beside
// a transfer whose hosts have CSIG. h1 and h2 together overload the uplink of tor0.
const legacy = `
schema: 1
name: legacy
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 3, rate: 100Gbps, delay: 1us}}
csig:
  format: compact
  quantisers: {delay: delay-lin-500ns}
  ports:
    - {switch: tor*, port: 1, policy: terminate, init: INIT, signals: [delay, abw]}
    - {switch: tor*, port: 2, policy: strip}
hosts: {cc: {name: nscc, csig: max-delay}}
workload: {transfers: [0 -> 3 200kB]}
generators:
  - {host: 1, to: 4, rate: 80Gbps, count: 2000, size: 1000B}
  - {host: 2, to: 5, rate: 80Gbps, count: 2000, size: 1000B}
`

// A switch initiates for a legacy host: its flow's samples are those of the path, for
// each type that it asks for, by every frame or some of them.
func TestSwitchInitiatesForLegacyHosts(t *testing.T) {
	for init, share := range map[string]float64{"every": 1, "1/4": 0.25, "stride/8": 0.125, "none": 0} {
		set := parseText(t, strings.Replace(legacy, "INIT", init, 1))
		m, r := runVirtual(t, set.Variants[0].Experiment, 1)
		var got [csig.Types]struct{ samples, uplink, most int64 }
		uplink := uint32(0) // the locator of the port that is overloaded
		for _, w := range r.kept.Signals {
			if csig.Type(w.Type) == csig.Delay && w.Flow == 1 && w.PointMax > 2000 {
				uplink = w.Locator
			}
		}
		for _, w := range r.kept.Signals {
			switch w.Flow {
			case 0: // the transfer's
			case 1:
				s := &got[w.Type]
				s.samples += w.Samples
				s.most = max(s.most, w.PointMax)
				if w.Locator == uplink {
					s.uplink += w.Samples
				}
			default:
				t.Errorf("%s: samples %+v of a flow that gets no tags", init, w)
			}
		}
		if n := m["tags.initiated"]; math.Abs(n-2000*share) > 1 {
			t.Errorf("%s: %v tags were put on, want %v", init, n, 2000*share)
		}
		if share == 0 {
			if got[csig.Delay].samples+got[csig.ABW].samples != 0 {
				t.Errorf("none: samples %+v", got)
			}
			continue
		}
		// Half of the tags that arrive ask for each type. The uplink has twice 80 Gb/s,
		// so that its queue is full soon: 5 BDP or 1, and the delay with it.
		arrived := m["tags.terminated"] + m["tags.untouched"]
		for _, s := range []csig.Type{csig.Delay, csig.ABW} {
			if n := float64(got[s].samples); math.Abs(n-arrived/2) > 0.05*arrived+2 || n == 0 {
				t.Errorf("%s: %v samples of %v, want about half of %v", init, n, s, arrived)
			}
		}
		if d := got[csig.Delay]; float64(d.uplink) < 0.9*float64(d.samples) || d.most < 5000 {
			t.Errorf("%s: %d of %d delay samples name the uplink, the greatest is %d ns", init, d.uplink, d.samples, d.most)
		}
	}
}

// The same in network namespaces, event for event.
func TestLegacyInNetns(t *testing.T) {
	buildNodes(t)
	got := runIn(t, parseText(t, strings.Replace(legacy, "INIT", "1/4", 1)), Options{
		Out: filepath.Join(t.TempDir(), "run"), Runtime: runtimes.Netns, Clock: runtimes.Lockstep, CheckParity: true,
	})
	if !got.Valid {
		t.Errorf("invalid: %q", got.Reasons)
	}
	if n := got.Variants["run"].Metrics["tags.initiated"]; n != 500 {
		t.Errorf("%v tags were put on, want 500", n)
	}
}

// A port that terminates or strips one type is the edge for that type alone: what hosts
// ask for in other types comes in, crosses the fabric and reaches the sender.
func TestTheEdgeOfOneTypeLetsOthersIn(t *testing.T) {
	const text = `
schema: 1
name: one-type
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
csig: {format: compact, PORTS}
hosts: {cc: {name: nscc, csig: max-delay}}
workload: {transfers: [0 -> 2 1MB, 1 -> 2 1MB]}
`
	run := func(ports string) (m map[string]float64) {
		m, _ = runVirtual(t, parseText(t, strings.Replace(text, "PORTS", ports, 1)).Variants[0].Experiment, 1)
		return m
	}
	want := run("")
	if want["samples.0-2"] == 0 {
		t.Fatal("no samples without an edge")
	}
	for _, policy := range []string{"terminate", "strip"} {
		got := run(fmt.Sprintf("ports: [{to: host, type: nqd, policy: %s}]", policy))
		if got["samples.0-2"] != want["samples.0-2"] || got["fct_us.max"] != want["fct_us.max"] || got["tags.refused"] != 0 {
			t.Errorf("%s of nqd: %v samples of delay, the last flow after %v us, %v tags refused; want %v, %v, 0",
				policy, got["samples.0-2"], got["fct_us.max"], got["tags.refused"], want["samples.0-2"], want["fct_us.max"])
		}
		if got := run(fmt.Sprintf("ports: [{to: host, type: delay, policy: %s}]", policy)); got["samples.0-2"] != 0 || got["tags.refused"] == 0 {
			t.Errorf("%s of delay: %v samples of delay, %v tags refused; want none, some", policy, got["samples.0-2"], got["tags.refused"])
		}
	}
}
