package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// The network RTT is that of the pair that takes longest, not of the one with
// the most links or with the largest delay. A packet of 4150 B takes 332 ns at
// 100 Gb/s and 83 ns at 400, an ACK 5.12 and 1.28.
func TestNetworkRTTOfUnequalPaths(t *testing.T) {
	for _, c := range []struct {
		topology string
		want     units.Duration
	}{
		{"k_ary: {k: 4, rate: 100Gbps, delay: 1us}", 12*units.Microsecond + 6*337120},
		{"k_ary: {k: 4, rate: 100Gbps, delay: 1us, switch_delay: 100ns}", 13*units.Microsecond + 6*337120},
		{"leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 8, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}", 8*units.Microsecond + 2*337120 + 2*84280},
		{"dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, delay: 1us}", 10*units.Microsecond + 5*337120},
		{"dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, global_rate: 400Gbps, delay: 1us, global_delay: 3us}", 14*units.Microsecond + 4*337120 + 84280},
		{"dumbbell: {left: 2, right: 1, rate: 100Gbps, delay: 1us, bottleneck_rate: 25Gbps, bottleneck_delay: 5us}", 14*units.Microsecond + 2*337120 + 4*337120},
		{"parking_lot: {hops: 3, rate: 100Gbps, delay: 1us, switch_delay: 100ns}", 10*units.Microsecond + 800*units.Nanosecond + 5*337120},
		{"rail: {servers: 2, nics: 2, spines: 1, rate: 400Gbps, delay: 1us, spine_rate: 100Gbps, spine_delay: 2us}", 12*units.Microsecond + 2*337120 + 2*84280},
		{"ring: {switches: 5, rate: 100Gbps, delay: 1us}", 8*units.Microsecond + 4*337120},
		// One way only: of the pair that is four links of the ring apart, the ACK takes one.
		{"ring: {switches: 5, rate: 100Gbps, delay: 1us, routes: clockwise}", 9*units.Microsecond + 6*332_000 + 3*5120},
	} {
		p := backendtest.Compile(t, "schema: 1\nname: t\ntopology: {"+c.topology+"}\nworkload: {all_to_all: {size: 1kB}}\n")
		if p.Path.NetworkRTT != c.want {
			t.Errorf("%s: got %v, want %v", c.topology, p.Path.NetworkRTT, c.want)
		}
	}
}

// The line above the round trips over idle paths, by the number of switches. A link of
// 100 Gb/s and 1 us each way takes 2,337,120 ps of them, one of 400 Gb/s 2,084,280 ps.
func TestIdleRoundTripsByHops(t *testing.T) {
	const link, fast = 2_337_120, 2_084_280
	for _, c := range []struct {
		topology, rest string
		host, hop      units.Duration
	}{
		{"k_ary: {k: 4, rate: 100Gbps, delay: 1us}", "", link, link},
		{"parking_lot: {hops: 3, rate: 100Gbps, delay: 1us, switch_delay: 100ns}", "", link, link + 200*units.Nanosecond},
		{"leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 8, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}", "", 2*link - fast, fast},
		// Over 1 to 4 switches at most 2.67, 13.01, 14.35 and 15.69 us: the global link makes 2
		// as slow as 3. The line of 1 and 4, raised to 2, is at most 6 us above.
		{"dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, delay: 500ns, global_delay: 5us}", "", 4_337_120, 4_337_120},
		// One way only: the shorter the data's way, the longer the ACK's. Each switch more has
		// 332 ns of a packet for 5.12 of an ACK.
		{"ring: {switches: 5, rate: 100Gbps, delay: 1us, routes: clockwise}", "", 9*units.Microsecond + 3*332_000 + 6*5120 - 2*326_880, 326_880},
		// ACKs report 31 switches at most: the line of 1 and 31 has the 42 links of 41 there.
		{"parking_lot: {hops: 40, rate: 100Gbps, delay: 1us}", "", 1_558_080, 3_116_160},
		// Over 1 switch 4.87 us; detours over 6 at most 47.35 us, over 3, two global links, 40.05 us.
		{"dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, delay: 1us, local_delay: 2us, global_delay: 10us, switch_delay: 100ns}", "routing: valiant\n", 14_568_384, 8_495_072},
	} {
		p := backendtest.Compile(t, "schema: 1\nname: t\ntopology: {"+c.topology+"}\nworkload: {all_to_all: {size: 1kB}}\n"+c.rest)
		if p.Path.HostRTT != c.host || p.Path.HopRTT != c.hop {
			t.Errorf("%s: at most %v and %v for each switch, want %v and %v", c.topology, p.Path.HostRTT, p.Path.HopRTT, c.host, c.hop)
		}
	}
}

// A flow over one-way links has the base RTT of its own ways there and back, and the idle
// flow completion time of a packet is just that.
func TestOneWayBaseRTT(t *testing.T) {
	p := backendtest.Compile(t, "schema: 1\nname: t\ntopology: {ring: {switches: 5, rate: 100Gbps, delay: 1us, routes: clockwise}}\nworkload: {transfers: [0 -> 1 4086B, 0 -> 4 4086B]}\n")
	for i, want := range []units.Duration{9*units.Microsecond + 3*332_000 + 6*5120, 9*units.Microsecond + 6*332_000 + 3*5120} {
		if got := p.IdleFCTs()[i]; got != want {
			t.Errorf("flow %d: idle FCT %v, want %v", i, got, want)
		}
	}
	flows := p.Parameters().Flows
	if len(flows) != 2 || flows[0].BaseRTTUS == flows[1].BaseRTTUS {
		t.Errorf("classes %+v, want two", flows)
	}
}

// Packets have a TTL of 64, so that a path has at most 63 switches.
func TestPathsThatAreTooLong(t *testing.T) {
	for topology, want := range map[string]string{
		"parking_lot: {hops: 62, rate: 1Gbps, delay: 1us}":                          "",
		"parking_lot: {hops: 63, rate: 1Gbps, delay: 1us}":                          "a path has 64 switches; packets cross at most 63",
		"ring: {switches: 64, rate: 1Gbps, delay: 1us, routes: clockwise}":          "a path has 64 switches; packets cross at most 63",
		"ring: {switches: 124, rate: 1Gbps, delay: 1us, routes: shortest}":          "",
		"ring: {switches: 126, rate: 1Gbps, delay: 1us}":                            "a path has 64 switches; packets cross at most 63",
		"ring: {switches: 63, hosts: 2, rate: 1Gbps, delay: 1us, ports: 4}":         "",
		"ring: {switches: 4096, rate: 1Gbps, delay: 1us, routes: clockwise}":        "the way from h0 to s4095 has 4096 switches; packets cross at most 63",
		"rail: {servers: 8, nics: 8, group: 4, spines: 4, rate: 1Gbps, delay: 1us}": "",
	} {
		set, err := experiment.Parse("x", "", []byte("schema: 1\nname: t\ntopology: {"+topology+"}\nworkload: {transfers: [0 -> 1 1kB]}\n"), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Compile(set.Base, 1); (err == nil) != (want == "") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: got %v, want %q", topology, err, want)
		}
	}
}

// Transfers between NICs of one server get a remark.
func TestTransfersWithinAServer(t *testing.T) {
	const text = "schema: 1\nname: t\ntopology: {rail: {servers: 2, nics: 2, spines: 1, rate: 400Gbps, delay: 1us}}\nworkload: {transfers: ["
	within := backendtest.Compile(t, text+"0 -> 1 1kB, 0 -> 2 1kB, 2 -> 3 1kB]}\n")
	if want := "workload: 2 of 3 transfers are between NICs of one server"; len(within.Notes) != 1 || !strings.HasPrefix(within.Notes[0], want) {
		t.Errorf("notes %q, want %s", within.Notes, want)
	}
	if apart := backendtest.Compile(t, text+"1 -> 2 1kB]}\n"); len(apart.Notes) != 0 {
		t.Errorf("notes %q, want none", apart.Notes)
	}
}
