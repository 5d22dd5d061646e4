package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
)

// twoSpeeds is a fabric with links of 100 and 400 Gb/s, and programs on host 3.
const twoSpeeds = "schema: 1\nname: t\ntopology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}}\n" +
	"workload: {transfers: [0 -> 2 1MB]}\nruntime: netns\nclock: wall\napplications: {hosts: [1, 3]}\n"

func shape(t *testing.T, text string) *Shape {
	t.Helper()
	set, err := experiment.Parse("t.yaml", t.TempDir(), []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewShape(set.Variants[0].Experiment)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Shape) compile(t *testing.T) *Plan {
	t.Helper()
	p, err := s.Plan(1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Queues and thresholds follow the rate of the port: the reference's formulas, with
// the network RTT of 8 us, two times 337.12 ns at 100 Gb/s and two times 84.28 ns at 400.
func TestPortsAreSizedByTheirRate(t *testing.T) {
	// 8.8428 us are 110,535 B at 100 Gb/s, or 27 packets, and 442,140 B at 400 or 107.
	auto := map[units.Rate]portSizing{
		100 * units.Gbps: {27 * 4150, 54 * 4150, aqm.Thresholds{Low: 6 * 4150, High: 22 * 4150}},
		400 * units.Gbps: {107 * 4150, 214 * 4150, aqm.Thresholds{Low: 22 * 4150, High: 86 * 4150}},
	}
	same := func(p portSizing) map[units.Rate]portSizing {
		return map[units.Rate]portSizing{100 * units.Gbps: p, 400 * units.Gbps: p}
	}
	without := map[units.Rate]portSizing{}
	for rate, p := range auto {
		p.queue *= 5
		p.control *= 5
		without[rate] = p
	}
	for _, c := range []struct {
		links string
		want  map[units.Rate]portSizing
	}{
		{"", auto},
		{"links: {trim: false}\n", without},
		{"links: {queue: 100kB, control_queue: 50kB, ecn: {low: 20kB, high: 80kB}}\n", same(portSizing{100_000, 50_000, aqm.Thresholds{Low: 20_000, High: 80_000}})},
		{"links: {queue: 100kB, ecn: {enabled: false}}\n", same(portSizing{100_000, 200_000, aqm.Thresholds{}})},
	} {
		p := shape(t, twoSpeeds+c.links).compile(t)
		for n := p.Hosts(); n < len(p.Nodes); n++ {
			for i, port := range p.Switch(n).Ports {
				want := c.want[port.Rate]
				if port.Buffer != (buffer.Limits{Data: want.queue, Control: want.control}) || port.ECN != want.thresholds {
					t.Errorf("%q: %s port %d of %v: %+v, %+v, want %+v", c.links, p.Nodes[n].Name(), i, port.Rate, port.Buffer, port.ECN, want)
				}
			}
		}
		if got, want := p.Nodes[3].Shim.Queue, c.want[100*units.Gbps].queue; got != want {
			t.Errorf("%q: the queue of programs is %v, want %v", c.links, got, want)
		}
	}
}

// A host's congestion control, timeout and queue of programs follow the rate of its own link.
func TestHostsAreSizedByTheirRate(t *testing.T) {
	s := shape(t, twoSpeeds)
	fast := func(h int) { s.fabric.graph.Links[s.fabric.up(h).Link].Rate = 400 * units.Gbps }
	fast(2)
	fast(3)
	p := s.compile(t)
	for h, want := range map[int]units.Rate{0: 100 * units.Gbps, 2: 400 * units.Gbps} {
		c := p.Nodes[h].Host
		queue := s.buffers.port(want).queue
		if rto := 15*units.Microsecond + 6*want.Serialisation(queue); c.Rate != want || c.Path.LinkRate != want || c.RTO != rto {
			t.Errorf("host %d: NIC of %v, path of %v, RTO %v, want %v and %v", h, c.Rate, c.Path.LinkRate, c.RTO, want, rto)
		}
	}
	for h, want := range map[int]units.Size{1: 27 * 4150, 3: 107 * 4150} {
		if got := p.Nodes[h].Shim.Queue; got != want {
			t.Errorf("host %d: the queue of programs is %v, want %v", h, got, want)
		}
	}
}

// Thresholds that make no sense at one of the rates are refused, with the rate.
func TestThresholdsAreCheckedAtEveryRate(t *testing.T) {
	set, err := experiment.Parse("t.yaml", t.TempDir(), []byte(twoSpeeds+"links: {ecn: {low: 200kB}}\n"), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	// 0.8 BDP is 356.9 kB at 400 Gb/s and 91.3 kB at 100.
	want := "links.ecn.low: 200kB lies above links.ecn.high, 91.3kB, at a port of 100Gbps"
	if _, err := NewShape(set.Variants[0].Experiment); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}

// With equal rates every port has what the reference gives to all
// (docs/reference/references.md#switch-queue): 43, 9 and 35 packets in three tiers at 100 Gb/s.
func TestEqualRatesKeepTheReferencesSizes(t *testing.T) {
	p := shape(t, "schema: 1\nname: t\ntopology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 13 2MB]}\n").compile(t)
	for n := p.Hosts(); n < len(p.Nodes); n++ {
		for _, port := range p.Switch(n).Ports {
			if port.Buffer.Data != 43*4150 || port.Buffer.Control != 86*4150 || port.ECN != (aqm.Thresholds{Low: 9 * 4150, High: 35 * 4150}) {
				t.Fatalf("%s: %+v, %+v", p.Nodes[n].Name(), port.Buffer, port.ECN)
			}
		}
	}
}

// Line overhead is in the time of every packet on every link, and so in the network RTT,
// the smallest delay and the queues that follow from them.
func TestOverheadInThePlan(t *testing.T) {
	for _, overhead := range []units.Size{0, 24} {
		p := shape(t, fmt.Sprintf("schema: 1\nname: t\ntopology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 13 2MB]}\nlinks: {overhead: %v}\n", overhead)).compile(t)
		rtt := 12*units.Microsecond + 6*units.Duration(4150+64+2*overhead)*80
		if p.Path.NetworkRTT != rtt || p.Nodes[0].Host.Path.NetworkRTT != rtt {
			t.Errorf("%v: network RTT %v, want %v", overhead, p.Path.NetworkRTT, rtt)
		}
		if got, want := p.SmallestDelay(), units.Duration(4150+overhead)*80; got != want {
			t.Errorf("%v: smallest delay %v, want %v", overhead, got, want)
		}
		packets := (100*units.Gbps).Volume(rtt)/4150 + 1
		if got := p.Switch(p.Hosts()).Ports[0].Buffer.Data; got != packets*4150 {
			t.Errorf("%v: queue of %v, want %v", overhead, got, packets*4150)
		}
		if got, want := p.Nodes[0].Host.RTO, 15*units.Microsecond+6*units.Duration(packets*(4150+overhead))*80; got != want {
			t.Errorf("%v: RTO %v, want %v", overhead, got, want)
		}
		for i, n := range p.Nodes {
			sizes := p.Format.Sizes
			if n.Host != nil {
				sizes = n.Host.Sizes
			} else if n.Switch != nil {
				sizes = n.Switch.Sizes
			}
			if sizes.Overhead != overhead {
				t.Errorf("%v: node %d charges %v", overhead, i, sizes.Overhead)
			}
		}
	}
}
