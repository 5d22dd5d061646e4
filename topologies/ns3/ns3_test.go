package ns3

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

const small = `7 3 6
4 5 6
0 4 100Gbps 1000ns 0
1 4 100Gbps 1000ns 0
2 5 100Gbps 1000ns 0.000000
3 5 100Gbps 1000ns 0
4 6 400Gbps 0.001ms 0
6 5 400Gbps 0.001ms 0
`

// Hosts are the nodes that are no switches, and links have the file's rates and delays.
func TestRead(t *testing.T) {
	c, inner, err := Read("mix/small.txt", strings.NewReader(small), Options{SwitchDelay: 5, Ports: 4})
	if err != nil || inner != 0 || c.Name != "small" || len(c.Nodes) != 7 || len(c.Links) != 6 {
		t.Fatalf("%+v, %d, %v", c, inner, err)
	}
	for n, node := range c.Nodes {
		want := topologies.CustomNode{Name: fmt.Sprintf("n%d", n)}
		if n >= 4 {
			want.Kind, want.Delay, want.Ports = topologies.Switch, 5, 4
		}
		if node != want {
			t.Errorf("node %d: %+v, want %+v", n, node, want)
		}
	}
	for i, want := range map[int]topologies.CustomLink{
		0: {A: 0, B: 4, Rate: 100 * units.Gbps, Delay: units.Microsecond, Count: 1},
		5: {A: 6, B: 5, Rate: 400 * units.Gbps, Delay: units.Microsecond, Count: 1},
	} {
		if c.Links[i] != want {
			t.Errorf("link %d: %+v, want %+v", i, c.Links[i], want)
		}
	}
}

// SimAI's head has six words. NVSwitches come first among the switches and are left out; equal links
// are parallel.
func TestReadSimAI(t *testing.T) {
	c, inner, err := Read("x", strings.NewReader("7 2 2 1 8 H100\n4 5 6\n0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n2 5 2880Gbps 0.000025ms 0\n3 5 2880Gbps 0.000025ms 0\n0 6 200Gbps 0.0005ms 0\n1 6 200Gbps 0.0005ms 0\n2 6 200Gbps 0.0005ms 0\n3 6 200Gbps 0.0005ms 0\n"), Options{})
	if err != nil || inner != 2 || len(c.Nodes) != 5 || len(c.Links) != 4 || c.Nodes[4].Name != "n6" || c.Links[3].B != 4 || c.Links[0].Delay != 500*units.Nanosecond {
		t.Errorf("%+v, %d, %v", c, inner, err)
	}
	two := strings.Replace(strings.Replace(small, "7 3 6", "7 3 7", 1), "6 5 400Gbps", "6 4 400Gbps 1us 0\n6 5 400Gbps", 1)
	if c, _, err := Read("x", strings.NewReader(two), Options{}); err != nil || len(c.Links) != 6 || c.Links[4].Count != 2 {
		t.Errorf("parallel links: %+v, %v", c, err)
	}
}

// Errors name the place.
func TestWrong(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{small, "", "x:1:1: the file is empty"},
		{"7 3 6", "7 3", "x:1:1: want the numbers of nodes, switches and links"},
		{"7 3 6", "7 8 6", "x:1:1: 8 switches among 7 nodes"},
		{"7 3 6", "7 3 5", "x:8:1: one link more than the 5 that the first line says"},
		{"7 3 6", "7 3 9", "x:1:5: 9 links, and the file has 6"},
		{"4 5 6\n", "4 5 5\n", "x:2:5: switch 5 is named twice"},
		{"4 5 6\n", "4 5 6 3\n", "x:2:7: one switch more than the 3"},
		{"4 5 6\n", "4 5\n", "x:3:3: one switch more"},
		{"0 4 100Gbps", "0 9 100Gbps", "x:3:3: the node is 9"},
		{"0 4 100Gbps", "4 4 100Gbps", "x:3:1: joins node 4 to itself"},
		{"0 4 100Gbps", "0 4 fast", "x:3:5: "},
		{"0 4 100Gbps 1000ns 0\n", "0 4 100Gbps 1000ns\n", "x:3:1: want a link: two nodes, rate, delay and loss; the line has 4 words"},
		{"1000ns 0\n1 4", "1000ns 0.01\n1 4", "x:3:20: a link that loses packets is a fault in csiglab"},
		{"1 4 100Gbps", "0 5 100Gbps", "x:4:1: "},
	} {
		text := strings.Replace(small, c.old, c.new, 1)
		if _, _, err := Read("x", strings.NewReader(text), Options{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.new, err, c.want)
		} else if e := (*Error)(nil); !errors.As(err, &e) {
			t.Errorf("%q: %T", c.new, err)
		}
	}
}
