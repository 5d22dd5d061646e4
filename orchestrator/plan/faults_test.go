package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// withFaults compiles an experiment with faults on 2 leaves and 3 spines.
func withFaults(t *testing.T, seed uint64, faults ...string) (*plan.Plan, error) {
	t.Helper()
	text := `schema: 1
name: x
topology: {leaf_spine: {leaves: 2, spines: 3, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {permutation: {size: 1MB}}
faults: [` + strings.Join(faults, ", ") + "]\n"
	set, err := experiment.Parse("x.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Compile(set.Variants[0].Experiment, seed)
}

func compileFaults(t *testing.T, seed uint64, faults ...string) *plan.Plan {
	t.Helper()
	p, err := withFaults(t, seed, faults...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// changes returns the changes of a node in words.
func changes(p *plan.Plan, name string) []string {
	var list []string
	for i, n := range p.Graph.Nodes {
		if n.Name != name || p.Nodes[i].Faults == nil {
			continue
		}
		for _, c := range p.Nodes[i].Faults.Changes {
			if c.Kind == fault.Arrival {
				continue
			}
			text := fmt.Sprintf("%v kind %d begin %v fault %d port %d", units.Duration(c.At), c.Kind, c.Begin, c.Fault, c.Port)
			if c.Kind == fault.Rate {
				text += " " + c.Rate.String()
			}
			list = append(list, text)
		}
	}
	return list
}

// Links are drawn by seed alone: as many as asked for, the same for one seed.
func TestFaultsAreDrawnBySeed(t *testing.T) {
	const some = `{kind: rate, links: "tor*-agg*", random: 2, share: 0.25}`
	drawn := map[string]int{}
	for seed := range uint64(40) {
		p := compileFaults(t, seed, some)
		f := p.Faults[0]
		if len(f.Where) != 2 || !slices.IsSorted(f.Where) || f.Where[0] == f.Where[1] {
			t.Fatalf("seed %d: %v, want two links", seed, f.Where)
		}
		if again := compileFaults(t, seed, some); !slices.Equal(again.Faults[0].Where, f.Where) {
			t.Errorf("seed %d: %v and then %v", seed, f.Where, again.Faults[0].Where)
		}
		drawn[fmt.Sprint(f.Where)]++
		touched := 0
		for _, n := range p.Nodes {
			if n.Faults != nil {
				touched++
			}
		}
		if touched > 4 || touched < 3 {
			t.Errorf("seed %d: %d nodes have faults, want the ends of two links", seed, touched)
		}
	}
	if len(drawn) < 10 { // of 15 pairs
		t.Errorf("40 seeds drew %d pairs: %v", len(drawn), drawn)
	}
}

// Of several rates the lowest counts, and the link's own after them.
func TestLowestRateCounts(t *testing.T) {
	p := compileFaults(t, 1,
		"{kind: rate, links: tor0-agg0, rate: 50Gbps, at: 1us, until: 5us}",
		"{kind: rate, links: tor0-agg0, share: 0.1, at: 2us, until: 3us}",
		"{kind: rate, links: tor0-agg0, rate: 80Gbps, at: 4us, direction: down}")
	tor := []string{
		"1us kind 3 begin true fault 0 port 2 50Gbps", "2us kind 3 begin true fault 1 port 2 10Gbps",
		"3us kind 3 begin true fault 0 port 2 50Gbps", "5us kind 3 begin false fault 0 port 2 100Gbps",
	}
	if got := changes(p, "tor0"); !slices.Equal(got, tor) {
		t.Errorf("tor0:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tor, "\n"))
	}
	agg := slices.Clone(tor)
	agg[3] = "5us kind 3 begin true fault 2 port 2 80Gbps"
	for i := range agg {
		agg[i] = strings.Replace(agg[i], "port 2", "port 0", 1)
	}
	if got := changes(p, "agg0"); !slices.Equal(got, agg) {
		t.Errorf("agg0:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(agg, "\n"))
	}
}

// A switch that restarts has its links down, at both ends, and a slow NIC is the host's
// port alone.
func TestRestartAndSlowNIC(t *testing.T) {
	p := compileFaults(t, 1, "{kind: restart, switches: agg1, at: 1us, for: 2us}", "{kind: slow_nic, hosts: h1, rate: 1Gbps}")
	for name, want := range map[string][]string{
		"agg1": {"1us kind 4 begin true fault 0 port 0", "1us kind 0 begin true fault 0 port 0", "1us kind 0 begin true fault 0 port 1", "3us kind 0 begin false fault 0 port 0", "3us kind 0 begin false fault 0 port 1"},
		"tor0": {"1us kind 0 begin true fault 0 port 3", "3us kind 0 begin false fault 0 port 3"},
		"h1":   {"0s kind 3 begin true fault 1 port 0 1Gbps"},
		"h0":   nil, "agg0": nil,
	} {
		if got := changes(p, name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if p.Faults[0].What != "switch agg1 restarting" || p.Faults[1].What != "the NIC of host h1 at 1Gbps" {
		t.Errorf("%q, %q", p.Faults[0].What, p.Faults[1].What)
	}
}

// A switch knows at which rate its peer sends, from when the first bit at that rate can
// arrive: the link's delay after the peer's change. A host needs it for its credits alone.
func TestReceivingEndKnowsTheRate(t *testing.T) {
	arrivals := func(p *plan.Plan, name string) (list []string) {
		for i, n := range p.Graph.Nodes {
			if n.Name == name && p.Nodes[i].Faults != nil {
				for _, c := range p.Nodes[i].Faults.Changes {
					if c.Kind == fault.Arrival {
						list = append(list, fmt.Sprintf("%v port %d %v", units.Duration(c.At), c.Port, c.Rate))
					}
				}
			}
		}
		return list
	}
	p := compileFaults(t, 1, "{kind: rate, links: tor0-agg0, rate: 50Gbps, at: 3us, until: 5us, direction: up}",
		"{kind: rate, links: tor0-agg1, rate: 20Gbps, direction: down}", "{kind: slow_nic, hosts: h1, rate: 1Gbps}",
		"{kind: rate, links: h0-tor0, rate: 30Gbps, direction: down}")
	for name, want := range map[string][]string{
		"agg0": {"4us port 0 50Gbps", "6us port 0 100Gbps"}, "agg1": nil, "tor0": {"1us port 1 1Gbps", "1us port 3 20Gbps"}, "h0": nil, "h1": nil,
	} {
		if got := arrivals(p, name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Routing goes round a dead link from the delay after the fault's beginning to the delay
// after its end. Switches whose routes stay as they are get none.
func TestRerouting(t *testing.T) {
	p := compileFaults(t, 1, "{kind: down, links: tor0-agg1, at: 10us, for: 100us, reroute_delay: 5us}")
	type step struct {
		at    units.Time
		ports []uint16
	}
	routes := func(name string, host int) (steps []step) {
		for i, n := range p.Graph.Nodes {
			if n.Name == name && p.Nodes[i].Faults != nil {
				for _, c := range p.Nodes[i].Faults.Changes {
					if c.Kind == fault.Routes {
						steps = append(steps, step{c.At, c.Routes.To(host)})
					}
				}
			}
		}
		return steps
	}
	from, until := units.Time(15*units.Microsecond), units.Time(115*units.Microsecond)
	for _, c := range []struct {
		name  string
		host  int
		steps []step
	}{
		{"tor0", 2, []step{{from, []uint16{2, 4}}, {until, []uint16{2, 3, 4}}}},
		{"tor0", 0, []step{{from, []uint16{0}}, {until, []uint16{0}}}},
		{"tor1", 0, []step{{from, []uint16{2, 4}}, {until, []uint16{2, 3, 4}}}},
		{"agg1", 0, []step{{from, []uint16{1}}, {until, []uint16{0}}}}, // by tor1 and another spine
		{"agg0", 0, nil},
	} {
		if got := routes(c.name, c.host); fmt.Sprint(got) != fmt.Sprint(c.steps) {
			t.Errorf("%s to h%d: %v, want %v", c.name, c.host, got, c.steps)
		}
	}
}

// A fault names links, switches and hosts that exist.
func TestFaultsSomewhereElse(t *testing.T) {
	for _, c := range []struct{ fault, want string }{
		{"{kind: down, links: tor0-agg9}", `"tor0-agg9": no such link (did you mean "tor0-agg0"?); the 10 links are called like h0-tor0, tor0-agg0`},
		{"{kind: down, links: core*}", `"core*": no such link; the 10 links are called like h0-tor0, tor0-agg0`},
		{"{kind: restart, switches: agg7, for: 1us}", `no switch is called "agg7"; they go from tor0 to agg2 (did you mean "agg0"?)`},
		{"{kind: slow_nic, hosts: h9, share: 0.5}", `no host is called "h9"; hosts go from h0 to h3`},
		{`{kind: down, links: "tor*", random: 7}`, `7 of the 6 links that "tor*" stands for`},
		{"{kind: rate, links: tor0-agg0, rate: 200Gbps}", `200Gbps is above the rate of link tor0-agg0, 100Gbps`},
	} {
		if _, err := withFaults(t, 1, c.fault); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.fault, err, c.want)
		}
	}
}
