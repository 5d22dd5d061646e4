package inproc

import (
	"context"
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/orchestrator/backend"
)

// permutation is hosts below a non-blocking fat tree of three tiers, each of which sends to another
// one. The switches have radix ports down and, but for the top, up.
func permutation(hosts, radix int, size string) string {
	return fmt.Sprintf(`
schema: 1
name: permutation
topology:
  fat_tree:
    hosts: %[1]d
    pod: %[3]d
    tiers:
      - {down: %[2]d, up: %[2]d, rate: 100Gbps, delay: 1us}
      - {down: %[2]d, up: %[2]d, rate: 100Gbps, delay: 1us}
      - {down: %[4]d, rate: 100Gbps, delay: 1us}
workload: {permutation: {size: %[5]s, seed: 1}}
`, hosts, radix, radix*radix, 2*radix, size)
}

// BenchmarkOrder reports the CPU time of the event loop that runs node after node in
// windows, over that of the same loop in order of time within windows, as captures need
// it, and over that of the reference driver, which has one heap for all nodes.
func BenchmarkOrder(b *testing.B) {
	for _, c := range []struct{ hosts, radix int }{{128, 4}, {1024, 8}} {
		b.Run(fmt.Sprint(c.hosts), func(b *testing.B) {
			p := compiled(b, permutation(c.hosts, c.radix, "200kB"))
			cpu := func(run func(sim.Config)) float64 {
				a, err := assemble(context.Background(), &backend.Run{Plan: p, Workers: 1}, backend.Control{Records: metrics.NewCollector(len(p.Nodes))})
				if err != nil {
					b.Fatal(err)
				}
				a.account(func() { run(a.config) })
				return float64(a.cpu.Load())
			}
			windows := func(ordered bool) func(sim.Config) {
				return func(cfg sim.Config) {
					cfg.Ordered, cfg.Worker = ordered, nil
					sim.New(cfg).Run()
				}
			}
			var ordered, reference []float64
			for b.Loop() {
				before := cpu(windows(false))
				inOrder, oneHeap := cpu(windows(true)), cpu(func(cfg sim.Config) { runOrdered(cfg) })
				mean := (before + cpu(windows(false))) / 2 // what loads the machine meets all of them
				ordered, reference = append(ordered, mean/inOrder), append(reference, mean/oneHeap)
			}
			b.ReportMetric(runfolder.Median(ordered), "windows/in-order")
			b.ReportMetric(runfolder.Median(reference), "windows/one-heap")
		})
	}
}
