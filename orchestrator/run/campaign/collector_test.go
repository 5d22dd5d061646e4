package campaign

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// slowSpine is four racks whose links to one of four spines are slow, beside which 40 %
// of the fabric is used. Switches send samples to host 7.
const slowSpine = `
schema: 1
name: slow-spine
topology: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload: {traffic: [{name: rpc, poisson: {size: 20kB, rate: 3Gbps, for: 4ms}}]}
hosts: {lb: ecmp}
csig:
  format: wide
  init: none
  ports:
    - {to: host, init: every, signals: [abw], policy: terminate}
    - {tier: agg, policy: terminate, outside: false}
  collector: {host: 7, loop: abw}
routing: {name: wcmp}
faults:
  - {kind: rate, links: tor*-agg0, share: 0.1}
`

// Postcards and weights are packets of the fabric: they are conserved (the run's own check),
// the traces of virtual and lockstep are the same, and losses of them are losses of samples
// and of settings.
func TestCollector(t *testing.T) {
	checkout.SkipLong(t)
	metric := func(text string, opts Options) map[string]float64 {
		t.Helper()
		result := runOne(t, text, opts)
		if len(result.Reasons) > 0 {
			t.Fatalf("invalid because of %q", result.Reasons)
		}
		return result.Variants["run"].Metrics
	}
	loop := metric(slowSpine, overFrames())
	if loop["postcards"] < 100 || loop["postcards.received"] != loop["postcards"] || loop["weights.set"] < 12 {
		t.Errorf("%v postcards, %v received, %v settings; want 100 or more, all, 12 or more", loop["postcards"], loop["postcards.received"], loop["weights.set"])
	}
	still := metric(strings.Replace(slowSpine, "loop: abw", "loop: none", 1), Options{})
	if still["weights.set"] != 0 || still["postcards"] == 0 {
		t.Errorf("without the loop %v settings and %v postcards", still["weights.set"], still["postcards"])
	}
	if loop["fct_us.mean"] > 0.7*still["fct_us.mean"] {
		t.Errorf("mean FCT %v us with the loop, %v without, want 0.7 of it", loop["fct_us.mean"], still["fct_us.mean"])
	}
	rare := metric(strings.Replace(slowSpine, "loop: abw", "loop: none, interval: 2ms", 1), Options{})
	if rare["postcards"] > 0.7*still["postcards"] {
		t.Errorf("%v postcards at one in 2 ms, %v at one in 100 us", rare["postcards"], still["postcards"])
	}
	lost := metric(slowSpine+"  - {kind: down, links: h7-tor3, at: 2ms}\nend: 10ms\n", Options{})
	if lost["postcards.received"] >= lost["postcards"] {
		t.Errorf("%v of %v postcards received over a link that is down", lost["postcards.received"], lost["postcards"])
	}
}
