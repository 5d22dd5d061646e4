package campaign

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/units"
)

// cost is what one run took.
type cost struct {
	cpu, wall time.Duration // of the event loop
	hops      float64       // packets sent on a link
	end       float64       // of the run, s of model time
}

// costOf runs an experiment in virtual time, with records.
func costOf(b *testing.B, e *experiment.Experiment, untraced bool, workers int) cost {
	b.Helper()
	p, err := plan.Compile(e, 1)
	if err != nil {
		b.Fatal(err)
	}
	p.Untraced = untraced
	records := measure.NewRecords(p, nil)
	out, err := packets.Virtual(b.Context(), &backend.Run{Plan: p, Workers: workers}, nil, records, nil)
	if err != nil {
		b.Fatal(err)
	}
	c := cost{cpu: out.CPU, wall: out.Wall, end: units.Duration(out.End).Seconds()}
	for _, r := range records.Nodes() {
		for _, port := range r.Ports {
			c.hops += float64(port.TxPackets)
		}
	}
	return c
}

// inTurn runs two things in turn, each turn the other one first, and reports the median of
// the turns' ratios, of a to b, under a name. What loads the machine meanwhile meets both.
func inTurn(b *testing.B, name string, of func(cost) float64, first, second func() cost) {
	b.Helper()
	var ratios []float64
	for b.Loop() {
		var x, y cost
		if len(ratios)%2 == 0 {
			x, y = first(), second()
		} else {
			y, x = second(), first()
		}
		ratios = append(ratios, of(x)/of(y))
	}
	b.ReportMetric(runfolder.Median(ratios), name)
	b.ReportMetric(slices.Min(ratios), "least")
	b.ReportMetric(slices.Max(ratios), "greatest")
}

func cpuSeconds(c cost) float64  { return c.cpu.Seconds() }
func wallSeconds(c cost) float64 { return c.wall.Seconds() }
func cpuPerHop(c cost) float64   { return c.cpu.Seconds() / c.hops }

// BenchmarkTraceHash reports the CPU time with the trace hash over that without.
func BenchmarkTraceHash(b *testing.B) {
	set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		b.Fatal(err)
	}
	subjects := append(slices.Clone(set.Variants), parseText(b, permutation(128, 4)).Variants...)
	for i, name := range []string{"baseline", "csig", "csig-wide", "permutation-128"} {
		e := subjects[i].Experiment
		b.Run(name, func(b *testing.B) {
			inTurn(b, "cpu-with/without", cpuSeconds,
				func() cost { return costOf(b, e, false, 1) }, func() cost { return costOf(b, e, true, 1) })
		})
	}
}

// BenchmarkWorkers reports the wall time with two workers over that with one.
func BenchmarkWorkers(b *testing.B) {
	for _, c := range []struct{ hosts, radix int }{{128, 4}, {1024, 8}} {
		e := parseText(b, permutation(c.hosts, c.radix)).Variants[0].Experiment
		b.Run(fmt.Sprint(c.hosts), func(b *testing.B) {
			inTurn(b, "wall-two/one", wallSeconds,
				func() cost { return costOf(b, e, false, 2) }, func() cost { return costOf(b, e, false, 1) })
		})
	}
}

// BenchmarkGrowth reports the CPU time of a packet-hop in permutations of more hosts over
// that of 128.
func BenchmarkGrowth(b *testing.B) {
	small := parseText(b, permutation(128, 4)).Variants[0].Experiment
	for _, c := range []struct{ hosts, radix int }{{1024, 8}, {8192, 16}} {
		b.Run(fmt.Sprint(c.hosts), func(b *testing.B) {
			onlyByName(b, c.hosts)
			large := parseText(b, permutation(c.hosts, c.radix)).Variants[0].Experiment
			inTurn(b, "cpu-per-hop/that-of-128", cpuPerHop,
				func() cost { return costOf(b, large, false, 1) }, func() cost { return costOf(b, small, false, 1) })
		})
	}
}

// onlyByName skips a benchmark that takes minutes unless -bench names its size.
func onlyByName(b *testing.B, hosts int) {
	b.Helper()
	if hosts > 1024 && !strings.Contains(flag.Lookup("test.bench").Value.String(), strconv.Itoa(hosts)) {
		b.Skipf("takes minutes; -bench '%s' runs it", strings.ReplaceAll(b.Name(), "Benchmark", ""))
	}
}
