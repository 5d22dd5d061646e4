package campaign

import (
	"fmt"
	"testing"
)

// The samples of flows over a saturated link say that nothing is free, at 20 Mb/s, where a
// frame is longer than the interval, as at 100 Gb/s.
func TestSamplesOfASaturatedLink(t *testing.T) {
	for _, link := range []struct{ rate, delay, size, measure string }{
		{"20Mbps", "100us", "2MB", "{from: 200ms, to: 1s}"},
		{"100Gbps", "1us", "20MB", "{from: 2200us, to: 3ms}"},
	} {
		for _, interval := range []string{"16us", "128us", "1ms"} {
			for _, meter := range []string{"tumbling", "sliding"} {
				for _, format := range []string{"compact", "wide"} {
					text := fmt.Sprintf(`
schema: 1
name: saturated
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: %s, delay: %s}}
workload: {transfers: [0 -> 2 %s, 1 -> 3 %s]}
csig: {format: %s, signal: abw-c, interval: %s, meter: %s, decode: lower}
measure: %s
`, link.rate, link.delay, link.size, link.size, format, interval, meter, link.measure)
					m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
					for _, flow := range []string{"0-2", "1-3"} {
						mean, ok := m["csig_abwc.mean."+flow]
						if most := 1e-6; !ok || mean > most || m["samples."+flow] < 10 {
							t.Errorf("%s, t = %s, %s, %s: flow %s: mean ABW/C %v of %v samples, want at most %v", link.rate, interval, meter, format, flow, mean, m["samples."+flow], most)
						}
					}
				}
			}
		}
	}
}
