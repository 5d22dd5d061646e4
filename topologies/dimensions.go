package topologies

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// Block is how the hosts along one dimension of a fabric are joined.
type Block uint8

// Blocks.
const (
	BlockSwitch Block = iota // to one switch
	BlockRing                // in a ring, with a link to the host on each side
	BlockFull                // each to every other
)

// Dimension is one dimension of the fabric that Dimensions returns.
type Dimension struct {
	Block Block
	Hosts int            // along the dimension, 2 to MaxRadix
	Rate  units.Rate     // of a link, in each direction
	Delay units.Duration // of a link
}

// maxEnds bounds the ends of links of Dimensions, whose nodes and links take memory before their
// size is known.
const maxEnds = 1 << 19

// leastNIC is the least delay of a host's link to the switch beside it, which is a hundredth of that
// of the shortest link: a delay that still can be scaled.
const leastNIC = units.Nanosecond

// LeastDelay returns the least delay that links of these dimensions may have.
func LeastDelay(dims []Dimension) units.Duration {
	if single(dims) {
		return units.Nanosecond
	}
	return 2*leastNIC + units.Nanosecond
}

// single reports whether the fabric is one switch with its hosts.
func single(dims []Dimension) bool { return len(dims) == 1 && dims[0].Block == BlockSwitch }

// Dimensions returns the fabric of hosts n0, n1 and so on that stand in a grid: host i is in place i
// mod dims[0].Hosts of the first dimension, and each line of hosts along a dimension is joined as
// that one says. The only dimension BlockSwitch is switch s0 with the hosts. Otherwise host i
// has a switch of its own beside it, r0, r1 and so on, which forwards in its place; line k of
// dimension d that has a switch has d0.s0, say. The host's link is as fast as all other links of
// its switch together. Delays of the links between switches are smaller by those of the hosts'
// links, so that a message to a neighbour takes what dims say. The error says what is too large.
func Dimensions(name string, dims []Dimension) (*Custom, error) {
	hosts, links, nic := 1, int64(0), units.Rate(0)
	for _, d := range dims {
		if hosts *= d.Hosts; hosts > MaxHosts {
			return nil, fmt.Errorf("more than %d NPUs in all", MaxHosts)
		}
		nic += d.Rate * units.Rate(d.degree())
		links += int64(d.degree()) // of a host
	}
	if links*int64(hosts) > maxEnds {
		return nil, fmt.Errorf("too large: %d NPUs with %s each; links may have %d ends in all", hosts, spelling.Plural(int(links), "link"), maxEnds)
	}
	c := &Custom{Name: name}
	for i := range hosts {
		c.Nodes = append(c.Nodes, CustomNode{Name: fmt.Sprintf("n%d", i)})
	}
	if single(dims) {
		c.join(0, c.add("s0"), hosts, dims[0].Rate, dims[0].Delay)
		return c, nil
	}
	if nic > MaxRate {
		return nil, fmt.Errorf("the links of an NPU have %v together, want at most %v", nic, MaxRate)
	}
	delay := dims[0].Delay
	for _, d := range dims {
		delay = min(delay, d.Delay)
	}
	delay = max(leastNIC, delay/100)
	for i := range hosts {
		c.join(i, c.add(fmt.Sprintf("r%d", i)), 1, nic, delay)
	}
	stride := 1
	for number, d := range dims {
		for line := range hosts / d.Hosts {
			first := hosts + line/stride*stride*d.Hosts + line%stride
			c.line(d, first, stride, delay, fmt.Sprintf("d%d.s%d", number, line))
		}
		stride *= d.Hosts
	}
	return c, nil
}

// degree returns how many links of the dimension a host has.
func (d Dimension) degree() int {
	switch d.Block {
	case BlockRing:
		return min(2, d.Hosts-1)
	case BlockFull:
		return d.Hosts - 1
	}
	return 1
}

// add adds a switch.
func (c *Custom) add(name string) int {
	c.Nodes = append(c.Nodes, CustomNode{Name: name, Kind: Switch})
	return len(c.Nodes) - 1
}

// join joins n nodes, from first on, to another.
func (c *Custom) join(first, to, n int, rate units.Rate, delay units.Duration) {
	for i := range n {
		c.Links = append(c.Links, CustomLink{A: first + i, B: to, Rate: rate, Delay: delay})
	}
}

// line joins the switches of a line, which are stride apart from first on. nic is the delay of the
// hosts' links, name that of a switch between the others.
func (c *Custom) line(d Dimension, first, stride int, nic units.Duration, name string) {
	at := func(i int) int { return first + i%d.Hosts*stride }
	if d.Block == BlockSwitch {
		to := c.add(name)
		for i := range d.Hosts {
			c.join(at(i), to, 1, d.Rate, d.Delay-nic)
		}
		return
	}
	reach := 1
	if d.Block == BlockFull {
		reach = math.MaxInt
	}
	for i := range d.Hosts {
		for k := i + 1; k < d.Hosts && k-i <= reach; k++ {
			c.join(at(i), at(k), 1, d.Rate, d.Delay-2*nic)
		}
	}
	if d.Block == BlockRing && d.Hosts > 2 {
		c.join(at(d.Hosts-1), at(0), 1, d.Rate, d.Delay-2*nic)
	}
}
