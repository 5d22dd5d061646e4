package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// ofTraffic returns an experiment of 8 hosts with one item of traffic.
func ofTraffic(item string) string {
	return "schema: 1\nname: x\ntopology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}\nworkload:\n  traffic:\n    - {name: a, " + item + "}\n"
}

func TestTraffic(t *testing.T) {
	set, err := Parse("x", "", []byte(ofTraffic("rpc: {clients: [0..2, 4], servers: [5..7], size: 1kB, count: 2, outstanding: 1}")+
		"    - {name: b, bursts: {from: [0], to: [4], size: 1MB, persistent: true}}\n"), Options{Tables: StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	load, _, err := set.Base.Workload.Build(8, set.Base.Links, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(load.Transfers) != 8 || load.Transfers[7].Src != 4 || load.Transfers[0].Size != units.KB || load.JobNames[0] != "a" {
		t.Errorf("%d transfers, the last from host %d, jobs %v", len(load.Transfers), load.Transfers[7].Src, load.JobNames)
	}
	if len(load.Jobs) != 1 || load.Jobs[0].Name != "b" || len(load.JobNames) != 1 {
		t.Errorf("jobs %v, names %v", load.Jobs, load.JobNames)
	}
}

func TestTrafficRefuses(t *testing.T) {
	const at = "x.yaml:6:"
	for item, want := range map[string]string{
		"rpc: {size: 1kB, count: 1}":                                             at + "23: workload.traffic[0].rpc: want one of the keys outstanding (closed loop) and every (open loop)",
		"rpc: {size: 1kB, cdf: hadoop, count: 1, outstanding: 1}":                at + "23: workload.traffic[0].rpc: want one of the keys size, cdf and cdf_file",
		"rpc: {cdf: hadop, count: 1, outstanding: 1}":                            `workload.traffic[0].rpc.cdf: unknown value "hadop"`,
		"rpc: {size: 1kB, count: 1, every: 1us, think: 1us}":                     "workload.traffic[0].rpc.think: an open loop does not think",
		"rpc: {clients: [0..9], size: 1kB, count: 1, outstanding: 1}":            at + "33: workload.traffic[0].rpc.clients: no host 8; hosts go from 0 to 7",
		"rpc: {clients: [3..1], size: 1kB, count: 1, outstanding: 1}":            `workload.traffic[0].rpc.clients[0]: "3..1" is no host`,
		"rpc: {clients: [1, 0..2], size: 1kB, count: 1, outstanding: 1}":         "workload.traffic[0].rpc.clients: host 1 is given twice",
		"rpc: {clients: [h1], size: 1kB, count: 1, outstanding: 1}":              `workload.traffic[0].rpc.clients[0]: "h1" is no host; want a number such as 3`,
		"rpc: {clients: [0], servers: [0], size: 1kB, count: 1, outstanding: 1}": "workload.traffic[0]: rpc: client 0 has no server but itself",
		"bursts: {from: [0, 1], to: [4], size: 1MB}":                             "workload.traffic[0].bursts.to: 1 receivers for 2 senders; want as many, pair by pair",
		"bursts: {from: [0], to: [0], size: 1MB}":                                "workload.traffic[0].bursts.to: host 0 cannot send to itself",
		"bursts: {from: [0], to: [1], size: 1MB, count: 2}":                      "workload.traffic[0].bursts.count: 2 rounds need a time between them; set every",
		"bursts: {from: [0], to: [1], size: 1MB, on: 1ms, persistent: true}":     "workload.traffic[0]: bursts: a burst that stops after a time cannot share its connection with the next",
		"incast: {to: 8, size: 1MB}":                                             "workload.traffic[0].incast.to: no host 8; hosts go from 0 to 7",
		"incast: {fan_in: 8, size: 1MB}":                                         "workload.traffic[0].incast.fan_in: 8 are too many; there are 7 other hosts",
		"outcast: {from: 1, to: [0, 1], fan_out: 2, size: 1MB}":                  "workload.traffic[0].outcast.fan_out: 2 are too many; there are 1 other hosts",
		"permutation: {size: 1MB, seed: runs}":                                   at + "48: workload.traffic[0].permutation.seed: \"runs\" is neither run nor a whole number from 0 to 18446744073709551615",
		"permutation: {hosts: [3], size: 1MB}":                                   "workload.traffic[0].permutation.hosts: want two hosts or more",
		"poisson: {cdf: storage, rate: 1Gbps}":                                   `workload.traffic[0].poisson: the key "for" is missing`,
		"poisson: {size: 1GB, rate: 1Mbps, for: 1us}":                            "workload.traffic[0]: poisson: no message starts within 1us",
		"incast: {size: 1MB}, outcast: {size: 1MB}":                              "workload.traffic[0]: want one of the keys rpc, bursts, incast, outcast, permutation and poisson",
		"incats: {size: 1MB}":                                                    `workload.traffic[0].incats: unknown key "incats"`,
		"poisson: {cdf_file: testdata/nothing.txt, rate: 1Gbps, for: 1us}":       "workload.traffic[0].poisson.cdf_file",
		"poisson: {cdf_file: testdata/fabric.clab.yml, rate: 1Gbps, for: 1us}":   "testdata/fabric.clab.yml:1:1: ",
		"incast: {size: 1MB}}\n    - {name: a, outcast: {from: 1, size: 1MB}":    `workload.traffic[1].name: the name "a" is another item's`,
	} {
		set, err := Parse("x.yaml", "", []byte(ofTraffic(item)), Options{Tables: StandardTables()})
		if err == nil {
			_, _, err = set.Base.Workload.Build(8, set.Base.Links, 1)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", item, err, want)
		}
	}
}

// Random traffic is another one with each seed of the run, the same with equal ones, and not
// that of another item. With a number it is that of the number.
func TestSeedOfRun(t *testing.T) {
	built := func(seed, items string, run uint64) []workloads.Transfer {
		text := ofTraffic(strings.ReplaceAll(items, "SEED", seed))
		if items == "" {
			text = strings.Replace(ofTraffic(""), "  traffic:\n", "  permutation: {size: 1kB"+seed+"}\n", 1)
			text = text[:strings.Index(text, "    - ")]
		}
		set, err := Parse("x", "", []byte(text), Options{Tables: StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if w := set.Base.Workload; w.Seeded() != (seed == "" || strings.HasSuffix(seed, "run")) {
			t.Errorf("%q, %q: Seeded is %v", seed, items, w.Seeded())
		}
		load, _, err := set.Base.Workload.Build(8, set.Base.Links, run)
		if err != nil {
			t.Fatal(err)
		}
		return load.Transfers
	}
	for _, items := range []string{
		"", "rpc: {size: 1kB, count: 9, every: 1usSEED}", "bursts: {from: [0, 1], to: [2, 3], size: 1kB, spread: 1msSEED}", "incast: {fan_in: 3, size: 1kBSEED}",
		"outcast: {fan_out: 3, size: 1kBSEED}", "permutation: {size: 1kBSEED}", "poisson: {size: 1kB, rate: 1Gbps, for: 1msSEED}",
	} {
		for _, seed := range []string{"", ", seed: run"} {
			if one := built(seed, items, 1); slices.Equal(one, built(seed, items, 2)) || !slices.Equal(one, built(seed, items, 1)) || !slices.Equal(one, built(", seed: 1", items, 2)) {
				t.Errorf("%q%s: want other traffic with seed 2, the same with seed 1 and with the number 1", items, seed)
			}
		}
	}
	twice := built("", "permutation: {size: 1kB}}\n    - {name: b, permutation: {size: 1kB}", 1)
	if first, second := twice[:8], twice[8:]; slices.EqualFunc(first, second, func(a, b workloads.Transfer) bool { return a.Dst == b.Dst }) {
		t.Error("two items have one permutation")
	}
}
