package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/htsim"
)

// testTables stands for the tables of the hosts' packages.
func testTables() Tables {
	return Tables{
		CC: []algorithm.Spec{
			{Name: "nscc", Params: []algorithm.Param{
				{Name: "csig", Kind: algorithm.Enum, Values: []string{"none", "max-delay"}, Default: "none", NeedsTag: true},
				{Name: "base_rtt_from_nack", Kind: algorithm.Bool, Default: "true"},
				{Name: "target_qdelay", Kind: algorithm.Duration, Default: "auto"},
				{Name: "gain", Kind: algorithm.Number, Default: "0.8"},
			}},
			{Name: "swift", Params: []algorithm.Param{{Name: "base_target", Kind: algorithm.Duration, Default: "20us"}, {Name: "min_cwnd", Kind: algorithm.Size}, {Name: "floor", Kind: algorithm.Rate}, {Name: "hops", Kind: algorithm.Int, Default: "5"}}},
		},
		LB:  []algorithm.Spec{{Name: "mixed", Params: []algorithm.Param{{Name: "paths", Kind: algorithm.Int, Default: "64"}}}, {Name: "single"}, {Name: "tagged", NeedsTag: true}},
		AQM: []algorithm.Spec{{Name: "linear", Params: []algorithm.Param{{Name: "low", Kind: algorithm.Size, Default: "auto"}}}, {Name: "none"}},
		Quantisers: func(format csig.Format, signal csig.Type, name string) error {
			if format != csig.FormatCompact || signal != csig.Delay || name != "delay-lin-500ns" {
				return fmt.Errorf("no quantiser %q for %s in format %s", name, signal, format)
			}
			return nil
		},
	}
}

// small is a valid experiment that the tests change.
const small = `schema: 1
name: small
topology:
  fat_tree:
    hosts: 4
    pod: 4
    tiers:
      - {down: 2, up: 1, rate: 100Gbps, delay: 1us}
      - {down: 2, rate: 100Gbps, delay: 1us}
workload:
  transfers:
    - 1 -> 2 2MB
    - {src: 0, dst: 3, size: 64kB, start: 5us}
`

func parse(t *testing.T, text string, overrides ...string) *Set {
	t.Helper()
	opts := Options{Tables: testTables()}
	for _, o := range overrides {
		set, err := ParseSet("--set", o)
		if err != nil {
			t.Fatal(err)
		}
		opts.Override = append(opts.Override, set)
	}
	set, err := Parse("x.yaml", t.TempDir(), []byte(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestDefaultsAreFilledIn(t *testing.T) {
	set := parse(t, small)
	want := &Experiment{
		Schema: 1, Name: "small",
		Topology: Topology{FatTree{Hosts: 4, PodSize: 4, Tiers: []Tier{
			{Down: 2, Up: 1, Bundle: 1, Rate: 100 * units.Gbps, Delay: units.Microsecond},
			{Down: 2, Bundle: 1, Rate: 100 * units.Gbps, Delay: units.Microsecond},
		}}},
		Links: Links{MTU: 4150, Header: 64, Trim: true, AQM: Algorithm{Name: "linear", Params: algorithm.Values{"low": "auto"}}, ECN: ECN{Enabled: true},
			LastHopTrim: 1, Buffer: Buffer{Alpha: 1}, PFC: PFC{Deadlock: units.Millisecond}},
		Routing: Algorithm{Name: "ecmp", Params: algorithm.Values{}},
		CSIG: CSIG{Format: csig.FormatNone, Dialect: csig.UEC050, TPIDCompact: 0x88b5, TPIDWide: 0x88b6, Locators: Locators{Scheme: csig.Structured}, Signal: csig.Delay,
			Interval: 128 * units.Microsecond, Meter: meter.Tumbling, Phase: meter.Seeded, ABW: meter.Raw, Delay: dataplane.Residence, NQD: meter.Occupancy, PortDown: dataplane.Silent,
			Decode: csig.DecodeAuto, TrimRule: csig.TrimForceLocal, Init: "every", Speakers: Speakers{Share: 1, Seed: 1}},
		Hosts: Hosts{
			CC:       Algorithm{Name: "nscc", Params: algorithm.Values{"csig": "none", "base_rtt_from_nack": "true", "target_qdelay": "auto", "gain": "0.8"}},
			LB:       Algorithm{Name: "mixed", Params: algorithm.Values{"paths": "64"}},
			AckEvery: 16384, Recovery: transport.Selective, TrimPlace: transport.ByDSCP,
		},
		Workload: Workload{StartUnit: htsim.Auto, StartJitter: units.Microsecond, Spec: Transfers{
			{Src: 1, Dst: 2, Size: 2 * units.MB},
			{Src: 0, Dst: 3, Size: 64 * units.KB, Start: 5 * units.Microsecond},
		}},
		Telemetry: Telemetry{TraceHash: traceHashFull, Operations: AutoOperations, Thin: "auto"},
		Variants:  []Variant{{"run", map[string]any{}}},
		Seeds:     []uint64{1}, Runtime: "inproc", Clock: "virtual", Wall: Wall{Datapath: "machine", Budget: Budget{Lateness: 0.25, Displaced: 0.01, Rate: 0.05, Underlay: 0.5}},
	}
	if diff := cmp.Diff(set.Base, want); diff != "" {
		t.Errorf("base, got - want +:\n%s", diff)
	}
	if len(set.Variants) != 1 || set.Variants[0].Name != "run" {
		t.Errorf("variants: got %v, want run alone", set.Variants)
	}
}

func TestLayersWinInOrder(t *testing.T) {
	t.Parallel()
	text := small + "links: {mtu: 1500B}\nvariants:\n  a: {links.mtu: 2000B}\n  b: {hosts: {cc: {gain: 0.5}}, links.trim: false}\n"
	mtus := func(env []string, sets ...string) string {
		opts := Options{Tables: testTables(), Env: env}
		for _, s := range sets {
			o, err := ParseSet("--set", s)
			if err != nil {
				t.Fatal(err)
			}
			opts.Override = append(opts.Override, o)
		}
		set, err := Parse("x.yaml", "", []byte(text), opts)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(set.Base.Links.MTU, set.Variants[0].Experiment.Links.MTU, set.Variants[1].Experiment.Links.MTU)
	}
	for _, c := range []struct {
		env, sets []string
		want      string
	}{
		{nil, nil, "1.5kB 2kB 1.5kB"},
		{[]string{"CSIGLAB_LINKS_MTU=3kB"}, nil, "3kB 3kB 3kB"},
		{[]string{"CSIGLAB_LINKS_MTU=3kB"}, []string{"links.mtu=4kB"}, "4kB 4kB 4kB"},
		{nil, []string{"links.mtu=4kB", "links.mtu=5kB"}, "5kB 5kB 5kB"},
		{nil, []string{"links.mtu=4kB", "variants.a.links.mtu=9kB"}, "4kB 9kB 4kB"},
	} {
		if got := mtus(c.env, c.sets...); got != c.want {
			t.Errorf("env %q, set %q: got base, a, b %s, want %s", c.env, c.sets, got, c.want)
		}
	}
}

func TestNamingAnAlgorithmStartsItAfresh(t *testing.T) {
	text := small + "hosts: {cc: {name: nscc, gain: 0.5}}\n"
	for _, c := range []struct {
		sets []string
		want Algorithm
	}{
		{[]string{"hosts.cc.csig=none"}, Algorithm{Name: "nscc", Params: algorithm.Values{"csig": "none", "base_rtt_from_nack": "true", "target_qdelay": "auto", "gain": "0.5"}}},
		{[]string{"hosts.cc=swift", "hosts.cc.hops=3"}, Algorithm{Name: "swift", Params: algorithm.Values{"base_target": "20us", "hops": "3"}}},
		{[]string{"hosts.cc.name=swift"}, Algorithm{Name: "swift", Params: algorithm.Values{"base_target": "20us", "hops": "5"}}},
		{[]string{"hosts.cc={name: swift, min_cwnd: 1000B}"}, Algorithm{Name: "swift", Params: algorithm.Values{"base_target": "20us", "hops": "5", "min_cwnd": "1kB"}}},
	} {
		if diff := cmp.Diff(parse(t, text, c.sets...).Base.Hosts.CC, c.want); diff != "" {
			t.Errorf("--set %q, got - want +:\n%s", c.sets, diff)
		}
	}
}

// A scheme of locators is a name or a mapping, in a file, a flag and the environment;
// another name drops what belonged to the one before.
func TestLocatorsAreANameOrAMapping(t *testing.T) {
	const structured = "csig: {format: compact, locators: {scheme: structured, widths: {tier: 1, direction: 1, switch: 1, port: 3}}}\n"
	widths := func(tier, direction, node, port int) *LocatorWidths {
		return &LocatorWidths{Tier: tier, Direction: direction, Switch: node, Port: port}
	}
	for _, c := range []struct {
		text string
		env  []string
		sets []string
		want Locators
	}{
		{text: "csig: {locators: registry}\n", want: Locators{Scheme: csig.Registry}},
		{text: "csig: {locators: {scheme: registry}}\n", want: Locators{Scheme: csig.Registry}},
		{text: "csig: {locators: {scheme: registry, labels: [{locator: 7, switch: tor0, port: 2}]}}\n",
			want: Locators{Scheme: csig.Registry, Labels: []LocatorLabel{{Locator: 7, Switch: "tor0", Port: 2}}}},
		{text: structured, want: Locators{Scheme: csig.Structured, Widths: widths(1, 1, 1, 3)}},
		{text: structured, sets: []string{"csig.locators.widths.tier=2", "csig.locators.widths.port=2"}, want: Locators{Scheme: csig.Structured, Widths: widths(2, 1, 1, 2)}},
		{text: structured, sets: []string{"csig.locators=registry"}, want: Locators{Scheme: csig.Registry}},
		{text: structured, sets: []string{"csig.locators.scheme=registry"}, want: Locators{Scheme: csig.Registry}},
		{text: structured, sets: []string{"csig.locators={scheme: structured}"}, want: Locators{Scheme: csig.Structured}},
		{text: structured, env: []string{"CSIGLAB_CSIG_LOCATORS=registry"}, want: Locators{Scheme: csig.Registry}},
		{text: "csig: {locators: registry}\n", sets: []string{"csig.locators.labels=[{locator: 7, switch: tor0, port: 2}]"},
			want: Locators{Scheme: csig.Registry, Labels: []LocatorLabel{{Locator: 7, Switch: "tor0", Port: 2}}}},
	} {
		opts := Options{Tables: testTables(), Env: c.env}
		for _, text := range c.sets {
			o, err := ParseSet("--set", text)
			if err != nil {
				t.Fatal(err)
			}
			opts.Override = append(opts.Override, o)
		}
		set, err := Parse("x.yaml", "", []byte(small+c.text), opts)
		if err != nil {
			t.Errorf("%s%q %q: %v", c.text, c.env, c.sets, err)
			continue
		}
		if diff := cmp.Diff(set.Base.CSIG.Locators, c.want); diff != "" {
			t.Errorf("%s%q %q, got - want +:\n%s", c.text, c.env, c.sets, diff)
		}
	}
}

func TestOverridesReachIntoLists(t *testing.T) {
	set := parse(t, small, "workload.transfers.0.size=3MB", "topology.fat_tree.tiers[1].rate=400Gbps", "seeds=7..9")
	if got, want := set.Base.Workload.Spec.(Transfers)[0].Size, 3*units.MB; got != want {
		t.Errorf("size: got %v, want %v", got, want)
	}
	if got, want := set.Base.Topology.Spec.(FatTree).Tiers[1].Rate, 400*units.Gbps; got != want {
		t.Errorf("rate: got %v, want %v", got, want)
	}
	if diff := cmp.Diff(set.Base.Seeds, []uint64{7, 8, 9}); diff != "" {
		t.Errorf("seeds, got - want +:\n%s", diff)
	}
}

func TestAnOverrideReplacesTheAlternative(t *testing.T) {
	set := parse(t, small, "workload.incast={fan_in: 3, size: 2MB}")
	if _, incast := set.Base.Workload.Spec.(Incast); !incast {
		t.Errorf("workload: got %+v, want an incast alone", set.Base.Workload)
	}
}

// roundTrip marshals a set and reads the text back without any other layer.
func roundTrip(t *testing.T, set *Set, tables Tables) {
	t.Helper()
	text, err := set.Base.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(set.Source, "", text, Options{Tables: tables})
	if err != nil {
		t.Fatalf("%v\nof:\n%s", err, text)
	}
	if set.Base.Sweep != nil { // Marshal leaves it out
		without := *set.Base
		without.Sweep = nil
		with := *set
		with.Base, set = &without, &with
	}
	if diff := cmp.Diff(again, set, cmpopts.IgnoreUnexported(Resolved{})); diff != "" {
		t.Errorf("%s: reread - original +:\n%s\nof:\n%s", set.Source, diff, text)
	}
	twice, err := again.Base.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(twice), string(text)); diff != "" {
		t.Errorf("%s: text of the second time - first +:\n%s", set.Source, diff)
	}
}

func TestEmbeddedExperimentsLoadAndRoundTrip(t *testing.T) {
	for _, name := range Names() {
		set, err := Load(name, Options{Tables: StandardTables()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if set.Base.Name != name {
			t.Errorf("%s: the file names itself %q", name, set.Base.Name)
		}
		roundTrip(t, set, StandardTables())
	}
}

func TestRoundTripOfEverything(t *testing.T) {
	text := small + `description: "two lines:\n  a # and \"quotes\""
csig:
  format: compact
  quantisers: {delay: delay-lin-500ns}
  init: 1/4
  tpid_wide: 0x9999
  locators: {scheme: structured, widths: {tier: 1, direction: 0, switch: 2, port: 3}}
  ports:
    - {switch: agg*, policy: strip}
    - {switch: tor0, port: 1, type: nqd, policy: pass}
links: {queue: auto, control_queue: 100kB, ecn: {enabled: true, low: 20kB, high: 30.5kB}}
hosts: {min_rto: 20us, cc: {name: nscc, target_qdelay: 10.5us}}
end: 1ms
measure: {to: 0.5ms}
tie_seed: 18446744073709551615
seeds: [3, 1]
variants:
  plain: {}
  other:
    hosts.cc: swift
    hosts.lb: single
    csig: {format: none, ports: []}
    csig.locators: registry
    workload.permutation: {size: 1MB}
    topology.fat_tree.tiers.0.rate: 50Gbps
  again:
    hosts.cc: nscc
    csig.quantisers.delay: delay-lin-500ns
    csig.locators: {scheme: registry, labels: [{locator: 63, switch: tor0, port: 2}, {locator: 5, switch: agg0, port: 0}]}
derived: [{name: slow, expr: 'm("fct_us.max") / 2'}]
expect: ['plain.slow < 3 and other["a#2"] > 1']
published: [{variant: plain, metric: slow, value: 1e-3, low: 0, high: .5, source: "x: y"}]
`
	set := parse(t, text, "links.mtu=4000B", "variants.plain.links.trim=false")
	if got := len(set.Variants); got != 3 {
		t.Fatalf("variants: got %d, want 3", got)
	}
	if p, ok := set.Variants[1].Experiment.Workload.Spec.(Permutation); !ok || p.Seed != runSeed {
		t.Errorf("permutation of other: got %+v, want the run's seed", p)
	}
	roundTrip(t, set, testTables())
}

func TestSeedsTakesTheFirst(t *testing.T) {
	set, err := Load("three-flow", Options{Tables: testTables(), Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Experiment{set.Base, set.Variants[2].Experiment} {
		if diff := cmp.Diff(e.Seeds, []uint64{1, 2}); diff != "" {
			t.Errorf("seeds, got - want +:\n%s", diff)
		}
	}
}

func TestThreeFlowVariants(t *testing.T) {
	set, err := Load("three-flow", Options{Tables: testTables()})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range set.Variants {
		e := v.Experiment
		got = append(got, strings.Join([]string{v.Name, e.CSIG.Format.String(), e.Hosts.CC.Params["csig"], e.CSIG.Quantisers["delay"]}, " "))
	}
	want := []string{"baseline none none ", "csig compact max-delay delay-lin-500ns", "csig-wide wide max-delay "}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("variants, got - want +:\n%s", diff)
	}
}
