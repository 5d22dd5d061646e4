package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
)

// TestPortRules compiles rules of csig.ports and compares what some ports do: their
// policies by type (u p s t), then i for the types that they refuse or o for all, then
// how they put tags on.
func TestPortRules(t *testing.T) {
	const fabric = `
schema: 1
name: ports
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 1MB]}
csig: {format: compact, signal: nqd, ports: [RULES]}
`
	for rules, want := range map[string]string{ // of tor0 to h0, tor0 to agg0, agg0 to tor0
		"{policy: update}":                                                                      "uuuu uuuu uuuu",
		"{to: host, policy: strip}":                                                             "ssss o uuuu uuuu",
		"{to: host, policy: terminate}":                                                         "tttt o uuuu uuuu",
		"{to: host, policy: pass}":                                                              "pppp uuuu uuuu",
		"{to: switch, type: abw, policy: pass}":                                                 "uuuu puuu puuu",
		"{tier: agg, type: nqd, policy: pass}":                                                  "uuuu uuuu uuup",
		"{switch: tor0, port: 2, policy: pass}":                                                 "uuuu pppp uuuu",
		"{to: host, type: delay, policy: strip}":                                                "uusu i2 uuuu uuuu",
		"{to: host, type: abw, policy: terminate}":                                              "tuuu i0 uuuu uuuu",
		"{to: host, policy: strip}, {to: host, type: abw, policy: update}":                      "usss i123 uuuu uuuu",
		"{to: host, outside: true}":                                                             "uuuu o uuuu uuuu",
		"{to: host, policy: strip, outside: false}":                                             "ssss uuuu uuuu",
		"{to: host, policy: strip}, {switch: tor0, port: 0, outside: false}":                    "ssss uuuu uuuu",
		"{switch: tor0, port: 0, outside: false}, {to: host, policy: strip}":                    "ssss uuuu uuuu",
		"{outside: false}, {to: host, outside: true}":                                           "uuuu o uuuu uuuu",
		"{to: host, init: 1/4, signals: [abw, delay]}":                                          "uuuu +4[abw delay] uuuu uuuu",
		"{to: host, policy: terminate, init: every}":                                            "tttt o +1[nqd] uuuu uuuu",
		"{to: host, init: every}, {to: host, init: none}":                                       "uuuu uuuu uuuu",
		"{to: host, init: every, signals: [abw]}, {to: host, init: stride/8, signals: [delay]}": "uuuu +8[delay] uuuu uuuu",
	} {
		p := backendtest.Compile(t, strings.Replace(fabric, "RULES", rules, 1))
		var ports []string
		for _, at := range [][2]int{{4, 0}, {4, 2}, {6, 0}} {
			ports = append(ports, describe(p.Switch(at[0]).Ports[at[1]])...)
		}
		if diff := cmp.Diff(want, strings.Join(ports, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rules, diff)
		}
	}
}

func describe(p dataplane.Port) (words []string) {
	policies, refused := "", "i"
	for t := range csig.Standard {
		policies += dataplane.Policies()[p.Policies[t]][:1]
		if p.Ingress.Refuses[t] {
			refused += fmt.Sprint(int(t))
		}
	}
	words = append(words, policies)
	switch {
	case p.Ingress.Outside:
		words = append(words, "o")
	case refused != "i":
		words = append(words, refused)
	}
	if n := p.Ingress.Init.Every; n > 0 {
		words = append(words, fmt.Sprintf("+%d%v", n, p.Ingress.Signals))
	}
	return words
}

// Generators have the machine that they need, and the flows and pairs of what they send.
func TestGenerators(t *testing.T) {
	p := backendtest.Compile(t, `
schema: 1
name: raw
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 3, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 1MB]}
csig: {format: wide}
end: 1ms
generators:
  - {host: 1, to: 4, every: 3us, start: 100us, stack: csig:delay}
  - {host: 1, to: 4, rate: 8Mbps, size: 1000B, count: 3}
  - {host: 4, to: 0, rate: 8Mbps, size: 1000B, count: 30}
`)
	kinds := ""
	for _, n := range p.Nodes[:p.Hosts()] {
		kinds += map[bool]string{true: "g", false: "t"}[n.Generator != nil]
	}
	if kinds != "tgttgt" {
		t.Errorf("hosts are %s, want transport and generators tgttgt", kinds)
	}
	var flows []string
	for _, f := range p.Flows {
		flows = append(flows, f.Name)
	}
	if diff := cmp.Diff([]string{"0-3", "h1-h4 raw", "h4-h0 raw"}, flows); diff != "" || len(p.Pairs) != 2 || !p.Format.Raw {
		t.Errorf("flows (-want +got):\n%s\npairs %+v", diff, p.Pairs)
	}
	g := p.Nodes[1].Generator
	if len(g.Streams) != 2 || len(g.Pairs) != 1 || len(g.Streams[0].Stack) != 8 || len(p.Nodes[4].Generator.Pairs) != 2 {
		t.Errorf("h1 is %+v", g)
	}
	var frames []int64
	for _, s := range p.Streams() {
		frames = append(frames, s.Frames)
	}
	if diff := cmp.Diff([]int64{300, 1, 1}, frames); diff != "" {
		t.Errorf("frames until the end (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(throughGob(t, p), p, whole); diff != "" {
		t.Errorf("another process reads (-got +want):\n%s", diff)
	}
}
