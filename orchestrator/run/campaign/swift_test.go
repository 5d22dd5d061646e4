package campaign

import (
	"fmt"
	"strings"
	"testing"
)

// TestSwiftAutoTargetsShare: with the automatic targets of Swift, flows over few and over
// many switches share a bottleneck within a factor of 3 at several rates and delays, the
// links are full, and over three bottlenecks in a row the long flow keeps a share
// (docs/reference/references.md#swift). With targets from the longest round trip alone, the flow
// over one switch had 9 to 22 times the rate at 100 and 400 Gb/s, and the short flows of
// the parking lot 180 to 520 times.
func TestSwiftAutoTargetsShare(t *testing.T) {
	for _, c := range []struct {
		gbps, delayNS int
		topology      string
		transfers     string // with the long flow first
		hops          int    // of the longest path
		most          float64
	}{
		{25, 1000, "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2", "2 -> 0|1 -> 0", 3, 3},
		{100, 1000, "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2", "2 -> 0|1 -> 0", 3, 3},
		{400, 1000, "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2", "2 -> 0|1 -> 0", 3, 3},
		{100, 4000, "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2", "2 -> 0|1 -> 0", 3, 3},
		{400, 1000, "k_ary: {k: 4", "8 -> 0|1 -> 0", 5, 3},
		{100, 1000, "parking_lot: {hops: 3", "0 -> 1|2 -> 3|4 -> 5|6 -> 7", 4, 40},
		{400, 1000, "parking_lot: {hops: 3", "0 -> 1|2 -> 3|4 -> 5|6 -> 7", 4, 40},
	} {
		name := fmt.Sprintf("%s at %d Gb/s, %d ns", c.topology, c.gbps, c.delayNS)
		from := 150 * 2 * c.delayNS * (c.hops + 1) / 1000 // 150 round trips, us
		flows := strings.Split(c.transfers, "|")
		text := "schema: 1\nname: swift\n" + fmt.Sprintf("topology: {%s, rate: %dGbps, delay: %dns}}\nmeasure: {from: %dus, to: %dus}\nend: %dus\nhosts: {cc: swift}\nworkload:\n  transfers:\n",
			c.topology, c.gbps, c.delayNS, from, 3*from, 3*from)
		for _, f := range flows {
			text += fmt.Sprintf("    - %s %dB\n", f, 4*from*c.gbps*125)
		}
		m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
		rate := func(flow string) float64 { return m["rate_gbps."+strings.ReplaceAll(flow, " -> ", "-")] }
		long := rate(flows[0])
		for _, f := range flows[1:] {
			short := rate(f)
			t.Logf("%s: %s %.2f Gb/s, %s %.2f Gb/s: %.2f", name, f, short, flows[0], long, short/long)
			if short > c.most*long || long > 3*short {
				t.Errorf("%s: flow %s has %.2f times the rate of %s, want 1/3 to %v", name, f, short/long, flows[0], c.most)
			}
			if used := (short + long) / float64(c.gbps); used < 0.98 {
				t.Errorf("%s: %s and %s use %.3f of their link", name, f, flows[0], used)
			}
		}
	}
}
