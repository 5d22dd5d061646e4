package campaign

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// A measuring window that goes on behind the end of the run ends with the run: what it measures
// is what a window without an end does, so that idle time turns no gain into a loss.
func TestWindowBehindTheEnd(t *testing.T) {
	set := parseText(t, `
schema: 1
name: window
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 4 1MB, 1 -> 4 1MB, {src: 2, dst: 5, size: 1MB, start: 100us}]}
variants: {open: {}, beyond: {measure.to: 1s}}
`)
	result, err := Run(t.Context(), set, Options{Out: filepath.Join(t.TempDir(), "run")})
	if err != nil {
		t.Fatal(err)
	}
	open, beyond := result.Summary.Variants["open"].Metrics, result.Summary.Variants["beyond"].Metrics
	compared := 0
	for name, want := range open {
		quantity, _, _ := strings.Cut(name, ".")
		switch quantity {
		case "rate_gbps", "goodput_gbps", "jain", "queue_kb", "utilisation", "hop_delay_us", "cwnd_kb":
			compared++
			if got := beyond[name]; math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s is %v, without an end of the window %v", name, got, want)
			}
		}
	}
	if compared < 20 || open["rate_gbps.0-4"] < 10 {
		t.Errorf("%d metrics compared, a rate of %v Gb/s", compared, open["rate_gbps.0-4"])
	}
}
