package estimate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/inproc"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// rowCounter counts the windows of a run.
type rowCounter struct{ rows int64 }

func (c *rowCounter) Consume(b *metrics.Batch) {
	c.rows += int64(len(b.Ports) + len(b.Flows) + len(b.CC) + len(b.Signals) + len(b.Events))
}

func (c *rowCounter) Err() error { return nil }

// threeTiers is a fat tree of hosts whose switches have radix ports down, and up but for
// the top.
func threeTiers(hosts, radix int) string {
	tier := func(down, up int) string {
		return fmt.Sprintf("{down: %d, up: %d, rate: 100Gbps, delay: 1us}", down, up)
	}
	return fmt.Sprintf("topology: {fat_tree: {hosts: %d, pod: %d, tiers: [%s, %s, %s]}}\n", hosts, radix*radix, tier(radix, radix), tier(radix, radix),
		strings.Replace(tier(2*radix, 0), ", up: 0", "", 1))
}

const (
	smallTree   = "topology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\n"
	leaves      = "topology: {leaf_spine: {leaves: 6, spines: 4, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}}\n"
	tagged      = "csig: {format: compact}\n"
	permutation = "workload: {permutation: {size: %s}}\n"
)

// What a run does is known before it within the factors given: packet-hops and data packets
// are the greatest part of its CPU time, rows the next.
func TestEstimates(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range []struct {
		name, text             string // text "": the embedded experiment
		hops, data, rows, time float64
	}{
		{"one", "", 1.1, 1.02, 1.3, 1.2},
		{"incast", "", 1.15, 1.05, 1.5, 1.1},
		{"all-to-all", "", 1.25, 1.05, 1.5, 4}, // of single packets: the time is that of round trips
		{"three-flow", "", 1.15, 1.05, 1.5, 1.1},
		{"16 hosts, 64 kB", smallTree + fmt.Sprintf(permutation, "64kB"), 1.1, 1.02, 1.7, 5},
		{"16 hosts, 2 MB, tags", smallTree + tagged + fmt.Sprintf(permutation, "2MB"), 1.1, 1.02, 1.4, 1.5},
		{"128 hosts", threeTiers(128, 4) + fmt.Sprintf(permutation, "200kB"), 1.1, 1.02, 1.5, 2.5},
		{"128 hosts, windows of 1 us", "telemetry: {interval: 1us}\n" + threeTiers(128, 4) + fmt.Sprintf(permutation, "200kB"), 1.1, 1.02, 1.6, 2.5},
		{"128 hosts, one path", "hosts: {lb: single}\n" + threeTiers(128, 4) + fmt.Sprintf(permutation, "500kB"), 1.35, 1.25, 1.8, 2.5},
		{"incast of 127", "topology: {k_ary: {k: 8, rate: 100Gbps, delay: 1us}}\nworkload: {incast: {fan_in: 127, size: 500kB}}\n", 1.4, 1.4, 1.6, 1.2},
		{"all-to-all of 48", leaves + "workload: {all_to_all: {size: 64kB, parallel: 4}}\n", 1.35, 1.3, 1.5, 1.6},
		{"cut off", "end: 5ms\nmeasure: {to: 5ms}\n" + smallTree + fmt.Sprintf(permutation, "4GB"), 1.3, 1.3, 1.5, 100},
	} {
		set := estimatedSet(t, c.name, c.text)
		for _, v := range set.Variants {
			p, err := plan.Compile(v.Experiment, v.Experiment.Seeds[0])
			if err != nil {
				t.Fatal(err)
			}
			counter := &rowCounter{}
			records := measure.NewRecords(p, counter)
			out, err := inproc.Backend{}.Run(t.Context(), &backend.Run{Plan: p}, backend.Control{Records: records})
			if err != nil {
				t.Fatal(err)
			}
			var hops, data int64
			for _, n := range records.Nodes() {
				for _, port := range n.Ports {
					hops += port.TxPackets
				}
				for _, s := range n.Senders {
					data += s.NewPackets + s.Retransmitted
				}
			}
			e := Of(p, nil)
			for _, of := range []struct {
				what           string
				got, was, most float64
			}{
				{"packet-hops", float64(e.PacketHops), float64(hops), c.hops},
				{"data packets", float64(e.DataPackets), float64(data), c.data},
				{"rows", float64(e.Rows), float64(counter.rows), c.rows},
				{"model time", e.ModelTime.Seconds(), float64(out.End) / 1e12, c.time},
			} {
				if of.what == "model time" && c.time == 100 {
					continue
				}
				if ratio := of.got / of.was; ratio > of.most || ratio < 1/of.most {
					t.Errorf("%s, %s: %s %.5g, were %.5g: a factor of %.2f, want at most %.2f", c.name, v.Name, of.what, of.got, of.was, ratio, of.most)
				}
			}
		}
	}
}

// estimatedSet returns an experiment, or the embedded one of a name, whose transfers are
// shorter than in the original where that has seconds of CPU time.
func estimatedSet(t *testing.T, name, text string) *experiment.Set {
	t.Helper()
	tables := experiment.Options{Tables: experiment.StandardTables()}
	var set *experiment.Set
	var err error
	switch {
	case text != "":
		set, err = experiment.Parse("test.yaml", t.TempDir(), []byte("schema: 1\nname: t\n"+text), tables)
	case name == "three-flow":
		tables.Override = []experiment.Override{
			{Path: "workload.transfers", Value: `["1 -> 10 20MB", "0 -> 2 20MB", "9 -> 10 20MB"]`}, {Path: "measure", Value: "{from: 0us, to: 2ms}"},
		}
		fallthrough
	default:
		set, err = experiment.Load(name, tables)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Each sender has a balancer of its own: with one path each, flows of the others collide as
// before.
func TestBalancersOfHosts(t *testing.T) {
	estimated := func(spraying ...int) float64 {
		set := estimatedSet(t, "drawn", "hosts: {lb: single}\n"+threeTiers(128, 4)+fmt.Sprintf(permutation, "500kB"))
		p, err := plan.Compile(set.Base, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range spraying {
			p.Nodes[h].Host.LB.Name = "oblivious"
		}
		return Of(p, nil).ModelTime.Seconds()
	}
	single, last := estimated(), estimated(127)
	if last < single/2 {
		t.Errorf("one host of 128 sprays: estimated %.0f us, without it %.0f us", 1e6*last, 1e6*single)
	}
	all := make([]int, 128)
	for h := range all {
		all[h] = h
	}
	if sprayed := estimated(all...); sprayed >= last {
		t.Errorf("all hosts spray: estimated %.0f us, with one %.0f us", 1e6*sprayed, 1e6*last)
	}
}

// Values of hops that telemetry.truth keeps until the end are counted, and are memory.
func TestTruthIsPredicted(t *testing.T) {
	predicted := func(truth string) (Work, int64) {
		set := estimatedSet(t, "truth", smallTree+tagged+fmt.Sprintf(permutation, "2MB")+"telemetry: {truth: "+truth+"}\n")
		p, err := plan.Compile(set.Base, 1)
		if err != nil {
			t.Fatal(err)
		}
		counter := &hopCounter{}
		if _, err := (inproc.Backend{}).Run(t.Context(), &backend.Run{Plan: p}, backend.Control{Records: counter}); err != nil {
			t.Fatal(err)
		}
		return Of(p, nil), counter.values
	}
	none, _ := predicted("none")
	all, values := predicted("1")
	tenth, ofTenth := predicted("10")
	if none.HopValues != 0 {
		t.Errorf("without truth: %d values", none.HopValues)
	}
	for _, c := range []struct{ got, was int64 }{{all.HopValues, values}, {tenth.HopValues, ofTenth}} {
		if ratio := float64(c.got) / float64(c.was); ratio < 0.9 || ratio > 1.1 {
			t.Errorf("%d values of hops, were %d", c.got, c.was)
		}
	}
	if more := Reference.Memory(&all) - Reference.Memory(&none); more < 100*float64(values) {
		t.Errorf("%d values of hops take %.0f bytes", values, more)
	}
}

// hopCounter counts the values of hops among a run's records.
type hopCounter struct{ values int64 }

func (c *hopCounter) Consume(b *metrics.Batch) { c.values += int64(len(b.Hops)) }
