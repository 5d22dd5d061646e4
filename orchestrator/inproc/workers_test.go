package inproc

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/sim/simtest"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// TestOneTrace: small fabrics, drawn at random, leave the same traces and the same
// totals with any number of workers as under the driver that processes the events of
// all nodes in order of time.
func TestOneTrace(t *testing.T) {
	seed := rand.Uint64()
	fabrics := 100
	if testing.Short() {
		fabrics = 10
	}
	for i := range fabrics {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		text := drawn(r)
		p := compiled(t, text)
		name := fmt.Sprintf("seed %d, fabric %d:\n%s", seed, i, text)
		want := collect(t, p, 1, func(a *assembly) { simtest.Run(a.config) })
		for _, workers := range []int{1, 2, 3, 8} {
			got := newKept(len(p.Nodes))
			if _, err := (Backend{}).Run(t.Context(), &backend.Run{Plan: p, Workers: workers}, backend.Control{Records: got}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(got.totals(), want); diff != "" {
				t.Fatalf("%d workers, %s(-got +want):\n%s", workers, name, diff)
			}
		}
	}
}

// drawn returns an experiment with a small fabric.
func drawn(r *rand.Rand) string {
	rate := []string{"10Gbps", "100Gbps", "400Gbps"}[r.IntN(3)]
	delay := []string{"100ns", "1us", "3us"}[r.IntN(3)]
	common := fmt.Sprintf("rate: %s, delay: %s", rate, delay)
	var topology string
	switch r.IntN(3) {
	case 0:
		topology = fmt.Sprintf("leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d, %s}", 2+r.IntN(3), 1+r.IntN(3), 2+r.IntN(3), common)
	case 1:
		topology = fmt.Sprintf("k_ary: {k: 4, %s}", common)
	case 2:
		topology = fmt.Sprintf("dragonfly: {p: %d, a: 2, h: 1, global_delay: 2us, %s}", 2+r.IntN(2), common)
	}
	size := fmt.Sprintf("%dkB", 1+r.IntN(200))
	workload := []string{
		"permutation: {size: " + size + "}",
		"incast: {fan_in: 3, size: " + size + "}",
		"all_to_all: {size: " + size + ", parallel: 1, hosts: 4}",
	}[r.IntN(3)]
	if r.IntN(3) == 0 {
		workload += ", start_jitter: 0s"
	}
	text := fmt.Sprintf("schema: 1\nname: drawn\ntopology: {%s}\nworkload: {%s}\ntie_seed: %d\nlinks: {trim: %v}\n", topology, workload, r.IntN(2)*r.IntN(100), r.IntN(2) == 0)
	if r.IntN(2) == 0 {
		text += "csig: {format: compact}\nhosts: {cc: {name: nscc, csig: max-delay}}\n"
	}
	if r.IntN(3) == 0 {
		text += fmt.Sprintf("end: %dus\n", 5+r.IntN(50))
	}
	return text
}

func compiled(t *testing.T, text string) *plan.Plan {
	t.Helper()
	set, err := experiment.Parse("drawn.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// collect assembles a plan, runs it and returns the nodes' totals.
func collect(t *testing.T, p *plan.Plan, workers int, run func(*assembly)) []metrics.NodeTotals {
	t.Helper()
	k := newKept(len(p.Nodes))
	a, err := assemble(t.Context(), &backend.Run{Plan: p, Workers: workers}, backend.Control{Records: k})
	if err != nil {
		t.Fatal(err)
	}
	run(a)
	a.flush()
	return k.totals()
}

// kept collects records from several goroutines.
type kept struct {
	mu sync.Mutex
	*metrics.Collector
}

func newKept(nodes int) *kept { return &kept{Collector: metrics.NewCollector(nodes)} }

func (k *kept) Consume(b *metrics.Batch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Collector.Consume(b)
}

func (k *kept) totals() []metrics.NodeTotals { return k.Totals() }

// TestSplit: hosts are split evenly, and a switch is with most of its hosts.
func TestSplit(t *testing.T) {
	p := compiled(t, "schema: 1\nname: split\ntopology: {k_ary: {k: 4, rate: 10Gbps, delay: 1us}}\nworkload: {permutation: {size: 1kB}}\n")
	for _, workers := range []int{1, 2, 4} {
		shards, count := p.Split(workers)
		if count != workers {
			t.Errorf("%d workers: %d shards", workers, count)
		}
		hosts, crossing := make([]int, count), 0
		for i, spec := range p.Nodes {
			if spec.Switch == nil {
				hosts[shards[i]]++
			}
		}
		for _, l := range p.Links {
			if shards[l.A.Node] != shards[l.B.Node] {
				crossing++
			}
		}
		for _, n := range hosts {
			if n != 16/workers {
				t.Errorf("%d workers: hosts %v", workers, hosts)
			}
		}
		// Four cores have a link to each pod: with two shards half of these 16 links cross,
		// with four three quarters.
		if want := 16 - 16/workers; crossing != want {
			t.Errorf("%d workers: %d links cross, want %d", workers, crossing, want)
		}
	}
	if shards, count := p.Split(17); count != 1 || shards[3] != 0 {
		t.Errorf("more workers than hosts: %d shards", count)
	}
}
