package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const faultBase = `schema: 1
name: x
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {permutation: {size: 1MB}}
end: 1ms
faults: [{FAULT}]
`

func parseFault(text string) (*Set, error) {
	return Parse("x.yaml", "", []byte(strings.Replace(faultBase, "FAULT", text, 1)), Options{Tables: StandardTables()})
}

// What is wrong with a fault is said at its place.
func TestFaultsThatAreWrong(t *testing.T) {
	for _, c := range []struct{ fault, want string }{
		{"kind: dwn, links: tor0-agg0", `x.yaml:6:17: faults[0].kind: unknown value "dwn"; known: down rate loss corruption restart slow_nic (did you mean "down"?)`},
		{"links: tor0-agg0", `x.yaml:6:11: faults[0]: the key "kind" is missing`},
		{"kind: down", `x.yaml:6:11: faults[0]: kind down needs the key links`},
		{"kind: down, links: tor0-agg0, share: 0.5", `x.yaml:6:48: faults[0].share: kind down does not have it; its keys: name at for until links random reroute_delay`},
		{"kind: rate, links: tor0-agg0", `x.yaml:6:11: faults[0]: kind rate needs rate or share`},
		{"kind: rate, links: tor0-agg0, share: 0.5, rate: 1Gbps", `x.yaml:6:11: faults[0]: kind rate needs rate or share`},
		{"kind: loss, links: tor0-agg0, share: 2", `x.yaml:6:48: faults[0].share: 2 is not a share; want more than 0 and at most 1, such as 0.25 for 25 %`},
		{"kind: loss, links: tor0-agg0, share: 0.9, burst: 2", `x.yaml:6:60: faults[0].burst: bursts of 2 packets with one packet between them are less than a share of 0.9; want longer bursts`},
		{"kind: loss, links: tor0-agg0, share: 0.1, burst: 0.5", `x.yaml:6:60: faults[0].burst: 0.5 is too small; the least is 1 packet`},
		{"kind: restart, switches: agg0", `x.yaml:6:11: faults[0]: kind restart needs for or until: how long the switch is away`},
		{"kind: down, links: tor0-agg0, for: 1us, until: 2us", `x.yaml:6:58: faults[0].until: excludes faults[0].for; give one of them`},
		{"kind: down, links: tor0-agg0, at: 2us, until: 1us", `x.yaml:6:57: faults[0].until: the fault ends at 1us, not after it begins at 2us`},
		{"kind: down, links: tor0-agg0, at: 1ms", `x.yaml:6:45: faults[0].at: begins at 1ms, not before the run's end 1ms`},
		{"kind: down, links: Tor0", `x.yaml:6:30: faults[0].links: "Tor0" is not the name of a link or a pattern with *, such as tor0-agg0 or agg*-core* (did you mean "tor0"?)`},
		{"kind: down, links: tor0-agg0, name: a}, {kind: down, links: tor0-agg1, name: a", `x.yaml:6:88: faults[1].name: faults[0] has the name "a" too`},
		{"kind: down, links: tor0-agg0, direction: up", `x.yaml:6:52: faults[0].direction: kind down does not have it; its keys: name at for until links random reroute_delay`},
		{"kind: slow_nic, hosts: h0, share: 0.5, buffers: kept", `x.yaml:6:59: faults[0].buffers: kind slow_nic does not have it; its keys: name at for until hosts rate share random`},
		{"kind: rate, links: tor0-agg0, share: 0.5, buffers: keep", `x.yaml:6:62: faults[0].buffers: unknown value "keep"; known: scaled kept (did you mean "kept"?)`},
	} {
		_, err := parseFault(c.fault)
		got := "no error"
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.fault, got, c.want)
		}
	}
}

// A resolved experiment with faults is read back as the same.
func TestFaultsRoundTrip(t *testing.T) {
	for _, fault := range []string{
		"kind: rate, links: tor*-agg*, random: 2, share: 0.25",
		"kind: rate, links: tor0-agg0, rate: 10Gbps, direction: up, at: 1us, for: 2us",
		"kind: rate, links: tor0-agg0, rate: 10Gbps, buffers: kept",
		"kind: down, links: tor0-agg0, at: 1us, until: 5us, reroute_delay: 0s, name: cut",
		"kind: loss, links: tor0-agg0, share: 1e-3, burst: 4, random: all",
		"kind: corruption, links: tor0-agg0, share: 0.5, reroute_delay: never",
		"kind: restart, switches: agg0, for: 10us",
		"kind: slow_nic, hosts: h*, random: 1, rate: 1Gbps",
	} {
		set, err := parseFault(fault)
		if err != nil {
			t.Fatal(err)
		}
		text, err := set.Base.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("again.yaml", "", text, Options{Tables: StandardTables()})
		if err != nil {
			t.Fatalf("%s\n%s\n%v", fault, text, err)
		}
		if diff := cmp.Diff(again.Base.Faults, set.Base.Faults); diff != "" {
			t.Errorf("%s: (-again +first)\n%s", fault, diff)
		}
	}
}
