package campaign

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/host/balance"
)

type balancerRow struct{ name, hosts string }

// orderOfBalancers runs a permutation of 2 MB with each load balancer and with numbers of
// links to the core at a quarter of their rate, which routing does not know. It checks
// the order that the reference simulator's stored results have
// (docs/reference/references.md#reference-results): one path is far behind, oblivious next, and the
// adaptive ones are ahead. Want has the reference's tails in us, by number of slow links; nil leaves
// out those with an ACK per packet.
func orderOfBalancers(t *testing.T, k int, numbers []int, reference map[string][3]float64) {
	rows := []balancerRow{
		{"single", "{lb: single}"},
		{"oblivious", "{lb: {name: oblivious, paths: 128}}"},
		{"bitmap", "{lb: {name: bitmap, paths: 128}}"},
		{"reps", "{lb: {name: reps, paths: 128}}"},
		{"reps, ACK per packet", "{lb: {name: reps, paths: 128}, ack_every: 4150B}"},
		{"mixed", "{lb: {name: mixed, paths: 128}}"},
		{"mixed, ACK per packet", "{lb: {name: mixed, paths: 128}, ack_every: 4150B}"},
		{"csig-weighted, ACK per packet", "{lb: {name: csig-weighted, pick: ack-clocked}, ack_every: 4150B}"},
	}
	if reference == nil {
		rows = slices.DeleteFunc(rows, func(r balancerRow) bool { return strings.Contains(r.hosts, "ack_every") })
	}
	for i, slow := range numbers {
		tails := map[string]float64{}
		for _, row := range rows {
			text := fmt.Sprintf("schema: 1\nname: t\ntopology: {k_ary: {k: %d, rate: 100Gbps, delay: 1us}}\nworkload: {permutation: {size: 2MB}, start_jitter: 0s}\nhosts: %s\ncsig: {format: compact, nqd: drain}\n", k, row.hosts)
			if slow > 0 {
				text += fmt.Sprintf("faults: [{kind: rate, links: agg*-core*, random: %d, share: 0.25}]\n", slow)
			}
			m, _ := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
			tails[row.name] = m["fct_us.max"]
			if want := reference[row.name]; reference != nil && want[i] > 0 {
				t.Logf("%d slow links, %s: %.1f us here, %.1f us in the reference: ratio %.3f", slow, row.name, tails[row.name], want[i], tails[row.name]/want[i])
			} else {
				t.Logf("%d slow links, %s: %.1f us", slow, row.name, tails[row.name])
			}
		}
		if tails["single"] < 1.5*tails["oblivious"] {
			t.Errorf("%d slow links: one path takes %.1f us, oblivious %.1f us; want far more", slow, tails["single"], tails["oblivious"])
		}
		for _, row := range rows[2:] {
			if got := tails[row.name]; got >= tails["oblivious"] {
				t.Errorf("%d slow links: %s takes %.1f us, oblivious %.1f us; want less", slow, row.name, got, tails["oblivious"])
			}
		}
	}
}

func TestOrderOfBalancers(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	orderOfBalancers(t, 8, []int{0, 8}, nil)
}

// The same with the reference's own fabric of 1024 hosts, against its figures.
func TestOrderOfBalancers1024(t *testing.T) {
	needTime(t)
	orderOfBalancers(t, 16, []int{0, 1, 8}, map[string][3]float64{
		"single":                {889.92, 0, 0},
		"oblivious":             {212.79, 0, 280.8},
		"bitmap":                {200.51, 0, 220.3},
		"reps":                  {208.24, 0, 245.8},
		"reps, ACK per packet":  {198.25, 0, 206.7},
		"mixed":                 {200.51, 202.27, 219.6},
		"mixed, ACK per packet": {193.18, 0, 211.8},
	})
}

// Issue 12, must show 4: every load balancer leaves the same trace with real frames as in
// virtual time (--check-parity), with a slow link, tags and trims.
func TestBalancersOverFrames(t *testing.T) {
	checkout.SkipSlowRace(t)
	text := `
schema: 1
name: t
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 80kB, 1 -> 2 80kB, 3 -> 0 80kB]}
csig: {format: compact}
hosts: {trim_place: locator}
faults: [{kind: rate, links: tor0-agg0, share: 0.25}]
variants:
`
	for _, name := range balance.Table.Names() {
		text += fmt.Sprintf("  %s: {hosts.lb: %s}\n", name, name)
	}
	for _, pick := range []string{"two-choice", "ack-clocked"} {
		text += fmt.Sprintf("  %s: {hosts.lb: {name: csig-weighted, pick: %s}}\n", pick, pick)
	}
	result := runOne(t, text, overFrames())
	if len(result.Reasons) > 0 || len(result.Variants) != len(balance.Table)+2 {
		t.Errorf("%d variants ran, want %d; %q", len(result.Variants), len(balance.Table)+2, result.Reasons)
	}
}
