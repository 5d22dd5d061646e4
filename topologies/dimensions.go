package topologies

import (
	"fmt"

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
	Delay units.Duration // of a link, at least LeastDelay
}

// LeastDelay is the least delay of a Dimension: that of the hosts' links at both ends and of a link
// between. maxEnds bounds the ends of links, which take memory before the fabric's size is known.
const (
	leastNIC   = units.Nanosecond
	LeastDelay = 3 * leastNIC
	maxEnds    = 1 << 19
)

// Dimensions returns the fabric of hosts n0, n1 and so on that stand in a grid: host i is in place i
// mod dims[0].Hosts of the first dimension, and each line of hosts along a dimension is joined as
// that one says. The only dimension BlockSwitch is switch s0 with the hosts. Otherwise host i
// has a switch of its own beside it, r0, r1 and so on, which forwards in its place; line k of
// dimension d that has a switch has d0.s0, say. The host's link is as fast as all other links of
// its switch together. It has a hundredth of the least delay, by which the links beside it are
// shorter: a message to a neighbour takes what dims say. The error says what is too large.
func Dimensions(name string, dims []Dimension) (*Custom, error) {
	hosts, degree, rate, least := 1, 0, units.Rate(0), MaxDelay
	for _, d := range dims {
		if hosts *= d.Hosts; hosts > MaxHosts {
			return nil, fmt.Errorf("more than %d NPUs in all", MaxHosts)
		}
		links := [...]int{BlockSwitch: 1, BlockRing: min(2, d.Hosts-1), BlockFull: d.Hosts - 1}[d.Block]
		degree, rate, least = degree+links, rate+d.Rate*units.Rate(links), min(least, d.Delay)
	}
	if hosts*degree > maxEnds {
		return nil, fmt.Errorf("too large: %d NPUs with %s each; links may have %d ends in all", hosts, spelling.Plural(degree, "link"), maxEnds)
	}
	if rate > MaxRate {
		return nil, fmt.Errorf("the links of an NPU have %v together, want at most %v", rate, MaxRate)
	}
	c := &Custom{Name: name}
	add := func(kind Kind, format string, args ...any) int {
		c.Nodes = append(c.Nodes, CustomNode{Name: fmt.Sprintf(format, args...), Kind: kind})
		return len(c.Nodes) - 1
	}
	link := func(a, b int, rate units.Rate, delay units.Duration) {
		c.Links = append(c.Links, CustomLink{A: a, B: b, Rate: rate, Delay: delay})
	}
	for i := range hosts {
		add(Host, "n%d", i)
	}
	if len(dims) == 1 && dims[0].Block == BlockSwitch {
		s := add(Switch, "s0")
		for i := range hosts {
			link(i, s, rate, least)
		}
		return c, nil
	}
	nic, stride := max(leastNIC, least/100), 1
	for i := range hosts {
		link(i, add(Switch, "r%d", i), rate, nic)
	}
	for number, d := range dims {
		for line := range hosts / d.Hosts {
			at := func(i int) int { return hosts + line/stride*stride*d.Hosts + line%stride + i*stride }
			if d.Block == BlockSwitch {
				s := add(Switch, "d%d.s%d", number, line)
				for i := range d.Hosts {
					link(at(i), s, d.Rate, d.Delay-nic)
				}
				continue
			}
			step := 1
			if d.Block == BlockRing {
				step = max(1, d.Hosts-2) // from the next one to the one before
			}
			for i := range d.Hosts {
				for k := i + 1; k < d.Hosts; k += step {
					link(at(i), at(k), d.Rate, d.Delay-2*nic)
				}
			}
		}
		stride *= d.Hosts
	}
	return c, nil
}
