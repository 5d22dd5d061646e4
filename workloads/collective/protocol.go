package collective

import (
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// Protocol is how ranks hand over data, after NCCL's protocols: with flags among the data, which
// makes messages longer, or with memory fences, which take their time.
type Protocol uint8

// Protocols.
const (
	// NoProtocol takes no time, and messages are as long as their data.
	NoProtocol Protocol = iota
	// LL sends a flag of 4 B behind every 4 B of data.
	LL
	// LL128 sends a flag of 8 B behind every 120 B.
	LL128
	// Simple sends no flags.
	Simple
	// Fastest is that of the three whose closed form is the shortest for a collective and its size.
	Fastest
)

var protocols = []string{"none", "ll", "ll128", "simple", "fastest"}

// Names returns the names of all protocols.
func (Protocol) Names() []string { return slices.Clone(protocols) }

// String returns the protocol's name.
func (p Protocol) String() string { return name(protocols, int(p)) }

// UnmarshalText implements encoding.TextUnmarshaler: a name of Protocols.
func (p *Protocol) UnmarshalText(text []byte) error {
	return spelling.Enum(p, "protocol", text, protocols)
}

// handover is what a protocol takes.
type handover struct {
	data, line units.Size     // so many bytes of data become a line of so many; 0: they do not
	once       units.Duration // of a collective
	// Of a message, from its end at the receiver on until its data can be used.
	inside, across units.Duration
}

// handovers are what the protocols take in trees and, behind them, in everything else: the latencies
// by which NCCL chooses (src/graph/tuning.cc, baseLat, and hwLat of NVLink and network). Departs from
// it: the bandwidths are those that the lines leave, where NCCL has measured ones (of LL a quarter).
var handovers = [2][Fastest]handover{
	{
		LL:     {8, 16, 6800 * units.Nanosecond, 600 * units.Nanosecond, 5000 * units.Nanosecond},
		LL128:  {120, 128, 14000 * units.Nanosecond, 1250 * units.Nanosecond, 8500 * units.Nanosecond},
		Simple: {0, 0, 8400 * units.Nanosecond, 4000 * units.Nanosecond, 14000 * units.Nanosecond},
	},
	{
		LL:     {8, 16, 6600 * units.Nanosecond, 600 * units.Nanosecond, 2700 * units.Nanosecond},
		LL128:  {120, 128, 14000 * units.Nanosecond, 1900 * units.Nanosecond, 4000 * units.Nanosecond},
		Simple: {0, 0, 8400 * units.Nanosecond, 3400 * units.Nanosecond, 14000 * units.Nanosecond},
	},
}

// wire returns how long a message with so much data is.
func (h *handover) wire(data units.Size) units.Size {
	if h.line == 0 {
		return data
	}
	return (data + h.data - 1) / h.data * h.line
}

// How returns by which algorithm the call is done and, unless it is NoProtocol, by which protocol.
func (c *Call) How() string {
	if p := c.protocol(); p != NoProtocol {
		return c.algorithm().String() + " " + p.String()
	}
	return c.algorithm().String()
}

// handovers returns what the protocols take.
func (c *Call) handovers() *[Fastest]handover {
	if c.algorithm() == Tree {
		return &handovers[0]
	}
	return &handovers[1]
}

// protocol returns the call's protocol, on which all ranks of a group agree.
func (c *Call) protocol() Protocol {
	on := &c.Servers
	if on.Protocol != Fastest {
		return on.Protocol
	}
	if c.Split != nil {
		return Simple // no rank knows the sizes of all others
	}
	servers := c.servers()
	rate, data := c.rate(servers), c.busiest(servers)
	inside, across := c.steps(servers)
	time := func(p Protocol) float64 {
		h := &c.handovers()[p]
		way, bytes := float64(inside)*float64(on.Inside.Latency+h.inside)+float64(across)*float64(on.Across.Latency+h.across), 0.0
		if rate > 0 {
			bytes = float64(rate.Serialisation(h.wire(data)))
		}
		if c.algorithm() == Ring && across > 0 { // a piece crosses so often, while the NIC sends others
			return float64(h.once) + max(bytes, way+bytes*float64(across)/float64(inside+across))
		}
		return float64(h.once) + way + bytes
	}
	best := Simple
	for _, p := range []Protocol{LL128, LL} {
		if time(p) < time(best) {
			best = p
		}
	}
	return best
}

// steps returns how many messages follow each other in the collective, inside its servers and across.
func (c *Call) steps(servers int) (inside, across int) {
	n := len(c.Group)
	log := func(n int) int { return bits.Len(uint(n - 1)) } // rounded up
	each := (n + servers - 1) / servers
	rounds := 1
	if c.Kind == AllReduce {
		rounds = 2
	}
	switch c.algorithm() {
	case Ring:
		if across = rounds * servers; servers == 1 {
			across = 0
		}
		across = min(across, rounds*(n-1))
		return rounds*(n-1) - across, across
	case Hierarchical:
		inside = rounds * (c.Local - 1)
		if c.Servers.Switched {
			inside = rounds
		}
		return inside, rounds * (n/c.Local - 1)
	case Tree:
		return rounds * (each - 1), rounds * log(servers)
	case HalvingDoubling, Binomial, Dissemination:
		return rounds * log(each), rounds * log(servers)
	}
	if c.Kind == AllToAll {
		rounds = (n - 2 + max(1, c.Channels)) / max(1, c.Channels)
	}
	if servers == 1 {
		return rounds, 0
	}
	return 0, rounds
}

// servers returns on how many servers the group is.
func (c *Call) servers() int {
	if c.Servers.Places == nil {
		return len(c.Group)
	}
	on := map[int]bool{}
	for _, rank := range c.Group {
		on[c.Servers.Places[rank].Server] = true
	}
	return len(on)
}

// busiest returns about how much data the busiest server, or the busiest rank of one server, sends.
func (c *Call) busiest(servers int) units.Size {
	data := units.Size(BusFactor(c.Kind, len(c.Group)) * float64(c.Bytes))
	switch {
	case c.algorithm() == Tree:
		return 2 * c.Bytes
	case c.algorithm() == Ring || c.algorithm() == Hierarchical || servers == 1:
		return data
	default: // each rank sends so much
		return data * units.Size(len(c.Group)/servers)
	}
}

// rate returns at which rate that leaves, 0 if it takes no time.
func (c *Call) rate(servers int) units.Rate {
	if servers == 1 && len(c.Group) > 1 {
		return c.Servers.Inside.Rate
	}
	nics := map[int]bool{}
	for _, rank := range c.Group {
		if p := c.Servers.Places; p != nil && p[rank].Server == p[c.Group[0]].Server {
			nics[p[rank].NIC] = true
		}
	}
	used := max(1, len(nics))
	if a := c.algorithm(); a == Ring || a == Tree {
		used = min(used, max(1, c.Channels))
	}
	return c.Servers.Across.Rate * units.Rate(used)
}
