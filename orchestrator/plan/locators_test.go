package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// parse returns the resolved experiment of a text, which continues a small leaf-spine
// fabric: 8 switch ports.
func parse(t *testing.T, more string) *experiment.Set {
	t.Helper()
	text := "schema: 1\nname: t\nworkload: {transfers: [0 -> 3 10kB]}\n" + more
	if !strings.Contains(more, "topology:") {
		text += "topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}\n"
	}
	set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func compile(t *testing.T, more string) *plan.Plan {
	t.Helper()
	p, err := plan.Compile(parse(t, more).Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tableText returns the shared locators in short.
func tableText(table *plan.LocatorTable) string {
	var text []string
	for _, l := range table.Locators {
		if l.Shared() {
			text = append(text, fmt.Sprint(l.Locator, " ", strings.Join(l.Ports, "+")))
		}
	}
	return strings.Join(text, ", ")
}

// The table has every switch port once, names those that share a locator, and says which
// setting gives each port a locator of its own. With that setting none shares one.
func TestLocatorTable(t *testing.T) {
	const (
		kAry      = "topology: {k_ary: {k: 4, rate: 10Gbps, delay: 1us}}\n"
		dragonfly = "topology: {dragonfly: {p: 2, a: 4, h: 2, rate: 10Gbps, delay: 1us}}\n"
		onlyHere  = "topology: {leaf_spine: {leaves: 12, spines: 1, hosts_per_leaf: 5, rate: 10Gbps, delay: 1us}}\n"
	)
	for _, c := range []struct {
		topology, csig string
		ports          int
		shared, remedy string
	}{
		{"", "format: compact", 8, "3 tor0-agg0+tor1-agg0, 9 tor0-h0+tor1-h2, 10 tor0-h1+tor1-h3", "csig.locators: {scheme: structured, widths: {tier: 1, direction: 1, switch: 1, port: 3}}"},
		{"", "format: compact, locators: registry", 8, "", ""},
		{"", "format: wide", 8, "", ""},
		{kAry, "format: wide, locators: {widths: {tier: 2, direction: 1, switch: 0, port: 12}}", 80, "many", "csig.locators: structured"},
		{kAry, "format: compact, dialect: draft-01", 80, "many", "csig.locators: registry"},
		{kAry, "format: compact", 80, "many", "csig.format: wide and csig.locators: structured"},
		{dragonfly, "format: compact", 252, "many", "csig.format: wide and csig.locators: structured"},
		{onlyHere, "format: compact", 84, "many", "csig.format: wide and csig.locators: structured"},
	} {
		table := compile(t, c.topology+"csig: {"+c.csig+"}\n").Locators
		ports := 0
		for _, l := range table.Locators {
			ports += len(l.Ports)
		}
		shared := tableText(table)
		if c.shared == "many" && shared != "" {
			shared = "many"
		}
		if ports != c.ports || table.Ports != c.ports || shared != c.shared || table.Remedy != c.remedy {
			t.Errorf("%s{%s}: %d of %d ports, shared %q, remedy %q; want %d, %q, %q", c.topology, c.csig, ports, table.Ports, shared, table.Remedy, c.ports, c.shared, c.remedy)
		}
		if table.Remedy == "" {
			continue
		}
		remedy := "csig: {"
		for setting := range strings.SplitSeq(table.Remedy, " and ") {
			remedy += strings.TrimPrefix(setting, "csig.") + ", "
		}
		if !strings.Contains(remedy, "format") {
			remedy += strings.SplitAfter(c.csig, ", locators")[0]
			remedy = strings.TrimSuffix(remedy, ", locators")
		}
		if got, _ := compile(t, c.topology+remedy+"}\n").Locators.SharedPorts(); got != 0 {
			t.Errorf("%s{%s}: with the remedy %s %d ports share locators", c.topology, c.csig, table.Remedy, got)
		}
	}
	if p := compile(t, ""); p.Locators != nil || len(p.PortNames()) != 1 {
		t.Errorf("without CSIG: locators %+v, names %v", p.Locators, p.PortNames())
	}
}

// A locator of one port has the port's name; a shared one never does. Ports of parallel
// links have names of their own.
func TestPortNames(t *testing.T) {
	names := compile(t, "csig: {format: compact}\n").PortNames()
	for locator, want := range map[uint32]string{0: "none", 3: "locator-3", 9: "locator-9", 10: "locator-10", 25: "agg0-tor0", 26: "agg0-tor1"} {
		if names[locator] != want {
			t.Errorf("locator %d: %q, want %q", locator, names[locator], want)
		}
	}
	bundle := "topology: {fat_tree: {hosts: 4, pod: 4, tiers: [{down: 2, up: 2, rate: 10Gbps, delay: 1us}, {down: 4, bundle: 2, rate: 10Gbps, delay: 1us}]}}\n"
	p := compile(t, bundle+"csig: {format: wide}\n")
	seen := map[string]uint32{}
	for locator, name := range p.PortNames() {
		if other, twice := seen[name]; twice {
			t.Errorf("locators %d and %d are both %s", locator, other, name)
		}
		seen[name] = locator
	}
	if _, ok := seen["tor0:3-agg0"]; !ok || len(seen) != p.Locators.Ports+1 {
		t.Errorf("names %v of %d ports, want one for each, with tor0:3-agg0", seen, p.Locators.Ports)
	}
}

// The labels of a registry are what the switches write.
func TestLabels(t *testing.T) {
	ports := []string{"tor0 0", "tor0 1", "tor0 2", "tor1 0", "tor1 1", "tor1 2", "agg0 0", "agg0 1"}
	label := func(i int, port string) string {
		name, number, _ := strings.Cut(port, " ")
		return fmt.Sprintf("{locator: %d, switch: %s, port: %s}", 63-i, name, number)
	}
	var labels []string
	for i, port := range ports {
		labels = append(labels, label(i, port))
	}
	text := func(labels []string) string {
		return "csig: {format: compact, locators: {scheme: registry, labels: [" + strings.Join(labels, ", ") + "]}}\n"
	}
	p := compile(t, text(labels))
	var got []uint16
	for _, n := range p.Nodes[p.Hosts():] {
		for _, port := range n.Switch.Ports {
			got = append(got, port.Locator)
		}
	}
	if want := []uint16{63, 62, 61, 60, 59, 58, 57, 56}; !slices.Equal(got, want) || p.PortNames()[61] != "tor0-agg0" {
		t.Errorf("locators %v, want %v; 61 is %q", got, want, p.PortNames()[61])
	}
	if m := p.Capture().Meaning; !strings.Contains(m(61), "tor0:p2") {
		t.Errorf("captures say %q of locator 61, want tor0:p2", m(61))
	}
	for _, c := range []struct {
		labels []string
		want   string
	}{
		{append(slices.Clone(labels[:7]), label(7, "agg1 1")), `t.yaml:4:351: csig.locators.labels[7].switch: no switch is called "agg1"; they go from tor0 to agg0 (did you mean "agg0"?)`},
		{append(slices.Clone(labels[:7]), label(7, "agg0 2")), `t.yaml:4:363: csig.locators.labels[7].port: agg0 has no port 2; ports go from 0 to 1`},
		{labels[:7], "t.yaml:4:64: csig.locators.labels: agg0-tor1 has no label: port 1 of agg0; a registry with labels needs one for each of the 8 switch ports, and 1 are missing"},
	} {
		set := parse(t, text(c.labels))
		_, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err = failure.InVariant(set, 0, err); !errors.Is(err, failure.ErrConfiguration) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Notes of variants name them, unless every variant has the note.
func TestAttribute(t *testing.T) {
	got := plan.Attribute([]string{"a", "b", "c"}, [][]string{{"all", "a alone", "a and c"}, {"all", "all"}, {"all", "a and c"}})
	if want := []string{"all", "variant a: a alone", "variants a, c: a and c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
