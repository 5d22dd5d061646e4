package campaign

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// permutation is hosts under a fat tree of three tiers, each sending 2 MB to another
// one. The switches have radix ports down and, but for the top, up; pods have
// radix² hosts.
func permutation(hosts, radix int) string {
	return fmt.Sprintf(`
schema: 1
name: permutation-%[1]d
topology:
  fat_tree:
    hosts: %[1]d
    pod: %[3]d
    tiers:
      - {down: %[2]d, up: %[2]d, rate: 100Gbps, delay: 1us}
      - {down: %[2]d, up: %[2]d, rate: 100Gbps, delay: 1us}
      - {down: %[4]d, rate: 100Gbps, delay: 1us}
workload: {permutation: {size: 2MB, seed: 1}}
`, hosts, radix, radix*radix, 2*radix)
}

// BenchmarkPermutation128 reports packet-hops (packets sent on a link) per CPU
// second of the event loop, and the allocations per packet-hop between a
// quarter and three quarters of the transfer, when pools and queues have grown.
func BenchmarkPermutation128(b *testing.B) { benchPermutation(b, 128, 4) }

// BenchmarkPermutation1024 is BenchmarkPermutation128 with eight times as many hosts.
func BenchmarkPermutation1024(b *testing.B) { benchPermutation(b, 1024, 8) }

// BenchmarkPermutation8192 is BenchmarkPermutation128 with 64 times as many hosts. It
// takes minutes, and runs only if -bench names its size.
func BenchmarkPermutation8192(b *testing.B) { benchPermutation(b, 8192, 16) }

func benchPermutation(b *testing.B, hosts, radix int) {
	onlyByName(b, hosts)
	e := parseText(b, permutation(hosts, radix)).Variants[0].Experiment
	var total tally
	for b.Loop() {
		total.run(b, e, 1)
	}
	total.report(b)
}

// BenchmarkThreeFlow reports data packets per CPU second of the event loop for
// the variants of the embedded experiment, records on.
func BenchmarkThreeFlow(b *testing.B) {
	set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range set.Variants {
		b.Run(v.Name, func(b *testing.B) {
			var total tally
			for seed := uint64(1); b.Loop(); seed++ {
				total.run(b, v.Experiment, seed)
			}
			total.report(b)
		})
	}
}

// tally sums up runs.
type tally struct {
	hops, data, cpu float64
	steadyHops      float64 // hops and allocations of the middle of each run
	steadyAllocs    float64
	runs            int
}

func (t *tally) run(b *testing.B, e *experiment.Experiment, seed uint64) {
	b.Helper()
	p, err := plan.Compile(e, seed)
	if err != nil {
		b.Fatal(err)
	}
	// What the hosts have received is near enough to the share of the hops.
	var from, to float64
	var before, after runtime.MemStats
	records := measure.NewRecords(p, nil)
	out, err := packets.Virtual(context.Background(), &backend.Run{Plan: p}, nil, records, func(fraction float64) {
		switch {
		case from == 0 && fraction >= 0.25:
			from = fraction
			runtime.ReadMemStats(&before)
		case fraction <= 0.75:
			to = fraction
			runtime.ReadMemStats(&after)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	var hops float64
	for _, r := range records.Nodes() {
		for _, port := range r.Ports {
			hops += float64(port.TxPackets)
		}
	}
	if to > from {
		t.steadyHops += hops * (to - from)
		t.steadyAllocs += float64(after.Mallocs - before.Mallocs)
	}
	t.hops += hops
	t.data += measure.Metrics(p, out, records)["data_packets"]
	t.cpu += out.CPU.Seconds()
	t.runs++
}

func (t *tally) report(b *testing.B) {
	b.ReportMetric(t.hops/t.cpu, "hops/cpu-s")
	b.ReportMetric(t.data/t.cpu, "data-packets/cpu-s")
	b.ReportMetric(t.hops/float64(t.runs), "hops/op")
	if t.steadyHops > 0 {
		b.ReportMetric(t.steadyAllocs/t.steadyHops, "allocs/hop")
	}
}
