package inproc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// TestOneTrace: small fabrics, drawn at random, leave the same traces and the same
// totals with any number of workers as under the driver that processes the events of
// all nodes in order of time.
func TestOneTrace(t *testing.T) {
	seed := rand.Uint64()
	fabrics := 100
	if checkout.Long(t) {
		fabrics = 10
	} else if checkout.SlowRace(t) {
		fabrics = 30
	}
	for i := range fabrics {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		text := drawn(r)
		oneTrace(t, fmt.Sprintf("seed %d, fabric %d:\n%s", seed, i, text), compiled(t, text), 1+i%2*4)
	}
}

// oneTrace compares traces and totals under the driver that processes all events in order
// of time with those under any number of workers, which share the windows that have
// that many nodes.
func oneTrace(t *testing.T, name string, p *plan.Plan, worth int) {
	t.Helper()
	want := collect(t, p, 1, func(a *assembly) { runOrdered(a.config) })
	for _, workers := range []int{1, 2, 3, 8} {
		got := collect(t, p, workers, func(a *assembly) {
			a.config.WorthSharing = worth
			s := sim.New(a.config)
			s.Run()
			s.Close()
		})
		if diff := cmp.Diff(got, want); diff != "" {
			t.Fatalf("%d workers, windows of %d nodes are shared, %s(-got +want):\n%s", workers, worth, name, diff)
		}
	}
	var events int64
	for _, n := range want {
		if events += n.Events; n.TraceHash == [32]byte{} {
			t.Fatalf("%s: %s has no trace hash", name, n.Name)
		}
	}
	if events == 0 {
		t.Fatalf("%s: %d events", name, events)
	}
}

// sends reports whether a run of the plan has events.
func sends(t *testing.T, p *plan.Plan) bool {
	t.Helper()
	nodes := collect(t, p, 1, func(a *assembly) {
		s := sim.New(a.config)
		s.Run()
		s.Close()
	})
	return slices.ContainsFunc(nodes, func(n metrics.NodeTotals) bool { return n.Events > 0 })
}

// TestOneTraceOfEmbedded is TestOneTrace for the beginning of each embedded experiment, also
// with a tie seed, for which starts are not jittered: with jitter no two packets reach a
// node at one instant.
func TestOneTraceOfEmbedded(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	const most = 100 * units.Microsecond
	compared := 0
	for _, name := range experiment.Names() {
		set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if set.Base.Applications != nil {
			continue // programs need the wall clock
		}
		for _, v := range set.Variants {
			length := most
			if hosts := hostsOf(t, v.Experiment); hosts > 16 {
				length = max(20*units.Microsecond, most*16/units.Duration(hosts))
			}
			for _, tieSeed := range []uint64{0, 11} {
				e := *v.Experiment
				if e.TieSeed = tieSeed; tieSeed != 0 {
					e.Workload.StartJitter = 0
				}
				if e.End == 0 || e.End > length {
					e.End = length
				}
				e.Measure.From, e.Measure.To = 0, 0
				p, err := plan.Compile(&e, e.Seeds[0])
				if err != nil {
					t.Fatal(err)
				}
				if len(e.Jobs) > 0 { // which compute before they send
					silent := units.Duration(0)
					for !sends(t, p) {
						silent, e.End = e.End, 2*e.End
						if p, err = plan.Compile(&e, e.Seeds[0]); err != nil {
							t.Fatal(err)
						}
					}
					for e.End-silent > length {
						shorter := e
						shorter.End = (silent + e.End) / 2
						q, err := plan.Compile(&shorter, e.Seeds[0])
						if err != nil {
							t.Fatal(err)
						}
						if sends(t, q) {
							e, p = shorter, q
						} else {
							silent = shorter.End
						}
					}
				}
				oneTrace(t, fmt.Sprintf("%s, variant %s, tie seed %d", name, v.Name, tieSeed), p, 1+compared%2*4)
				compared++
			}
		}
	}
	if compared < 16 {
		t.Errorf("%d runs were compared, want at least 16", compared)
	}
}

// hostsOf returns the number of hosts of an experiment.
func hostsOf(t *testing.T, e *experiment.Experiment) int {
	t.Helper()
	built, err := e.Topology.Build()
	if err != nil {
		t.Fatal(err)
	}
	return built.Graph.Hosts()
}

// drawn returns an experiment with a small fabric.
func drawn(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	rate := func() string { return pick("10Gbps", "25Gbps", "100Gbps", "400Gbps") }
	delay := func() string { return pick("100ns", "130ns", "1us", "3us") }
	common := fmt.Sprintf("rate: %s, delay: %s", rate(), delay())
	if r.IntN(3) == 0 {
		common += ", switch_delay: " + pick("10ns", "500ns")
	}
	var topology string
	switch r.IntN(4) {
	case 0:
		topology = fmt.Sprintf("leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d, bundle: %d, spine_rate: %s, %s}",
			2+r.IntN(3), 1+r.IntN(3), 2+r.IntN(3), 1+r.IntN(2), rate(), common)
	case 1:
		topology = fmt.Sprintf("k_ary: {k: 4, %s}", common)
	case 2:
		topology = fmt.Sprintf("dragonfly: {p: %d, a: %d, h: 1, global_delay: %s, global_rate: %s, %s}", 2+r.IntN(2), 2+r.IntN(2), delay(), rate(), common)
	case 3: // every tier has a delay of its own
		topology = fmt.Sprintf(`fat_tree: {hosts: 16, pod: 4, tiers: [{down: 2, up: 2, rate: %s, delay: %s}, {down: 2, up: 2, rate: %s, delay: %s}, {down: 4, rate: %s, delay: %s}]}`,
			rate(), delay(), rate(), delay(), rate(), delay())
	}
	size := fmt.Sprintf("%dkB", 1+r.IntN(200))
	workload := pick(
		"permutation: {size: "+size+"}",
		"incast: {fan_in: 3, size: "+size+"}",
		"all_to_all: {size: "+size+", parallel: 1, hosts: 4}",
		"transfers: [0 -> 3 "+size+", 1 -> 3 "+size+" at 2us, 3 -> 0 "+size+"]",
	)
	if r.IntN(3) == 0 {
		workload += ", start_jitter: 0s"
	}
	text := fmt.Sprintf("schema: 1\nname: drawn\ntopology: {%s}\nworkload: {%s}\ntie_seed: %d\nlinks: {trim: %v}\n", topology, workload, r.IntN(2)*r.IntN(100), r.IntN(2) == 0)
	if r.IntN(2) == 0 {
		text += "csig: {format: " + pick("compact", "wide") + ", init: " + pick("every", "1/4", "probe/5us") + "}\nhosts: {cc: {name: nscc, csig: max-delay}, lb: " + pick("mixed", "single", "oblivious") + "}\n"
	}
	if strings.HasPrefix(workload, "transfers") && r.IntN(2) == 0 { // host 2 has none of them
		text += "generators: [{host: 2, to: 1, rate: 5Gbps, count: 50, paths: 3}]\n"
	}
	if r.IntN(2) == 0 {
		text += "faults: [" + drawnFaults(r) + "]\n"
	}
	if r.IntN(4) == 0 && !strings.Contains(text, "generators") {
		text += "classes: [{name: storage, dscp: 26, lossless: true, match: {flows: ['*']}}]\n"
	}
	if r.IntN(3) == 0 {
		text += fmt.Sprintf("end: %dus\n", 5+r.IntN(50))
	}
	return text
}

// drawnFaults returns up to three faults, also in the same places and at one time.
func drawnFaults(r *rand.Rand) string {
	var faults []string
	for range 1 + r.IntN(3) {
		from := r.IntN(5)
		times := fmt.Sprintf("at: %dus, for: %dus", from, 1+r.IntN(20))
		lost := fmt.Sprintf("share: 0.%d", 1+r.IntN(4))
		if r.IntN(2) == 0 {
			lost += ", burst: 5"
		}
		direction := []string{"both", "up", "down"}[r.IntN(3)]
		faults = append(faults, "{"+times+", "+[]string{
			fmt.Sprintf("kind: down, links: '*', random: %d", 1+r.IntN(2)),
			fmt.Sprintf("kind: down, links: '*', random: %d, reroute_delay: %dus", 1+r.IntN(2), r.IntN(4)),
			"kind: rate, links: '*', random: 2, share: 0.3, direction: " + direction,
			"kind: loss, links: '*', random: 2, " + lost + ", direction: " + direction,
			"kind: corruption, links: '*', random: 2, " + lost,
			"kind: restart, switches: '*', random: 1, reroute_delay: 1us",
			"kind: slow_nic, hosts: 'h*', random: 1, share: 0.1",
		}[r.IntN(7)]+"}")
	}
	return strings.Join(faults, ", ")
}

func compiled(t testing.TB, text string) *plan.Plan {
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
	for node, sink := range a.sinks {
		if sink != nil { // under the reference
			a.closed(node)
		}
	}
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
