package plan_test

import (
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
)

// The network RTT is that of the pair that takes longest, not of the one with
// the most links or with the largest delay. A packet of 4150 B takes 332 ns at
// 100 Gb/s and 83 ns at 400, an ACK 5.12 and 1.28.
func TestNetworkRTTOfUnequalPaths(t *testing.T) {
	for _, c := range []struct {
		topology string
		want     units.Duration
	}{
		{"k_ary: {k: 4, rate: 100Gbps, delay: 1us}", 12*units.Microsecond + 6*337120},
		{"k_ary: {k: 4, rate: 100Gbps, delay: 1us, switch_delay: 100ns}", 13*units.Microsecond + 6*337120},
		{"leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 8, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}", 8*units.Microsecond + 2*337120 + 2*84280},
		{"dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, delay: 1us}", 10*units.Microsecond + 5*337120},
		{"dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, global_rate: 400Gbps, delay: 1us, global_delay: 3us}", 14*units.Microsecond + 4*337120 + 84280},
	} {
		p := backendtest.Compile(t, "schema: 1\nname: t\ntopology: {"+c.topology+"}\nworkload: {all_to_all: {size: 1kB}}\n")
		if p.Path.NetworkRTT != c.want {
			t.Errorf("%s: got %v, want %v", c.topology, p.Path.NetworkRTT, c.want)
		}
	}
}
