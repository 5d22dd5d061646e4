package plan_test

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// By hand: packets of 4150 bytes with 64 of headers, and 20 that each takes more on the line.
func TestDemands(t *testing.T) {
	const dumbbell = "dumbbell: {left: 2, right: 2, rate: 50Gbps, bottleneck_rate: 25Gbps, delay: 1us}"
	const leafSpine = "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}"
	// 408600 bytes are 100 packets of 4086.
	const wire, tagged = 408600 + 100*(64+20), 408600 + 100*(64+20+4)
	for _, c := range []struct {
		name, topology, more, job string
		ports                     int
		bytes                     float64 // through each
		senders                   int
		ambiguous                 string
		latency                   units.Duration
	}{
		// NIC, the link in the middle, and the port to the host: 4170 bytes take 667.2 ns at 50
		// and 1334.4 ns at 25 Gb/s.
		{"pairs", dumbbell, "", "hosts: [0, 2], profile: {compute: 1ms, pairs: true, bytes: 408600B}", 3, wire, 1, "", 3*units.Microsecond + 2*667200},
		{"tags", dumbbell, "csig: {format: compact}\n", "hosts: [0, 2], profile: {compute: 1ms, pairs: true, bytes: 408600B}", 3, tagged, 1, "", 3*units.Microsecond + 2*667840},
		{"several steps", dumbbell, "", "hosts: [0, 2], steps: 7, profile: {compute: 1ms, pairs: true, bytes: 408600B}", 3, wire, 1, "", 3*units.Microsecond + 2*667200},
		// Both ways, each rank half of the buffer twice.
		{"a ring of two", dumbbell, "", "hosts: [0, 2], profile: {compute: 1ms, bytes: 408600B, algorithm: ring}", 6, wire, 1, "", 3*units.Microsecond + 2*667200},
		{"channels", dumbbell, "", "hosts: [0, 2], profile: {compute: 1ms, bytes: 817200B, algorithm: ring, channels: 2}", 6, 2 * wire, 2, "", 3*units.Microsecond + 2*667200},
		{"a switch", leafSpine, "", "hosts: [0, 1], profile: {compute: 1ms, pairs: true, bytes: 408600B}", 2, wire, 1, "", 2*units.Microsecond + 333600},
		{"two spines", leafSpine, "", "hosts: [0, 2], profile: {compute: 1ms, pairs: true, bytes: 408600B}", 4, wire, 1, "0-2", 4*units.Microsecond + 3*333600},
	} {
		text := "schema: 1\nname: t\ntopology: {" + c.topology + "}\nlinks: {mtu: 4150B, header: 64B, overhead: 20B, count_tag: true}\n" + c.more + "jobs: [{name: a, " + c.job + "}]\n"
		set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		p, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		d := p.Demands()[0]
		if len(d.Ports) != c.ports || d.Ambiguous != c.ambiguous || d.Within || d.Latency != c.latency {
			t.Errorf("%s: %d ports, ambiguous %q, latency %v; want %d, %q and %v", c.name, len(d.Ports), d.Ambiguous, d.Latency, c.ports, c.ambiguous, c.latency)
		}
		for i := range d.Ports {
			port := &d.Ports[i]
			a := p.Graph.Adjacency()[port.Node][port.Port]
			if math.Abs(port.Bytes-c.bytes) > 0.01 || port.Senders != c.senders || port.Rate != p.Graph.Links[a.Link].Rate {
				t.Errorf("%s: %+v, want %v bytes of %d senders", c.name, *port, c.bytes, c.senders)
			}
		}
	}
}
