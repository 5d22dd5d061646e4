package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
)

// What a node is follows from its links where neither label nor group say it, and a note says
// what was made of each. Two nodes with one link keep their names and are hosts.
func TestClabRolesByLinks(t *testing.T) {
	for _, c := range []struct{ nodes, links, hosts, switches, note, wrong string }{
		{
			nodes: "a: {kind: linux}, b: {kind: nokia_srlinux}, r: {kind: linux}, s: {kind: bridge}, idle: {kind: linux}", links: "a:eth1 r:eth1, r:eth2 s:eth1, s:eth2 b:e1-1",
			hosts: "a b", switches: "r s",
			note: "lab.clab.yml: hosts, as they have one link: a, b; label csiglab.role says otherwise|lab.clab.yml: switches, as they have several: r|lab.clab.yml: not part of the fabric: idle",
		},
		{
			nodes: "a: {kind: nokia_srlinux, image: x/y}, wire: {kind: linux, image: z}", links: "a:e1-1 wire:eth1", hosts: "a wire", switches: "wire2",
			note: "lab.clab.yml: hosts, as they have one link: a, wire; label csiglab.role says otherwise|lab.clab.yml: a switch in the middle of the link of two hosts: wire2|" +
				"lab.clab.yml: images are not used, nor what configures them, as each node is csiglab's own: x/y, z",
		},
		{ // a bridge is a switch, with one link too, unless a label or the group says otherwise
			nodes: "a: {kind: linux}, b: {kind: linux}, s: {kind: linux}, br: {kind: bridge}, ovs: {kind: ovs-bridge}, idle: {kind: bridge}, h: {kind: bridge, labels: {csiglab.role: host}}, g: {kind: ovs-bridge, group: server}",
			links: "a:eth1 s:eth1, b:eth1 s:eth2, s:eth3 br:eth1, s:eth4 ovs:eth1, s:eth5 h:eth1, s:eth6 g:eth1", hosts: "a b h g", switches: "s br ovs",
			note: "lab.clab.yml: hosts, as they have one link: a, b; label csiglab.role says otherwise|lab.clab.yml: switches, as they have several: s|lab.clab.yml: not part of the fabric: idle",
		},
		{nodes: "a: {kind: linux, group: server}, b: {kind: linux, labels: {csiglab.role: switch}}, c: {kind: linux, group: server}", links: "a:eth1 b:eth1, b:eth2 c:eth1", hosts: "a c", switches: "b"},
		{nodes: "a: {kind: linux, group: server}, b: {kind: linux}, c: {kind: linux}", links: "a:eth1 b:eth1, a:eth2 c:eth1, b:eth2 c:eth2", wrong: "the second link of host a"},
		{nodes: "a: {kind: linux, group: server}, b: {kind: linux}, c: {kind: linux}, d: {kind: linux}", links: "d:eth1 b:eth1, b:eth2 c:eth1", wrong: "host a has no link"},
		{
			nodes: "a: {kind: linux}, b: {kind: linux}, a-host: {kind: linux, labels: {csiglab.role: none}}", links: "a:eth1 b:eth1, a:eth2 b:eth2", hosts: "a-host2 b-host", switches: "a b",
			note: "lab.clab.yml: switches, as they have several: a, b; label csiglab.role says otherwise|lab.clab.yml: hosts that are added, as the file has fewer than two: a-host2, b-host|lab.clab.yml: not part of the fabric: a-host",
		},
		{
			nodes: "l1: {kind: bridge, group: leaf}, l2: {kind: bridge, group: leaf}, s: {kind: bridge, group: spine}", links: "l1:e1 s:e1, l2:e1 s:e2", hosts: "l1-host l2-host", switches: "l1 l2 s",
			note: "lab.clab.yml: hosts that are added, as the file has fewer than two: l1-host, l2-host; label csiglab.role says otherwise",
		},
		{nodes: "a: {kind: linux}, b: {kind: linux}, c: {kind: linux}, d: {kind: linux}", links: "a:eth1 b:eth1, c:eth1 d:eth1", wrong: "the fabric is not connected: no way leads from a to c, d, wire2"},
		{nodes: "a: {kind: linux}", links: "a:eth1 host:veth1", wrong: "no link joins two of the nodes"},
	} {
		var links []string
		for _, l := range strings.Split(c.links, ", ") {
			a, b, _ := strings.Cut(l, " ")
			links = append(links, fmt.Sprintf("{endpoints: ['%s', '%s'], vars: {rate: 1Gbps, delay: 3ns}}", a, b))
		}
		b, err := clabOf(t, fmt.Sprintf("name: x\ntopology: {nodes: {%s}, links: [%s]}\n", c.nodes, strings.Join(links, ", ")))
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: got %v, want %s", c.nodes, err, c.wrong)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", c.nodes, err)
			continue
		}
		var hosts, switches []string
		for _, n := range b.Graph.Nodes {
			if n.Kind == topologies.Host {
				hosts = append(hosts, n.Name)
			} else {
				switches = append(switches, n.Name)
			}
		}
		if got, want := fmt.Sprint(hosts, switches, strings.Join(b.Notes, "|")), fmt.Sprint(strings.Fields(c.hosts), strings.Fields(c.switches), c.note); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.nodes, got, want)
		}
	}
}

// Interfaces have the names of the file, those of a node without a proper one the runtime's.
// A name that the runtime gives the interface of a host's programs is not taken twice.
func TestClabInterfaces(t *testing.T) {
	b, err := clabOf(t, `name: x
topology:
  nodes: {a: {kind: linux}, b: {kind: linux}, s: {kind: nokia_srlinux}, u: {kind: nokia_sros}, v: {kind: linux}}
  links:
    - {endpoints: ["s:e1-1", "a:eth2"], vars: {rate: 1Gbps, delay: 1us}}
    - {endpoints: ["b:p1", "u:1/1/c1/1"], vars: {rate: 1Gbps, delay: 1us}}
    - {endpoints: ["u:eth9", "s:e1-2"], vars: {rate: 1Gbps, delay: 1us}}
    - {endpoints: ["s:e1-3", "v:p2"], vars: {rate: 1Gbps, delay: 1us}}
    - {endpoints: ["s:e1-4", "v:p0"], vars: {rate: 1Gbps, delay: 1us}}
`)
	if err != nil {
		t.Fatal(err)
	}
	names := func(runtime func(port int) string) (list []string) {
		for i, n := range b.Graph.Nodes {
			for p := range b.Graph.Ports(i) {
				list = append(list, n.Name+":"+b.Graph.Interface(topologies.End{Node: i, Port: p}, runtime))
			}
		}
		return list
	}
	if diff := cmp.Diff(names(func(p int) string { return fmt.Sprint("p", p) }), strings.Fields("a:eth2 b:p0 s:e1-1 s:e1-2 s:e1-3 s:e1-4 u:p0 u:p1 v:p0 v:p1")); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	if diff := cmp.Diff(names(func(p int) string { return fmt.Sprint("eth", p+1) }), strings.Fields("a:eth1 b:p1 s:e1-1 s:e1-2 s:e1-3 s:e1-4 u:eth1 u:eth2 v:p2 v:p0")); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}

// A topology file stands for an experiment, whose text is one that can be saved beside it.
func TestImplied(t *testing.T) {
	const topology = "topology: {nodes: {a: {kind: linux}, b: {kind: linux}, s: {kind: bridge}}, links: [{endpoints: ['a:eth1', 's:eth1']VARS}, {endpoints: ['b:eth1', 's:eth2']VARS}]}\n"
	for _, c := range []struct {
		file, name, vars string
		lab              bool
		want             string
	}{
		{"x.clab.yml", "My Lab", "", false, "schema: 1\nname: my-lab\ntopology: {clab: {file: x.clab.yml, rate: 20Mbps, delay: 2ms}}\nworkload: {permutation: {size: 1MB}} # from each host to another\n"},
		{"topo.yml", "x", "", true, "schema: 1\nname: x\ntopology: {clab: {file: topo.yml, rate: 20Mbps, delay: 2ms}}\nclock: wall\n" +
			"wall: {dilation: 1, budget: {lateness: 1000, displaced: 1, rate: 1}} # no measurement\n" +
			"csig: {format: wide, interval: 50ms}\napplications: {hosts: [0, 1], signals: [abw, delay]}\n"},
		{"2 labs.yaml", "2", ", vars: {rate: 100Gbps, delay: 1us}", true, "schema: 1\nname: \"2\"\ntopology: {clab: {file: \"2 labs.yaml\"}}\nclock: wall\n" +
			"wall: {budget: {lateness: 1000, displaced: 1, rate: 1}} # no measurement\n" +
			"csig: {format: wide}\napplications: {hosts: [0, 1], signals: [abw, delay]}\n"},
		{"own.clab.yml", "own", ", vars: {rate: 1Gbps, delay: 1us}", true, "schema: 1\nname: own\ntopology: {clab: {file: own.clab.yml}}\nruntime: containerlab\nnodes:\n" +
			"  - {name: s, image: \"mine:1\", forwards: bridge, command: \"sleep 9\"}\n" +
			"clock: wall\nwall: {budget: {lateness: 1000, displaced: 1, rate: 1}} # no measurement\n" +
			"csig: {format: wide}\napplications: {hosts: [0, 1], signals: [abw, delay]}\n"},
	} {
		topology := topology
		if c.name == "own" {
			topology = strings.Replace(topology, "s: {kind: bridge}", "s: {kind: linux, image: 'mine:1', cmd: sleep 9, labels: {csiglab.foreign: bridge, csiglab.role: switch}}", 1)
		}
		folder := t.TempDir()
		file, saved := filepath.Join(folder, c.file), filepath.Join(folder, "saved.yaml")
		if err := os.WriteFile(file, []byte("name: "+c.name+"\n"+strings.ReplaceAll(topology, "VARS", c.vars)), 0o600); err != nil {
			t.Fatal(err)
		}
		opts := Options{Lab: c.lab, Tables: StandardTables()}
		set, err := Load(file, opts)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(set.Implied, c.want); diff != "" {
			t.Errorf("%s: got - want +:\n%s", c.file, diff)
		}
		if err := os.WriteFile(saved, []byte(set.Implied), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Load(saved, opts)
		if err != nil {
			t.Errorf("%s: what it stands for is refused: %v", c.file, err)
			continue
		}
		first, err1 := set.Base.Marshal()
		second, err2 := again.Base.Marshal()
		if again.Implied != "" || err1 != nil || err2 != nil {
			t.Fatal(again.Implied, err1, err2)
		}
		if diff := cmp.Diff(string(second), string(first)); diff != "" {
			t.Errorf("%s: once it has been saved, got - want +:\n%s", c.file, diff)
		}
	}
}

// A label that makes a node foreign needs an image of kind linux.
func TestClabForeignRefused(t *testing.T) {
	for node, want := range map[string]string{
		"{kind: linux, image: 'x:1', labels: {csiglab.foreign: brigde}}":         `unknown value "brigde"; known: nothing bridge router (did you mean "bridge"?)`,
		"{kind: nokia_srlinux, image: 'x:1', labels: {csiglab.foreign: bridge}}": "csiglab starts images of kind linux alone, not of nokia_srlinux",
		"{kind: linux, labels: {csiglab.foreign: router}}":                       "the label csiglab.foreign wants an image",
	} {
		file := filepath.Join(t.TempDir(), "x.clab.yml")
		text := "name: x\ntopology: {nodes: {a: {kind: linux}, b: {kind: linux}, s: " + node + "}, links: [{endpoints: ['a:eth1', 's:eth1']}, {endpoints: ['b:eth1', 's:eth2']}]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file, Options{Lab: true, Tables: StandardTables()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", node, err, want)
		}
	}
}
