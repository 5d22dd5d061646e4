package campaign

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// "Trimmed at the last hop" by the DSCP and by the locator are the same decisions on a
// fabric where no two ports share a locator, and where ports to hosts share theirs with
// such ports alone: the traces are equal. Trims happen in both places.
func TestTrimPlaces(t *testing.T) {
	const text = `
schema: 1
name: t
topology: {leaf_spine: {leaves: 3, spines: 1, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}
workload:
  transfers: # incast to host 0 from its own leaf, and four flows through one uplink
    - 1 -> 0 500kB
    - 2 -> 0 500kB
    - 3 -> 0 500kB
    - 4 -> 8 500kB
    - 5 -> 9 500kB
    - 6 -> 10 500kB
    - 7 -> 11 500kB
csig: {format: %s}
hosts: {lb: %s, trim_place: %s}
`
	for _, c := range []struct{ format, lb string }{{"wide", "mixed"}, {"wide", "csig-weighted"}, {"compact", "bitmap"}} {
		hashes, trimmed := map[string][]string{}, map[string]int64{}
		for _, place := range []string{"dscp", "locator"} {
			e := parseText(t, fmt.Sprintf(text, c.format, c.lb, place)).Variants[0].Experiment
			m, r := runVirtual(t, e, 1)
			for _, n := range r.Nodes {
				hashes[place] = append(hashes[place], fmt.Sprintf("%s %.8x", n.Name, n.TraceHash))
				for _, p := range n.Ports {
					trimmed[n.Name] += p.TrimmedPackets
				}
			}
			if m["trims"] == 0 || trimmed["tor0"] == 0 || trimmed["tor1"] == 0 {
				t.Fatalf("%v: trims %v at tor0 (last hop) and %v at tor1 (uplink), want both", c, trimmed["tor0"], trimmed["tor1"])
			}
		}
		if diff := cmp.Diff(hashes["dscp"], hashes["locator"]); diff != "" {
			t.Errorf("%v: traces by DSCP (-) and by locator (+)\n%s", c, diff)
		}
	}
}
