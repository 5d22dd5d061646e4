package inproc

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// start does all that a run does before its first event: it compiles the plan of a
// permutation on a fat tree of k-port switches and builds its machines, for two workers.
func start(t testing.TB, k int) *sim.Sim {
	t.Helper()
	text := fmt.Sprintf("schema: 1\nname: start\ntopology: {k_ary: {k: %d, rate: 100Gbps, delay: 1us}}\nworkload: {permutation: {size: 64kB}}\n", k)
	set, err := experiment.Parse("start.yaml", t.TempDir(), []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, err := assemble(t.Context(), &backend.Run{Plan: p, Workers: 2}, backend.Control{})
	if err != nil {
		t.Fatal(err)
	}
	return sim.New(a.config)
}

// TestStartOf8192Hosts: plan, routes and machines of 8192 hosts and 1280 switches take
// less than 2 s.
func TestStartOf8192Hosts(t *testing.T) {
	checkout.SkipSlowRace(t)
	best := time.Hour // of several, as the machine may have other work
	for range 3 {
		started := time.Now()
		start(t, 32)
		best = min(best, time.Since(started))
	}
	if best > 2*time.Second {
		t.Errorf("it took %v, want at most 2s", best)
	}
}

// BenchmarkStart reports how long a run takes before its first event, in CPU time of the
// process, and the memory that it then has.
func BenchmarkStart(b *testing.B) {
	for _, c := range []struct{ hosts, k int }{{8192, 32}, {65536, 64}} {
		b.Run(fmt.Sprintf("hosts=%d", c.hosts), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var s *sim.Sim
			cpu := processCPU(b)
			for b.Loop() {
				s = start(b, c.k)
			}
			b.ReportMetric((processCPU(b)-cpu).Seconds()/float64(b.N), "cpu-s/op")
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
			runtime.KeepAlive(s)
		})
	}
}

func processCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSpecsThatCrossedAProcessBoundary: machines of specifications that package gob has
// encoded one by one, so that switches no longer share their routes, leave the same trace.
func TestSpecsThatCrossedAProcessBoundary(t *testing.T) {
	p := compiled(t, "schema: 1\nname: gob\ntopology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}\nworkload: {permutation: {size: 40kB}}\ncsig: {format: compact}\n")
	run := func(p *plan.Plan) []metrics.NodeTotals {
		k := newKept(len(p.Nodes))
		if _, err := (Backend{}).Run(t.Context(), &backend.Run{Plan: p, Workers: 2}, backend.Control{Records: k}); err != nil {
			t.Fatal(err)
		}
		return k.totals()
	}
	want := run(p)
	sent := *p
	sent.Nodes = make([]machine.Spec, len(p.Nodes))
	for i := range p.Nodes {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(p.Nodes[i]); err != nil {
			t.Fatal(err)
		}
		if err := gob.NewDecoder(&b).Decode(&sent.Nodes[i]); err != nil {
			t.Fatal(err)
		}
	}
	got := run(&sent)
	for i := range want {
		if got[i].TraceHash != want[i].TraceHash || want[i].TraceHash == [32]byte{} {
			t.Fatalf("node %s: the trace is another one", want[i].Name)
		}
	}
}
