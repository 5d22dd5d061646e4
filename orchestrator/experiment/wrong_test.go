package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongInput has one mistake per entry, made by replacing old by new in the
// experiment small, and the whole message that must come of it.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, new string
		set            []string
		env            []string
		seeds          int
		want           string
	}{
		{name: "unknown key at the top", old: "workload:", new: "workloads:",
			want: `x.yaml:10:1: workloads: unknown key "workloads" (did you mean "workload"?)`},
		{name: "unknown key further down", old: "hosts: 4", new: "host: 4",
			want: `x.yaml:5:5: topology.fat_tree.host: unknown key "host" (did you mean "hosts"?)`},
		{name: "key of another section", old: "name: small", new: "name: small\nlinks: {min_rto: 5us}",
			want: `x.yaml:3:9: links.min_rto: unknown key "min_rto" (did you mean "hosts.min_rto"?)`},
		{name: "key like no other", old: "hosts: 4", new: "hosts: 4\n    frobnicate: 1",
			want: `x.yaml:6:5: topology.fat_tree.frobnicate: unknown key "frobnicate"; known: hosts pod tiers`},
		{name: "missing key", old: "    hosts: 4\n", new: "",
			want: `x.yaml:5:5: topology.fat_tree: the key "hosts" is missing`},
		{name: "schema of another version", old: "schema: 1", new: "schema: 2",
			want: `x.yaml:1:9: schema: 2 is too large; the most is 1`},
		{name: "bad name", old: "name: small", new: "name: Small One",
			want: `x.yaml:2:7: name: "Small One" is not up to 64 of a-z 0-9 and -`},
		{name: "rate without unit", old: "up: 1, rate: 100Gbps", new: "up: 1, rate: 100",
			want: `x.yaml:8:32: topology.fat_tree.tiers[0].rate: rate "100": a unit is missing; write a number and one of Tbps Gbps Mbps kbps bps`},
		{name: "unit in another spelling", old: "up: 1, rate: 100Gbps", new: "up: 1, rate: 100Gbit/s",
			want: `x.yaml:8:32: topology.fat_tree.tiers[0].rate: rate "100Gbit/s": unknown unit "Gbit/s"; use one of Tbps Gbps Mbps kbps bps (did you mean "100Gbps"?)`},
		{name: "rate of zero", old: "up: 1, rate: 100Gbps", new: "up: 1, rate: 0Gbps",
			want: `x.yaml:8:32: topology.fat_tree.tiers[0].rate: 0Gbps is too small; the least is 1Mbps`},
		{name: "negative rate", old: "up: 1, rate: 100Gbps", new: "up: 1, rate: -1Gbps",
			want: `x.yaml:8:32: topology.fat_tree.tiers[0].rate: -1Gbps is too small; the least is 1Mbps`},
		{name: "absurd rate", old: "up: 1, rate: 100Gbps", new: "up: 1, rate: 101Tbps",
			want: `x.yaml:8:32: topology.fat_tree.tiers[0].rate: 101Tbps is too large; the most is 100Tbps`},
		{name: "delay without unit", old: "up: 1, rate: 100Gbps, delay: 1us", new: "up: 1, rate: 100Gbps, delay: 1",
			want: `x.yaml:8:48: topology.fat_tree.tiers[0].delay: duration "1": a unit is missing; write 1us, 1ms or another of ps ns us ms s min h`},
		{name: "delay of zero", old: "up: 1, rate: 100Gbps, delay: 1us", new: "up: 1, rate: 100Gbps, delay: 0us",
			want: `x.yaml:8:48: topology.fat_tree.tiers[0].delay: 0us is too small; the least is 1ns`},
		{name: "absurd delay", old: "up: 1, rate: 100Gbps, delay: 1us", new: "up: 1, rate: 100Gbps, delay: 2s",
			want: `x.yaml:8:48: topology.fat_tree.tiers[0].delay: 2s is too large; the most is 1s`},
		{name: "small MTU", old: "name: small", new: "name: small\nlinks: {mtu: 100B}",
			want: `x.yaml:3:14: links.mtu: 100B is too small; the least is 256B`},
		{name: "large MTU", old: "name: small", new: "name: small\nlinks:\n  mtu: 9MB",
			want: `x.yaml:4:8: links.mtu: 9MB is too large; the most is 65kB`},
		{name: "unit in the wrong case", old: "name: small", new: "name: small\nlinks: {mtu: 4KB}",
			want: `x.yaml:3:14: links.mtu: size "4KB": unknown unit "KB"; use one of TB GB MB kB B GiB MiB KiB (did you mean "4kB"?)`},
		{name: "queue below a packet", old: "name: small", new: "name: small\nlinks: {queue: 3000B}",
			want: `x.yaml:3:16: links.queue: 3kB does not hold one packet of 4.15kB`},
		{name: "ECN the wrong way round", old: "name: small", new: "name: small\nlinks: {ecn: {low: 2kB, high: 1kB}}",
			want: `x.yaml:3:20: links.ecn.low: 2kB lies above links.ecn.high, 1kB`},
		{name: "wrong type", old: "name: small", new: "name: small\nlinks: {trim: yes}",
			want: `x.yaml:3:15: links.trim: "yes" is not true or false (did you mean "true"?)`},
		{name: "mapping for a value", old: "name: small", new: "name: small\nlinks: {mtu: {a: 1}}",
			want: `x.yaml:3:15: links.mtu: want a single value, got a mapping`},
		{name: "value for a mapping", old: "name: small", new: "name: small\nlinks: fast",
			want: `x.yaml:3:8: links: want a mapping, got a single value`},
		{name: "key without value", old: "name: small", new: "name: small\nlinks:",
			want: `x.yaml:3:7: links: the key has no value`},
		{name: "duplicate key", old: "name: small", new: "name: small\nname: again",
			want: `x.yaml:3:1: name: the key is given twice; the first is in line 2`},
		{name: "unknown CC", old: "name: small", new: "name: small\nhosts: {cc: nsc}",
			want: `x.yaml:3:13: hosts.cc.name: unknown algorithm "nsc"; known: nscc swift (did you mean "nscc"?)`},
		{name: "unknown CC parameter", old: "name: small", new: "name: small\nhosts: {cc: {name: nscc, gian: 1}}",
			want: `x.yaml:3:26: hosts.cc.gian: nscc has no such parameter (did you mean "gain"?)`},
		{name: "CC parameter of the wrong kind", old: "name: small", new: "name: small\nhosts: {cc: {gain: high}}",
			want: `x.yaml:3:20: hosts.cc.gain: "high" is not a number`},
		{name: "CSIG without a tag", old: "name: small", new: "name: small\nhosts: {cc: {csig: max-delay}}",
			want: `x.yaml:3:20: hosts.cc.csig: max-delay needs a CSIG tag; set csig.format to compact or wide`},
		{name: "notices of ports that are down without locators", old: "name: small", new: "name: small\ncsig: {port_down: notify}",
			want: `x.yaml:3:19: csig.port_down: notify needs the locators of CSIG; set csig.format to compact or wide`},
		{name: "override of D that SAI does not have", old: "name: small", new: "name: small\ncsig: {format: wide, override_d: [delay]}",
			want: `x.yaml:3:35: csig.override_d[0]: unknown value "delay"; known: abw abw-c`},
		{name: "share of switches above 1", old: "name: small", new: "name: small\ncsig: {format: wide, speakers: 30}",
			want: "csig.speakers.share: want 0 to 1, got 30"},
		{name: "override of D without D", old: "name: small", new: "name: small\ncsig: {format: wide, dialect: draft-01, override_d: [abw]}",
			want: `x.yaml:3:54: csig.override_d: tags of dialect draft-01 have no D bit`},
		{name: "unknown notices", old: "name: small", new: "name: small\ncsig: {port_down: notfy}",
			want: `x.yaml:3:19: csig.port_down: unknown value "notfy"; known: silent notify (did you mean "notify"?)`},
		{name: "place of a trim by the locator without a tag", old: "name: small", new: "name: small\nhosts: {trim_place: locator}",
			want: `x.yaml:3:21: hosts.trim_place: locator needs CSIG tags; set csig.format to compact or wide`},
		{name: "place of a trim that the tag does not say", old: "name: small", new: "name: small\nhosts: {trim_place: locator}\ncsig: {format: wide, trim_rule: measured}",
			want: `x.yaml:3:21: hosts.trim_place: locator needs csig.trim_rule: force_local; with measured the tag may name another port than the one that trimmed`},
		{name: "unknown source of the place of a trim", old: "name: small", new: "name: small\nhosts: {trim_place: locater}",
			want: `x.yaml:3:21: hosts.trim_place: unknown value "locater"; known: dscp locator (did you mean "locator"?)`},
		{name: "LB without the tag that it needs", old: "name: small", new: "name: small\nhosts: {lb: tagged}",
			want: `x.yaml:3:13: hosts.lb.name: tagged needs CSIG tags; set csig.format to compact or wide`},
		{name: "unknown LB", old: "name: small", new: "name: small\nhosts: {lb: mixd}",
			want: `x.yaml:3:13: hosts.lb.name: unknown algorithm "mixd"; known: mixed single tagged (did you mean "mixed"?)`},
		{name: "unknown AQM", old: "name: small", new: "name: small\nlinks: {aqm: liner}",
			want: `x.yaml:3:14: links.aqm.name: unknown algorithm "liner"; known: linear none (did you mean "linear"?)`},
		{name: "AQM parameter without a unit", old: "name: small", new: "name: small\nlinks: {aqm: {low: 10}}",
			want: `x.yaml:3:20: links.aqm.low: size "10": a unit is missing; write a number and one of TB GB MB kB B GiB MiB KiB`},
		{name: "AQM parameter of another policy", old: "name: small", new: "name: small\nlinks: {aqm: {name: none, low: 10kB}}",
			want: `x.yaml:3:27: links.aqm.low: none has no such parameter`},
		{name: "unknown dialect", old: "name: small", new: "name: small\ncsig: {dialect: uec-0.5}",
			want: `x.yaml:3:17: csig.dialect: unknown value "uec-0.5"; known: uec-0.50 draft-01 (did you mean "uec-0.50"?)`},
		{name: "unknown quantiser", old: "name: small", new: "name: small\ncsig: {format: compact, quantisers: {delay: lin}}",
			want: `x.yaml:3:45: csig.quantisers.delay: no quantiser "lin" for delay in format compact`},
		{name: "unknown signal", old: "name: small", new: "name: small\ncsig: {quantisers: {dealy: lin}}",
			want: `x.yaml:3:28: csig.quantisers.dealy: unknown signal "dealy"; known: delay abw abw-c nqd (did you mean "delay"?)`},
		{name: "unknown scheme of locators", old: "name: small", new: "name: small\ncsig: {locators: registri}",
			want: `x.yaml:3:18: csig.locators.scheme: unknown value "registri"; known: structured registry (did you mean "registry"?)`},
		{name: "unknown key of locators", old: "name: small", new: "name: small\ncsig: {locators: {scheme: registry, label: []}}",
			want: `x.yaml:3:37: csig.locators.label: unknown key "label" (did you mean "labels"?)`},
		{name: "list for locators", old: "name: small", new: "name: small\ncsig: {locators: [registry]}",
			want: `x.yaml:3:19: csig.locators: want a mapping, got a list`},
		{name: "width that is missing", old: "name: small", new: "name: small\ncsig: {locators: {widths: {tier: 2, switch: 1, port: 3}}}",
			want: `x.yaml:3:28: csig.locators.widths: the key "direction" is missing`},
		{name: "port of no bits", old: "name: small", new: "name: small\ncsig: {locators: {widths: {tier: 2, direction: 1, switch: 3, port: 0}}}",
			want: `x.yaml:3:68: csig.locators.widths.port: 0 is too small; the least is 1`},
		{name: "sum of widths", old: "name: small", new: "name: small\ncsig: {format: compact, locators: {widths: {tier: 2, direction: 1, switch: 2, port: 3}}}",
			want: `x.yaml:3:45: csig.locators.widths: the sum is 8; locators of format compact and dialect uec-0.50 have 6 bits`},
		{name: "sum of widths in the other dialect", old: "name: small", new: "name: small\ncsig: {format: wide, dialect: draft-01, locators: {widths: {tier: 2, direction: 1, switch: 6, port: 6}}}",
			want: `x.yaml:3:61: csig.locators.widths: the sum is 15; locators of format wide and dialect draft-01 have 16 bits`},
		{name: "widths of a registry", old: "name: small", new: "name: small\ncsig: {locators: {scheme: registry, widths: {tier: 2, direction: 1, switch: 0, port: 3}}}",
			want: `x.yaml:3:46: csig.locators.widths: belong to the scheme structured; this is registry`},
		{name: "labels without a registry", old: "name: small", new: "name: small\ncsig: {locators: {labels: [{locator: 1, switch: tor0, port: 0}]}}",
			want: `x.yaml:3:29: csig.locators.labels: belong to the scheme registry; this is structured`},
		{name: "locator twice", old: "name: small", new: "name: small\ncsig: {locators: {scheme: registry, labels: [{locator: 1, switch: tor0, port: 0}, {locator: 1, switch: tor0, port: 1}]}}",
			want: `x.yaml:3:93: csig.locators.labels[1].locator: locator 1 is also that of labels[0]`},
		{name: "label twice", old: "name: small", new: "name: small\ncsig: {locators: {scheme: registry, labels: [{locator: 1, switch: tor0, port: 0}, {locator: 2, switch: tor0, port: 0}]}}",
			want: `x.yaml:3:84: csig.locators.labels[1]: tor0 port 0 has a label already, labels[0]`},
		{name: "locator 0", old: "name: small", new: "name: small\ncsig: {locators: {scheme: registry, labels: [{locator: 0, switch: tor0, port: 0}]}}",
			want: `x.yaml:3:56: csig.locators.labels[0].locator: 0 is too small; the least is 1`},
		{name: "locator beyond the tag", old: "name: small", new: "name: small\ncsig: {format: compact, locators: {scheme: registry, labels: [{locator: 64, switch: tor0, port: 0}]}}",
			want: `x.yaml:3:73: csig.locators.labels[0].locator: 64 is too large; locators of format compact and dialect uec-0.50 end at 63`},
		{name: "label without a port", old: "name: small", new: "name: small\ncsig: {locators: {scheme: registry, labels: [{locator: 1, switch: tor0}]}}",
			want: `x.yaml:3:47: csig.locators.labels[0]: the key "port" is missing`},
		{name: "TPID of IPv4", old: "name: small", new: "name: small\ncsig: {tpid_wide: 0x0800}",
			want: `x.yaml:3:19: csig.tpid_wide: 0x0800 is the EtherType of another protocol`},
		{name: "rule of ports that says nothing", old: "name: small", new: "name: small\ncsig: {ports: [{to: host}]}",
			want: `x.yaml:3:17: csig.ports[0]: says nothing; want one of the keys policy, outside and init`},
		{name: "type without a policy", old: "name: small", new: "name: small\ncsig: {ports: [{outside: true, type: abw}]}",
			want: `x.yaml:3:38: csig.ports[0].type: a type is for a policy; outside and init hold for all`},
		{name: "available bandwidth that nothing defines", old: "name: small", new: "name: small\ncsig: {abw: per-clas}",
			want: `x.yaml:3:13: csig.abw: unknown value "per-clas"; known: raw pause-aware per-class (did you mean "per-class"?)`},
		{name: "pauses without a lossless class", old: "name: small", new: "name: small\ncsig: {abw: pause-aware}",
			want: `x.yaml:3:13: csig.abw: pause-aware needs a lossless class; without one nothing is paused, and it reads what raw reads`},
		{name: "available bandwidth of classes without classes", old: "name: small", new: "name: small\ncsig: {abw: per-class}",
			want: `x.yaml:3:13: csig.abw: per-class needs classes`},
		{name: "collector without a host", old: "name: small", new: "name: small\ncsig: {collector: {interval: 1us}}",
			want: `x.yaml:3:20: csig.collector: the key "host" is missing`},
		{name: "loop of a collector without weights", old: "name: small", new: "name: small\ncsig: {collector: {host: 1, loop: abw}}",
			want: `x.yaml:3:35: csig.collector.loop: sets the weights of routing: wcmp; this is ecmp`},
		{name: "unknown format of a policy", old: "name: small", new: "name: small\ncsig: {format: compact, policies: [{match: {src: [0]}, format: wid}]}",
			want: `x.yaml:3:64: csig.policies[0].format: unknown value "wid"; known: compact wide (did you mean "wide"?)`},
		{name: "no format for a policy", old: "name: small", new: "name: small\ncsig: {format: compact, policies: [{match: {src: [0]}, format: none}]}",
			want: `x.yaml:3:64: csig.policies[0].format: unknown value "none"; known: compact wide`},
		{name: "unknown format of a port", old: "name: small", new: "name: small\ncsig: {format: compact, ports: [{format: both, policy: pass}]}",
			want: `x.yaml:3:42: csig.ports[0].format: unknown value "both"; known: all compact wide`},
		{name: "format of an outside port", old: "name: small", new: "name: small\ncsig: {format: compact, second: {}, ports: [{format: wide, outside: true}]}",
			want: `x.yaml:3:54: csig.ports[0].format: a format is for a policy or for init; outside holds for all`},
		{name: "format that no tag has", old: "name: small", new: "name: small\ncsig: {format: compact, ports: [{format: wide, policy: pass}]}",
			want: `x.yaml:3:42: csig.ports[0].format: no tag of the fabric is wide; hosts have csig.format: compact. csig.second: {} says that there are others, and so does a policy with its format`},
		{name: "unknown key of the second format", old: "name: small", new: "name: small\ncsig: {format: compact, second: {locator: registry}}",
			want: `x.yaml:3:34: csig.second.locator: unknown key "locator" (did you mean "locators"?)`},
		{name: "quantiser of the first format for the second", old: "name: small", new: "name: small\ncsig: {format: compact, second: {quantisers: {delay: lin}}}",
			want: `x.yaml:3:54: csig.second.quantisers.delay: no quantiser "lin" for delay in format wide`},
		{name: "unknown signal of the second format", old: "name: small", new: "name: small\ncsig: {format: compact, second: {quantisers: {dealy: lin}}}",
			want: `x.yaml:3:54: csig.second.quantisers.dealy: unknown signal "dealy"; known: delay abw abw-c nqd (did you mean "delay"?)`},
		{name: "widths of the second format", old: "name: small", new: "name: small\ncsig: {format: wide, second: {locators: {widths: {tier: 2, direction: 1, switch: 7, port: 5}}}}",
			want: `x.yaml:3:51: csig.second.locators.widths: the sum is 15; locators of format compact and dialect uec-0.50 have 6 bits`},
		{name: "signals without tags", old: "name: small", new: "name: small\ncsig: {ports: [{outside: true, signals: [abw]}]}",
			want: `x.yaml:3:42: csig.ports[0].signals: are for init`},
		{name: "unknown tier", old: "name: small", new: "name: small\ncsig: {ports: [{tier: tro, outside: true}]}",
			want: `x.yaml:3:23: csig.ports[0].tier: unknown value "tro"; known: tor agg core (did you mean "tor"?)`},
		{name: "neither host nor switch", old: "name: small", new: "name: small\ncsig: {ports: [{to: hosts, outside: true}]}",
			want: `x.yaml:3:21: csig.ports[0].to: unknown value "hosts"; known: host switch (did you mean "host"?)`},
		{name: "bad init of a port", old: "name: small", new: "name: small\ncsig: {ports: [{init: probe/1us}]}",
			want: `x.yaml:3:23: csig.ports[0].init: "probe/1us" is not every, none, 1/N (one packet of N, drawn), stride/N (every Nth) or 1/TIME (at most one in that time)`},
		{name: "bad init policy", old: "name: small", new: "name: small\ncsig: {init: 1/0}",
			want: `x.yaml:3:14: csig.init: "1/0" is not every, none, 1/N (one packet of N, drawn), stride/N (every Nth) or 1/TIME (at most one in that time), or probe/TIME (probes of each flow)`},
		{name: "unknown host", old: "1 -> 2 2MB", new: "1 -> 4 2MB",
			want: `x.yaml:12:7: workload.transfers[0].dst: no host 4; hosts go from 0 to 3`},
		{name: "flow to itself", old: "1 -> 2 2MB", new: "2 -> 2 2MB",
			want: `x.yaml:12:7: workload.transfers[0]: host 2 cannot send to itself`},
		{name: "transfer that is no transfer", old: "1 -> 2 2MB", new: "1 to 2 2MB",
			want: `x.yaml:12:7: workload.transfers[0]: "1 to 2 2MB" is not a transfer; want SRC -> DST SIZE or SRC -> DST SIZE at TIME, or a mapping with src, dst and size (did you mean "1 -> 2 2MB"?)`},
		{name: "transfer without unit", old: "1 -> 2 2MB", new: "1 -> 2 2000",
			want: `x.yaml:12:7: workload.transfers[0].size: size "2000": a unit is missing; write a number and one of TB GB MB kB B GiB MiB KiB`},
		{name: "transfer that 32 bits cannot number", old: "1 -> 2 2MB", new: "1 -> 2 900TB",
			want: `x.yaml:12:7: workload.transfers[0].size: 900TB is too large; packets of links.mtu 4.15kB can number 17.549236363284TB`},
		{name: "incast that 32 bits cannot number", old: "  transfers:\n    - 1 -> 2 2MB\n    - {src: 0, dst: 3, size: 64kB, start: 5us}\n", new: "  incast: {fan_in: 2, size: 20TB}\n",
			want: `x.yaml:11:29: workload.incast.size: 20TB is too large`},
		{name: "permutation that 32 bits cannot number", old: "  transfers:\n    - 1 -> 2 2MB\n    - {src: 0, dst: 3, size: 64kB, start: 5us}\n", new: "  permutation: {size: 20TB}\n",
			want: `x.yaml:11:23: workload.permutation.size: 20TB is too large`},
		{name: "two workloads", old: "workload:", new: "workload:\n  incast: {fan_in: 2, size: 1MB}",
			want: `x.yaml:11:12: workload.incast: excludes workload.transfers; give one of them`},
		{name: "incast of too many", old: "  transfers:\n    - 1 -> 2 2MB\n    - {src: 0, dst: 3, size: 64kB, start: 5us}\n", new: "  incast: {fan_in: 4, size: 1MB}\n",
			want: `x.yaml:11:20: workload.incast.fan_in: 4 senders and a receiver need more than 4 hosts`},
		{name: "no workload", old: "  transfers:\n    - 1 -> 2 2MB\n    - {src: 0, dst: 3, size: 64kB, start: 5us}\n", new: "  start_jitter: 1us\n",
			want: `x.yaml:11:3: workload: one of these keys is missing: file, transfers, permutation, incast`},
		{name: "radix that does not fit", old: "{down: 2, rate", new: "{down: 3, rate",
			want: `x.yaml:9:16: topology.fat_tree.tiers[1].down: `},
		{name: "file that does not exist", old: "  transfers:\n    - 1 -> 2 2MB\n    - {src: 0, dst: 3, size: 64kB, start: 5us}\n", new: "  file: mine.cm\n",
			want: `no such file or directory (did you mean "mine2.cm"?)`},
		{name: "seed twice", old: "name: small", new: "name: small\nseeds: [1, 2, 1]",
			want: `x.yaml:3:15: seeds[2]: seed 1 is given twice`},
		{name: "no seeds", old: "name: small", new: "name: small\nseeds: []",
			want: `x.yaml:3:8: seeds: want 1 to 10000 seeds, got 0`},
		{name: "backward range of seeds", old: "name: small", new: "name: small\nseeds: 5..1",
			want: `x.yaml:3:8: seeds: "5..1" is not a list of seeds; write [1, 2, 3] or 1..3, at most 10000`},
		{name: "too many seeds", seeds: 10001, old: "name: small", new: "name: small\nseeds: [1, 2]",
			want: `--seeds 10001: want 1 to 10000`},
		{name: "more seeds beyond the numbers", seeds: 4, old: "name: small", new: "name: small\nseeds: [1, 18446744073709551614]",
			want: `--seeds 4: there are no 2 numbers after the greatest seed, 18446744073709551614`},
		{name: "variant twice", old: "name: small", new: "name: small\nvariants:\n  a: {}\n  a: {}",
			want: `x.yaml:5:3: variants.a: the key is given twice; the first is in line 4`},
		{name: "unknown path in a variant", old: "name: small", new: "name: small\nvariants:\n  a: {links.mtuu: 1kB}",
			want: `x.yaml:4:7: variants.a.links.mtuu: unknown key "mtuu" (did you mean "mtu"?)`},
		{name: "wrong value in a variant", old: "name: small", new: "name: small\nvariants:\n  a: {links.mtu: 1kb}",
			want: `x.yaml:4:18: variants.a.links.mtu: size "1kb": unknown unit "kb"; use one of TB GB MB kB B GiB MiB KiB (did you mean "1kB"?)`},
		{name: "variant with its own seeds", old: "name: small", new: "name: small\nvariants:\n  a: {seeds: [1]}",
			want: `x.yaml:4:7: variants.a.seeds: a variant cannot change seeds, which all variants share`},
		{name: "variant's item that is not there", old: "name: small", new: "name: small\nvariants:\n  a: {workload.transfers.7.size: 1kB}",
			want: `x.yaml:4:7: variants.a.workload.transfers.7: "7" is not one of the list's 2 items; the first is 0`},
		{name: "window the wrong way round", old: "name: small", new: "name: small\nmeasure: {from: 3ms, to: 2ms}",
			want: `x.yaml:3:26: measure.to: the window ends at 2ms, before it begins at 3ms`},
		{name: "no trace hash under another clock", old: "name: small", new: "name: small\nruntime: netns\nclock: lockstep\ntelemetry: {trace_hash: none}",
			want: `x.yaml:5:25: telemetry.trace_hash: none needs clock virtual; under clock lockstep every node has a trace hash`},
		{name: "unknown trace hash", old: "name: small", new: "name: small\ntelemetry: {trace_hash: some}",
			want: `x.yaml:3:25: telemetry.trace_hash: unknown value "some"; known: full none (did you mean "none"?)`},
		{name: "clock that the runtime has not", old: "name: small", new: "name: small\nruntime: inproc\nclock: lockstep",
			want: `x.yaml:4:8: clock: lockstep needs runtime netns, containerlab or kubernetes; the runtime inproc has no frames to keep in step`},
		{name: "broken expression", old: "name: small", new: "name: small\nexpect:\n  - run.a > (2",
			want: `x.yaml:4:15: expect[0]: the expression ends too soon; ")" is missing`},
		{name: "expression that is no assertion", old: "name: small", new: "name: small\nexpect:\n  - \"run.a + 1\"",
			want: `x.yaml:4:6: expect[0]: run.a + 1 is a number; want true or false`},
		{name: "assignment for a comparison", old: "name: small", new: "name: small\nexpect:\n  - run.a = 1",
			want: `x.yaml:4:11: expect[0]: "=" is no operator (did you mean "=="?)`},
		{name: "bool compared with a number", old: "name: small", new: "name: small\nexpect:\n  - (run.a < 2) == 1",
			want: `x.yaml:4:5: expect[0]: run.a < 2 is true or false and 1 is a number; they cannot be compared`},
		{name: "chain of comparisons", old: "name: small", new: "name: small\nexpect:\n  - 1 < run.a < 2",
			want: `x.yaml:4:5: expect[0]: comparisons make no chain; write between(run.a, …) or two of them with and`},
		{name: "number for a condition", old: "name: small", new: "name: small\nexpect:\n  - run.a > 1 and run.b",
			want: `x.yaml:4:19: expect[0]: run.b is a number; want true or false`},
		{name: "list for a number", old: "name: small", new: "name: small\nexpect:\n  - 'run[\"rate_gbps.*\"] > 1'",
			want: `x.yaml:4:6: expect[0]: run["rate_gbps.*"] is a list of numbers, of the metrics that match it; put min, max, mean, sum, median, count, percentile or jain around it`},
		{name: "pattern of no variant", old: "name: small", new: "name: small\nvariants: {a: {}, b: {}}\nexpect:\n  - max(\"rate_gbps.*\") > 1",
			want: `x.yaml:5:9: expect[0]: "rate_gbps.*" of which variant? Write b["rate_gbps.*"]`},
		{name: "metric without a variant", old: "name: small", new: "name: small\nexpect:\n  - drops == 0",
			want: `x.yaml:4:5: expect[0]: unknown name "drops"; a metric is run.drops`},
		{name: "variant with a hyphen", old: "name: small", new: "name: small\nvariants: {a-b: {}}\nexpect:\n  - a-b.drops == 0",
			want: `x.yaml:5:5: expect[0]: the name of variant a-b contains a minus sign; write m("a-b", "drops")`},
		{name: "too few arguments", old: "name: small", new: "name: small\nexpect:\n  - between(run.a, 1)",
			want: `x.yaml:4:5: expect[0]: between has 2 arguments; want 3: between(x, low, high)`},
		{name: "percentile beyond 100", old: "name: small", new: "name: small\nderived:\n  - {name: x, expr: 'percentile(\"rate_gbps.*\", 999)'}",
			want: `x.yaml:4:48: derived[0].expr: 999 is no percentile; want 0 to 100`},
		{name: "function of seeds in a derived metric", old: "name: small", new: "name: small\nderived:\n  - {name: x, expr: every_seed(a)}",
			want: `x.yaml:4:21: derived[0].expr: every_seed belongs into expectations; a derived metric is of one seed`},
		{name: "derived metric that is a condition", old: "name: small", new: "name: small\nderived:\n  - {name: x, expr: drops > 1}",
			want: `x.yaml:4:21: derived[0].expr: drops > 1 is true or false; want a number`},
		{name: "metric with dots in a derived one", old: "name: small", new: "name: small\nderived:\n  - {name: x, expr: fct_us.max / 2}",
			want: `x.yaml:4:21: derived[0].expr: fct_us.max is no metric; one whose name is not an identifier is m("fct_us.max")`},
		{name: "unknown variant in an expression", old: "name: small", new: "name: small\nvariants: {base: {}}\nexpect:\n  - 1 < bsae.x",
			want: `x.yaml:5:9: expect[0]: unknown variant "bsae"; known: base (did you mean "base"?)`},
		{name: "unknown function", old: "name: small", new: "name: small\nderived:\n  - {name: x, expr: \"avg(a, b)\"}",
			want: `x.yaml:4:22: derived[0].expr: unknown function "avg" (did you mean "abs"?)`},
		{name: "metric called like a function", old: "name: small", new: "name: small\nderived:\n  - {name: max, expr: a}",
			want: `x.yaml:4:12: derived[0].name: the name "max" is taken`},
		{name: "published figure of no variant", old: "name: small", new: "name: small\npublished: [{variant: bas, metric: x, value: 1, low: 0, high: 2, source: y}]\nvariants: {base: {}}",
			want: `x.yaml:3:23: published[0].variant: unknown variant "bas"; known: base (did you mean "base"?)`},
		{name: "cut off in a list", old: "{src: 0, dst: 3, size: 64kB, start: 5us}\n", new: "{src: 0, dst: 3",
			want: `x.yaml:13:7: not valid YAML: could not find flow mapping end token '}'`},
		{name: "cut off in a block", old: "      - {down: 2, rate: 100Gbps, delay: 1us}\nworkload:\n  transfers:\n    - 1 -> 2 2MB\n    - {src: 0, dst: 3, size: 64kB, start: 5us}\n", new: "",
			want: `x.yaml:1:1: the key "workload" is missing`},
		{name: "an alias", old: "name: small", new: "name: &n small\ndescription: *n",
			want: `x.yaml:2:7: name: the anchor of YAML is not used here; write the value out`},
		{name: "two documents", old: "workload:", new: "---\nworkload:",
			want: `x.yaml:11:1: a second document; a file holds one`},
		{name: "no text", old: "name: small", new: "name: \x00small",
			want: `x.yaml:2:7: a zero byte; this is not a text file`},
		{name: "unknown path of an option", set: []string{"hosts.cx.gain=1"},
			want: `--set hosts.cx.gain=1: hosts.cx: unknown key "cx" (did you mean "cc"?)`},
		{name: "wrong value of an option", set: []string{"hosts.cc=nsc"},
			want: `--set hosts.cc=nsc: hosts.cc.name: unknown algorithm "nsc"; known: nscc swift (did you mean "nscc"?)`},
		{name: "option without value", set: []string{"hosts.cc="},
			want: `--set hosts.cc=: hosts.cc: the value is empty`},
		{name: "option without path", set: []string{"fast"},
			want: `--set fast: want path=value, such as hosts.cc.csig=none`},
		{name: "option for no variant", set: []string{"variants.rum.links.mtu=1kB"},
			want: `--set variants.rum.links.mtu=1kB: variants.rum.links.mtu: unknown variant "rum"; known: run (did you mean "run"?)`},
		{name: "unknown variable", env: []string{"CSIGLAB_HOST_CC=nscc"},
			want: `environment variable CSIGLAB_HOST_CC: sets nothing that an experiment has (did you mean "CSIGLAB_HOSTS_CC"?)`},
		{name: "wrong value of a variable", env: []string{"CSIGLAB_LINKS_MTU=10"},
			want: `environment variable CSIGLAB_LINKS_MTU: links.mtu: size "10": a unit is missing; write a number and one of TB GB MB kB B GiB MiB KiB`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(small, c.old) != 1 && c.old != "" {
				t.Fatalf("%q is not in the experiment once", c.old)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "mine2.cm"), []byte("Nodes 4\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			text := small
			if c.old != "" {
				text = strings.Replace(small, c.old, c.new, 1)
			}
			opts := Options{Tables: testTables(), Env: c.env, Seeds: c.seeds}
			err := func() error {
				for _, s := range c.set {
					o, err := ParseSet("--set", s)
					if err != nil {
						return err
					}
					opts.Override = append(opts.Override, o)
				}
				_, err := Parse("x.yaml", dir, []byte(text), opts)
				return err
			}()
			var typed *Error
			if !errors.As(err, &typed) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	text := strings.Replace(strings.Replace(small, "100Gbps", "100", 1), "pod: 4", "pods: 4", 1)
	_, err := Parse("x.yaml", "", []byte(text), Options{Tables: testTables()})
	var all Errors
	if !errors.As(err, &all) || len(all) != 3 {
		t.Fatalf("got %v, want the missing key, the unknown key and the missing unit", err)
	}
	if all[0].Line > all[1].Line || all[1].Line > all[2].Line {
		t.Errorf("not in the order of the file:\n%v", err)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed.yaml")
	if err := os.WriteFile(closed, []byte(small), 0o000); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxFile+1); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty.yaml")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{"three-flw", `three-flw: no such file, nor an embedded experiment; embedded: `},
		{"three-flw", `(did you mean "three-flow"?)`},
		{filepath.Join(dir, "bigg.yaml"), `(did you mean "big.yaml"?)`},
		{dir, dir + ": a directory; name a file in it"},
		{closed, closed + ": permission denied"},
		{filepath.Join(closed, "x.yaml"), filepath.Join(closed, "x.yaml") + ": not a directory"},
		{big, big + ": 1048577 bytes are too many; the most is 1048576"},
		{empty, empty + ":1:1: the file is empty"},
	} {
		if c.name == closed && os.Geteuid() == 0 {
			continue // root reads every file
		}
		_, err := Load(c.name, Options{Tables: testTables()})
		var typed *Error
		if !errors.As(err, &typed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// FuzzParse holds that no text makes the parser panic, and that what it accepts
// can be stored and read back.
func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Add("a: [")
	f.Add("- 1\n- {}\n")
	f.Add(strings.Replace(small, "name: small", "name: small\nvariants: {a: {hosts.cc: swift}}\nderived: [{name: x, expr: 'a.b'}]\nexpect: ['every_seed(a.x < 1)']", 1))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Parse("x", dir, []byte(text), Options{Tables: testTables()})
		if err != nil {
			return
		}
		roundTrip(t, set, testTables())
	})
}
