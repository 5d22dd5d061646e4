package experiment

import (
	"strings"
	"testing"
)

// What switches in the kernel cannot do is refused at its key.
func TestDatapath(t *testing.T) {
	text := strings.Replace(programs, "clock: wall\n", "clock: wall\nwall: {datapath: ebpf}\nlinks: {aqm: step}\n", 1)
	if _, err := Parse("x.yaml", "", []byte(text), Options{Tables: StandardTables()}); err != nil {
		t.Fatal(err)
	}
	const lacks = ": switches in the kernel (wall.datapath: ebpf) cannot do that"
	for _, c := range []struct{ old, new, want string }{
		{"links: {aqm: step}", "", "links.aqm: linear; want step or none" + lacks},
		{"links: {aqm: step}", "links: {aqm: step}\nrouting: adaptive", "9:10: routing: adaptive; want ecmp" + lacks},
		{"links: {aqm: step}", "links: {aqm: step}\nclasses: [{name: a, dscp: 3}]", "classes: is set" + lacks},
		{"links: {aqm: step}", "links: {aqm: step, buffer: {shared: 1MB}}", "links.buffer.shared: is set" + lacks},
		{"links: {aqm: step}", "links: {aqm: step}\nfaults: [{kind: down, links: tor0-agg0, at: 1ms}]", "faults: is set" + lacks},
		{"links: {aqm: step}", "links: {aqm: step}\nworkload: {transfers: [1 -> 2 1MB]}", "wall.datapath: packets of csiglab's transport"},
		{"links: {aqm: step}", "links: {aqm: step}\ncsig: {format: wide, ports: [{switch: tor0, policy: terminate}]}", "csig.ports[0].policy: terminate" + lacks},
		{"links: {aqm: step}", "links: {aqm: step}\ncsig: {format: wide, ports: [{switch: tor0, policy: strip}]}", "csig.ports[0].policy: strip, without 'outside: false'"},
		{"links: {aqm: step}", "links: {aqm: step}\ncsig: {format: wide, ports: [{switch: tor0, init: every}]}", "csig.ports[0].init: every" + lacks},
		{"links: {aqm: step}", "links: {aqm: step}\ntelemetry: {truth: 1}\ncsig: {format: wide}", "telemetry.truth: is set" + lacks},
		{"runtime: netns", "runtime: containerlab", "wall.datapath: ebpf needs runtime netns, not containerlab"},
		{"clock: wall", "clock: lockstep", "wall.datapath: ebpf needs clock wall, not lockstep"},
	} {
		_, err := Parse("x.yaml", "", []byte(strings.Replace(text, c.old, c.new, 1)), Options{Tables: StandardTables()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.new, err, c.want)
		}
	}
}
