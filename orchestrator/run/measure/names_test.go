package measure_test

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// transfers has two flows between the same hosts and one more; no CSIG.
const transfers = `schema: 1
name: transfers
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 64kB, 0 -> 3 64kB, 1 -> 2 64kB]}
`

func TestNames(t *testing.T) {
	plain, tagged, raw := measure.Names(compile(t, transfers)), measure.Names(compile(t, transfers+"csig: {format: compact}\n")), measure.Names(compile(t, programs))
	for _, c := range []struct {
		names          *measure.NameSet
		name           string
		has            bool
		lacks, nearest string // where it does not have it
	}{
		{plain, "fct_us.p99", true, "", ""},
		{plain, "fct_us.0-3#2", true, "", ""},
		{plain, "target_qdelay_us", true, "", ""},
		{plain, "cc_share.1-2.quick_adapt", true, "", ""},
		{plain, "tags.updated", true, "", ""},
		{plain, "fct_us.p9", false, "", "fct_us.p99"},
		{plain, "fct_us.0-4", false, "", "fct_us.0-3"},
		{plain, "fct-us.p99", false, "", "fct_us.p99"},
		{plain, "packet.new", false, "", "packets.new"},
		{plain, "fct.p99", false, "", "fct_us.p99"},
		{plain, "queue.p99.leaf0-spine0", false, "", "queue_kb.p99.tor0-agg0"},
		{plain, "queue_kb.p99.tor0->agg0", false, "", "queue_kb.p99.tor0-agg0"},
		{plain, "fctus", false, "", ""},
		{plain, "", false, "", ""},
		{plain, "fct_us", false, "", ""},
		{plain, "fct_us.", false, "", ""},
		{plain, "samples.0-3", false, "it has no CSIG", ""},
		{plain, "ftc_us.*", false, "", "fct_us.*"},
		{tagged, "csig_dealy_us.*.0-3", false, "", "csig_delay_us.min.0-3"},
		{raw, "programs.mutlicast*", false, "", "programs.multicast"},
		{plain, "bottleneck_share.*", false, "it has no CSIG", ""},
		{plain, "csig_delay_us.mean.*", false, "it has no CSIG", ""},
		{tagged, "csig_delay_us.p50.0-3", false, "", "csig_delay_us.min.0-3"},
		{plain, "programs.multicast", false, "it has no programs", ""},
		{tagged, "csig_delay_us.mean.0-3", true, "", ""},
		{tagged, "bottleneck_share.0-3.delay.agg0-tor1", true, "", ""},
		{tagged, "bottleneck_share.delay.agg0-tor1", true, "", ""},
		{plain, "bottleneck_share.delay.tor0-agg0", false, "it has no CSIG", ""},
		{plain, "queue_kb.p99.tor0-agg0", true, "", ""},
		{plain, "queue_kb.p99.core", true, "", ""},
		{plain, "queue_kb.p99.global", false, "", "queue_kb.p99.host"},
		{plain, "queue_kb.p90.up", false, "", "queue_kb.p50.up"},
		{plain, "hop_delay_us.mean.down", true, "", ""},
		{plain, "hop_delay_us.mean.host", false, "", "hop_delay_us.mean.down"},
		{raw, "hop_delay_us.mean.host", true, "", ""},
		{plain, "utilisation.h0-tor0", true, "", ""},
		{plain, "utilization.h0-tor0", false, "", "utilisation.h0-tor0"},
		{plain, "jain.all", true, "", ""},
		{plain, "jain.job-0", true, "", ""},
		{raw, "jain.all", false, "it has no transfers", ""},
		{plain, "samples_per_ack.0-3", false, "it has no CSIG", ""},
		{plain, "slowdown.p99", true, "", ""},
		{plain, "rtt_us.p99.0-3#2", true, "", ""},
		{raw, "bottleneck_share.h0-h3 app.delay.locator-3", true, "", ""},
		{raw, "bottleneck_share.h0-h3 app.delay.agg0-tor1", true, "", ""},
		{raw, "bottleneck_share.h0-h3 app.delay.agg0-tor2", false, "", "bottleneck_share.h0-h3 app.delay.agg0-tor0"},
		{raw, "programs.multicast", true, "", ""},
		{raw, "fct_us.p99", false, "it has no transfers", ""},
	} {
		if got := c.names.Has(c.name); got != c.has {
			t.Errorf("Has(%q) = %v", c.name, got)
		}
		if c.has {
			continue
		}
		if got := c.names.Lacks(c.name); got != c.lacks {
			t.Errorf("Lacks(%q) = %q, want %q", c.name, got, c.lacks)
		}
		if c.lacks != "" {
			continue
		}
		if got := c.names.Nearest(c.name); got != c.nearest {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.nearest)
		}
	}
	for pattern, want := range map[string][]string{
		"fct_us.0-*":   {"fct_us.0-3", "fct_us.0-3#2"},
		"fct*.p9*":     {"fct_us.p99", "fct_us.p95", "fct_us.p999"},
		"c*.1-2.noop":  {"cc_share.1-2.noop"},
		"samples.*":    nil,
		"flows.*mplet": nil,
	} {
		if got := slices.Collect(plain.Match(pattern)); !slices.Equal(got, want) {
			t.Errorf("Match(%q): got %q, want %q", pattern, got, want)
		}
	}
}

// The names of a fabric with millions of metrics cost little memory, and a name that is
// none of them is found to be so soon.
func TestNamesOfALargeFabric(t *testing.T) {
	p := compile(t, `schema: 1
name: large
topology: {fat_tree: {hosts: 1024, pod: 1024, tiers: [{down: 32, up: 32, rate: 100Gbps, delay: 1us}, {down: 32, rate: 100Gbps, delay: 1us}]}}
workload: {permutation: {size: 64kB}}
csig: {format: compact}
`)
	if got := testing.AllocsPerRun(1, func() { measure.Names(p) }); got > float64(300+2*2*len(p.Graph.Links)) {
		t.Errorf("%v allocations for the names of a plan with %d flows and %d links", got, len(p.Flows), len(p.Graph.Links))
	}
	names := measure.Names(p)
	if n := p.Flows[1000].Name; !names.Has("cc_share."+n+".noop") || names.Has("cc_share."+n+".nop") {
		t.Errorf("the share of %s is not known as it is", n)
	}
	if got := names.Nearest("cc_shar.9999-0.noop"); got == "" {
		t.Error("no name is near")
	}
}

// Of a fabric with more names than are compared, the one with the same first words is
// suggested.
func TestNearestOfManyNames(t *testing.T) {
	p := compile(t, `schema: 1
name: large
topology: {fat_tree: {hosts: 8192, pod: 256, tiers: [{down: 16, up: 16, rate: 100Gbps, delay: 1us}, {down: 16, up: 16, rate: 100Gbps, delay: 1us}, {down: 32, rate: 100Gbps, delay: 1us}]}}
workload: {permutation: {size: 64kB}}
`)
	if got, want := measure.Names(p).Nearest("queue_kb.p99.tor0-agg99"), "queue_kb.p99.tor0-agg9"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
