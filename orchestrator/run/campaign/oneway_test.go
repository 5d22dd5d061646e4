package campaign

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// Two flows into one host share its link evenly, whatever the signal, also when one
// direction of a link that one of them crosses is slow: the way of its ACKs, which are few.
func TestOneWayFaultsLeaveFlowsFair(t *testing.T) {
	checkout.SkipSlowRace(t)
	const text = `
schema: 1
name: oneway
topology: {leaf_spine: {leaves: 3, spines: 1, hosts_per_leaf: 1, rate: 100Gbps, delay: 1us}}
workload: {transfers: [1 -> 0 50MB, 2 -> 0 50MB]}
csig: {format: wide}
faults: [{kind: rate, links: tor1-agg0, share: 0.02, direction: down}]
measure: {from: 500us, to: 2500us}
end: 3ms
variants:
  nscc: {csig.format: none}
  csig: {hosts.cc.csig: max-delay}
  poseidon: {hosts.cc.name: poseidon}
  wait: {hosts.cc.csig: max-delay, csig.delay: wait}
`
	for name, v := range runOne(t, text, Options{}).Variants {
		one, other := v.Metrics["rate_gbps.1-0"], v.Metrics["rate_gbps.2-0"]
		t.Logf("%s: %.1f and %.1f Gb/s", name, one, other)
		if one+other < 98 || one < 0.6*other || other < 0.6*one {
			t.Errorf("%s: %.1f and %.1f Gb/s, want about 50 each", name, one, other)
		}
	}
}

// A tag says how long its packet took to come in, at the rate at which it came in: 664 ns of
// 4150 B from a peer that sends at half the rate, 332 ns from one that does not; also when
// the port's own direction has another rate.
func TestResidenceOnALinkThatIsSlowOneWay(t *testing.T) {
	for _, c := range []struct {
		hop, fault string
		want       int64
	}{
		{"agg0", "", 83},
		{"agg0", "{kind: rate, links: tor0-agg0, rate: 200Gbps, direction: up}", 166},
		{"agg0", "{kind: rate, links: tor0-agg0, rate: 20Gbps, direction: down}", 83},
		{"agg0", "{kind: rate, links: tor0-agg0, rate: 20Gbps, direction: up}", 1660},
		{"tor0", "{kind: slow_nic, hosts: h0, rate: 50Gbps}", 664},
		{"tor0", "{kind: rate, links: h0-tor0, rate: 50Gbps, direction: down}", 332},
	} {
		if got := residences(t, c.hop, "", fmt.Sprintf("faults: [%s]", c.fault))["0-2"]; got != c.want {
			t.Errorf("%s, fault %q: %d ns, want %d", c.hop, c.fault, got, c.want)
		}
	}
}
