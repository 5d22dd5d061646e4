package topologies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// In a fabric of dimensions, a message to a neighbour along one takes the delay of its links: of two at
// a switch, of one in a ring or between all. Others take what they take in each dimension, and less
// by the delay of two NICs for each switch of an NPU between. A NIC is as fast as the links of its NPU.
func TestDimensions(t *testing.T) {
	const ns = units.Nanosecond
	fast, slow := 100*units.Gbps, 25*units.Gbps
	for _, c := range []struct {
		name            string
		dims            []topologies.Dimension
		switches, links int
	}{
		{"one switch", []topologies.Dimension{{Hosts: 5, Rate: fast, Delay: 700 * ns}}, 1, 5},
		{"ring of two", []topologies.Dimension{{Block: topologies.BlockRing, Hosts: 2, Rate: fast, Delay: 3 * ns}}, 2, 2 + 1},
		{"ring", []topologies.Dimension{{Block: topologies.BlockRing, Hosts: 5, Rate: fast, Delay: 700 * ns}}, 5, 5 + 5},
		{"all to all", []topologies.Dimension{{Block: topologies.BlockFull, Hosts: 5, Rate: fast, Delay: 700 * ns}}, 5, 5 + 10},
		{"two switches", []topologies.Dimension{{Hosts: 2, Rate: fast, Delay: 300 * ns}, {Hosts: 3, Rate: slow, Delay: 1000 * ns}}, 6 + 3 + 2, 6 + 6 + 6},
		{"three dimensions", []topologies.Dimension{
			{Block: topologies.BlockRing, Hosts: 4, Rate: fast, Delay: 300 * ns}, {Block: topologies.BlockFull, Hosts: 3, Rate: fast, Delay: 500 * ns}, {Hosts: 2, Rate: slow, Delay: 1000 * ns},
		}, 24 + 12, 24 + 6*4 + 8*3 + 24},
	} {
		custom, err := topologies.Dimensions("x", c.dims)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		g, err := custom.Build()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if s := g.Size(); s.Switches != c.switches || len(g.Links) != c.links {
			t.Errorf("%s: %d switches and %d links, want %d and %d", c.name, s.Switches, len(g.Links), c.switches, c.links)
		}
		alone := len(g.Nodes) == g.Hosts()+1
		nic := g.Links[0].Delay
		adjacency := g.Adjacency()
		for from := range g.Hosts() {
			delay := shortest(g, adjacency, from)
			for to := range g.Hosts() {
				want, between, a, b := units.Duration(0), -1, from, to
				for _, d := range c.dims {
					hops := 0
					if x, y := a%d.Hosts, b%d.Hosts; x != y {
						hops = 1
						switch d.Block {
						case topologies.BlockSwitch:
							want += d.Delay // and once more below
						case topologies.BlockRing:
							hops = min((x-y+d.Hosts)%d.Hosts, (y-x+d.Hosts)%d.Hosts)
						}
						want += units.Duration(hops) * d.Delay
					}
					between += hops
					a, b = a/d.Hosts, b/d.Hosts
				}
				if from == to {
					continue
				}
				if !alone {
					want -= units.Duration(2*between) * nic
				}
				if delay[to] != want {
					t.Errorf("%s: from n%d to n%d %v, want %v", c.name, from, to, delay[to], want)
				}
			}
		}
		var rate units.Rate // of the links of NPU 0
		for _, l := range g.Links[g.Hosts():] {
			if l.A.Node == g.Hosts() || l.B.Node == g.Hosts() {
				rate += l.Rate
			}
		}
		if !alone && g.Links[0].Rate != rate {
			t.Errorf("%s: the NIC has %v, and its NPU's links have %v", c.name, g.Links[0].Rate, rate)
		}
	}
}

// shortest returns the delay of the way with the fewest links to each node.
func shortest(g *topologies.Graph, adjacency [][]topologies.Adjacent, from int) map[int]units.Duration {
	delay := map[int]units.Duration{from: 0}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, a := range adjacency[queue[0]] {
			if _, seen := delay[a.Peer.Node]; !seen {
				delay[a.Peer.Node] = delay[queue[0]] + g.Links[a.Link].Delay
				queue = append(queue, a.Peer.Node)
			}
		}
	}
	return delay
}

func TestDimensionsTooLarge(t *testing.T) {
	for _, c := range []struct {
		dims []topologies.Dimension
		want string
	}{
		{[]topologies.Dimension{{Hosts: 4096, Rate: 1, Delay: 1}, {Hosts: 4096, Rate: 1, Delay: 1}}, "more than 1048576 NPUs in all"},
		{[]topologies.Dimension{{Hosts: 1024, Rate: 1, Delay: 1}, {Hosts: 512, Rate: 1, Delay: 1}}, "too large: 524288 NPUs with 2 links each"},
		{[]topologies.Dimension{{Block: topologies.BlockFull, Hosts: 1024, Rate: 1, Delay: 1}}, "too large: 1024 NPUs with 1023 links each"},
		{[]topologies.Dimension{{Block: topologies.BlockFull, Hosts: 300, Rate: units.Tbps, Delay: 1}}, "the links of an NPU have 299Tbps together, want at most 100Tbps"},
	} {
		if _, err := topologies.Dimensions("x", c.dims); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func ExampleDimensions() {
	c, err := topologies.Dimensions("two-servers", []topologies.Dimension{
		{Block: topologies.BlockRing, Hosts: 4, Rate: 400 * units.Gbps, Delay: 300 * units.Nanosecond},
		{Block: topologies.BlockSwitch, Hosts: 2, Rate: 100 * units.Gbps, Delay: 500 * units.Nanosecond},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range c.Links[7:11] {
		fmt.Println(c.Nodes[l.A].Name, c.Nodes[l.B].Name, l.Rate, l.Delay)
	}
	// Output:
	// n7 r7 900Gbps 3ns
	// r0 r1 400Gbps 294ns
	// r0 r3 400Gbps 294ns
	// r1 r2 400Gbps 294ns
}
