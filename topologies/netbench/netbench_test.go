package netbench_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/topologies/netbench"
	"github.com/csiglab/csiglab/units"
)

const us = units.Microsecond

var options = netbench.Options{Rate: 100 * units.Gbps, HostRate: 25 * units.Gbps, Delay: 2 * us, HostDelay: us, SwitchDelay: us / 2}

// pair is two servers of their own, two ToRs and two parallel links between these.
const pair = `# comment
|V|=4
|E|=8
ToRs=set(2, 3)
Servers=incl_range(0,1)
Switches=incl_range(2,3)

2 3
2 3
3 2
3 2
0 2
2 0
3 1
1 3
`

func TestRead(t *testing.T) {
	c, err := netbench.Read("dir/pair.topology", strings.NewReader(pair), options)
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil || g.Name != "pair" {
		t.Errorf("%s: %v", g.Name, err)
	}
	if got, want := strings.Join(g.LinkNames(), " "), "n2:0-n3 n2:1-n3 n0-n2 n1-n3"; got != want {
		t.Errorf("links %s, want %s", got, want)
	}
	if links, delay := topologies.NewPaths(g).Between(0, 1); links != 3 || delay != 4*us+us {
		t.Errorf("%d links, %v; want 3 and 5us", links, delay)
	}
	if g.Links[0].Rate != 100*units.Gbps || g.Links[2].Rate != 25*units.Gbps {
		t.Errorf("rates %v and %v", g.Links[0].Rate, g.Links[2].Rate)
	}
}

// The published file is a fat tree of 4-port switches, with the servers in the ToRs: with
// two servers for each, it is the fat tree that has 16 hosts.
func TestFatTree(t *testing.T) {
	f := checkout.Open(t, "fixtures/ndal-eth+netbench/example/topologies/fat_tree/fat_tree_k4.topology")
	o := options
	o.Servers, o.Ports = 2, 4
	c, err := netbench.Read("fat_tree_k4.topology", f, o)
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.Build()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := topologies.KAryFatTree(4, units.Gbps, us)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tree.Build()
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := g.Counts(), want.Counts()
	got.Pods, wanted.Pods = 0, 0 // the file has none
	if got != wanted {
		t.Errorf("counts %+v, want %+v", got, wanted)
	}
	mine, theirs := topologies.NewPaths(g), topologies.NewPaths(want)
	for src := range 16 {
		for dst := range 16 {
			if src == dst {
				continue
			}
			a, _ := mine.Between(src, dst)
			b, _ := theirs.Between(src, dst)
			if a != b {
				t.Errorf("from %d to %d: %d links, want %d", src, dst, a, b)
			}
		}
	}
}

func TestWrongFiles(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"|V|=4", "|V|=1000000000", "f.topology:2:5: |V| is 1000000000, want 1 to 131072"},
		{"|V|=4\n", "", "f.topology:7:1: |V| is missing"},
		{"|V|=4", "|W|=4", `f.topology:2:1: unknown key "|W|" (did you mean "|V|"?)`},
		{"Servers=", "Server=", `f.topology:5:1: unknown key "Server" (did you mean "Servers"?)`},
		{"Servers=incl_range(0,1)\n", "", "f.topology:7:1: Servers is missing"},
		{"incl_range(0,1)", "range(0,1)", `f.topology:5:9: Servers is "range(0,1)", want set(0,1,2) or incl_range(0,7)`},
		{"incl_range(0,1)", "incl_range(0,999999999)", "f.topology:5:22: the node is 999999999, want 0 to 3"},
		{"incl_range(0,1)", "incl_range(1,0)", `f.topology:5:9: Servers is "incl_range(1,0)", want the first and the last node`},
		{"incl_range(0,1)", "set(0)", "f.topology:5:9: node 1 is in none of the sets Servers, Switches and ToRs"},
		{"|E|=8", "|E|=4", "f.topology:3:5: |E| is 4, and there are 8 edges; each direction counts"},
		{"0 2\n", "0 0\n", "f.topology:12:1: joins node 0 to itself"},
		{"0 2\n", "0 9\n", "f.topology:12:3: the node is 9, want 0 to 3"},
		{"2 0\n", "", "f.topology:12:1: edge 0 2 has no line for the other direction, 2 0"},
		{"3 2\n3 2\n", "3 2\n", "f.topology:8:1: edge 2 3 is given 2 times and the other direction 1 times"},
		{"0 2\n", "0 2 100\n", "f.topology:12:1: want the two nodes of an edge, or key=value; the line has 3 words"},
		{"|E|=8", "|E|=6\n|E|=6", "f.topology:4:1: |E| was set in line 3"},
		{"0 2\n2 0\n", "", "f.topology:3:5: |E| is 8, and there are 6 edges; each direction counts"},
		{"|E|=8\n", "", ""},
		{"|E|=8\n|", "|", ""},
	} {
		text := strings.Replace(pair, c.old, c.new, 1)
		_, err := netbench.Read("f.topology", strings.NewReader(text), options)
		if got := ""; err != nil && err.Error() != c.want || err == nil && got != c.want {
			t.Errorf("%q: got %v, want %s", c.new, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"|V|=3\nServers=set(0,1)\nSwitches=set(2)\n0 2\n2 0\n", "f.topology:2:9: host n1 has no link"},
		{"|V|=4\nServers=set(0,1)\nSwitches=set(2,3)\n0 2\n2 0\n1 3\n3 1\n", "f.topology:2:9: the fabric is not connected: no way leads from n0 to n1, n3"},
		{"|V|=6\nServers=set(0,1,2,3,4)\nSwitches=set(5)\n0 5\n5 0\n1 5\n5 1\n2 5\n5 2\n3 5\n5 3\n4 5\n5 4\n", "f.topology:3:10: switch n5 has 4 ports and 5 links"},
		{"|V|=2\nServers=set(0,1)\n0 1\n1 0\n", "f.topology:2:9: no node is a switch"},
		{"", "f.topology:1:1: |V| is missing"},
	} {
		o := options
		o.Ports = 4
		if _, err := netbench.Read("f.topology", strings.NewReader(c.text), o); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(pair)
	f.Add("|V|=2\nServers=set(0,1)\nToRs=set(0,1)\n0 1\n1 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := netbench.Read("f.topology", strings.NewReader(text), options)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.topology:") {
				t.Errorf("%v has no place", err)
			}
			return
		}
		g, err := c.Build()
		if err == nil {
			err = g.Validate()
		}
		if err != nil {
			t.Errorf("%v of\n%s", err, text)
		}
	})
}
