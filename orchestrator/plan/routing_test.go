package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

func compileRouting(t *testing.T, topology, rest string) (*plan.Plan, error) {
	t.Helper()
	text := "schema: 1\nname: t\ntopology: " + topology + "\nworkload: {permutation: {size: 1kB}}\n" + rest + "\n"
	set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Base, 1)
	if err != nil {
		return nil, failure.InVariant(set, 0, err)
	}
	return p, nil
}

const balanced = "{dragonfly: {p: 2, a: 4, h: 2, rate: 100Gbps, delay: 1us, local_delay: 2us, global_delay: 10us, switch_delay: 100ns}}"

// The network RTT, and with it queues and thresholds, is that of a full packet on the
// longest path that the routing may take, and of its ACK on the longest minimal one.
// Worked by hand: host, local, global, local, host are 1+2+10+2+1 us and 4 switches; a
// detour has a global and a local link and 2 switches more, over a router one more local
// link and switch. A full packet takes 332 ns per link, an ACK 5.12 ns.
func TestNetworkRTTOfDetours(t *testing.T) {
	const (
		us      = units.Microsecond
		ns      = units.Nanosecond
		minimal = 16*us + 4*100*ns
		ack     = minimal + 5*5120*units.Picosecond
	)
	for routing, want := range map[string]units.Duration{
		"ecmp":                         minimal + 5*332*ns + ack,
		"minimal":                      minimal + 5*332*ns + ack,
		"adaptive":                     minimal + 5*332*ns + ack,
		"valiant":                      minimal + 12*us + 2*100*ns + 7*332*ns + ack,
		"{name: ugal, via: group}":     minimal + 12*us + 2*100*ns + 7*332*ns + ack,
		"{name: ugal, via: router}":    minimal + 14*us + 3*100*ns + 8*332*ns + ack,
		"{name: valiant, via: router}": minimal + 14*us + 3*100*ns + 8*332*ns + ack,
	} {
		p, err := compileRouting(t, balanced, "routing: "+routing)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Path.NetworkRTT; got != want {
			t.Errorf("routing %s: network RTT %v, want %v", routing, got, want)
		}
	}
}

// A policy that leaves minimal paths needs a Dragonfly; the error has the place of the
// name in the file.
func TestRoutingRefused(t *testing.T) {
	for _, c := range []struct{ topology, rest, want string }{
		{"{k_ary: {k: 4, rate: 1Gbps, delay: 1us}}", "routing: ugal", "t.yaml:5:10: routing.name: ugal leaves minimal paths: no Dragonfly: switch core0 is in no group"},
		{"{leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}}", "routing: {name: valiant}", "t.yaml:5:17: routing.name: valiant leaves minimal paths"},
	} {
		_, err := compileRouting(t, c.topology, c.rest)
		if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: %v, want %s", c.rest, c.topology, err, c.want)
		}
	}
}

// With detours data may cross every port between switches: one of them that does not
// update a type leaves samples of no flow complete, and the slowest idle hop is that of
// the whole fabric.
func TestSignalsOfDetours(t *testing.T) {
	const silent = "csig: {format: compact, ports: [{switch: r20, to: switch, policy: pass}]}\nhosts: {cc: {name: nscc, csig: max-delay}}\nrouting: "
	for routing, everywhere := range map[string]bool{"minimal": false, "ugal": true} {
		p, err := compileRouting(t, balanced, silent+routing)
		if err != nil {
			t.Fatal(err)
		}
		covered, not := 0, 0
		for _, n := range p.Nodes[:p.Hosts()] {
			for _, send := range n.Host.Sends {
				if send.Paths.Covered[2] { // delay
					covered++
				} else {
					not++
				}
			}
		}
		if not == 0 || everywhere != (covered == 0) {
			t.Errorf("routing %s: delay is covered for %d flows, for %d it is not", routing, covered, not)
		}
	}
}
