package emu

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Fabric configures the drivers of all nodes of a run. It is plain data.
type Fabric struct {
	Graph        *topologies.Graph
	Control      []ControlLink
	Format       wire.Format // with the declared sizes
	TieSeed      uint64
	End          units.Time // exclusive; units.Never: until nothing is due
	Run          uint32     // marks the run's frames
	Elide        bool
	Inject       []Injection
	Spools       Capture
	Live         Live          // in real time
	Profile      uint32        // of the CSIG domain (csig.Domain.Profile)
	FrameTimeout time.Duration // 0: DefaultFrameTimeout
	MTU          units.Size    // of the links' packets; 0: that of the reference simulator
	// Applications are the hosts that run programs over the kernel's TCP/IP,
	// ascending. Port applicationPort of their nodes leads to the interface of these
	// programs; no list of links has it.
	Applications []int
	// Foreign are the nodes of the graph that are none of csiglab's, and have no driver. What
	// Configs returns of them has no meaning.
	Foreign []Foreign
}

// Foreign is a node that is none of csiglab's.
type Foreign struct {
	Node   int
	Routes bool // it forwards by IP addresses, and gets frames at its own MAC addresses
}

// applicationPort is shim.Application.
const applicationPort = 1

// ControlLink joins two hosts beside the fabric, for dependencies of the workload
// that cross hosts. A message on it takes Delay and no time to serialise.
type ControlLink struct {
	A, B  topologies.End
	Delay units.Duration
}

// Injection is damage to one frame of a link, for tests.
type Injection struct {
	Link    int   // id in the graph
	Reverse bool  // from B to A
	Number  int64 // which frame of that direction, from 1
	Flip    bool  // flip a bit of its transport header; otherwise lose it
}

// Wires returns the ends of all links, those of the graph first and the control
// links after them, and their names.
func (f *Fabric) Wires() (ends [][2]topologies.End, names []string) {
	for id, l := range f.Graph.Links {
		ends = append(ends, [2]topologies.End{l.A, l.B})
		names = append(names, f.Graph.LinkName(id))
	}
	for _, c := range f.Control {
		ends = append(ends, [2]topologies.End{c.A, c.B})
		names = append(names, f.Graph.Nodes[c.A.Node].Name+"~"+f.Graph.Nodes[c.B.Node].Name)
	}
	return ends, names
}

// Configs returns the driver's configuration of each node, in order, and the
// directions of all links: link i of Wires is 2i from A to B and 2i+1 back.
func (f *Fabric) Configs() ([]Config, []lockstep.Channel) {
	configs := make([]Config, len(f.Graph.Nodes))
	format := f.Format
	format.Raw = format.Raw || len(f.Applications) > 0
	foreign := make(map[int]Foreign, len(f.Foreign))
	for _, n := range f.Foreign {
		foreign[n.Node] = n
	}
	for i, n := range f.Graph.Nodes {
		configs[i] = Config{
			Node: i, Name: n.Name, Host: n.Kind == topologies.Host,
			Format: format, TieSeed: f.TieSeed, Run: f.Run, Elide: f.Elide, FrameTimeout: f.FrameTimeout,
			Spool: f.Spools.of(i), Live: f.Live, Profile: f.Profile,
		}
	}
	var links []lockstep.Channel
	wires, names := f.Wires()
	for id, w := range wires {
		delay, lookahead := f.lookahead(id)
		longest := f.serialisation(id, longestFrame)
		for side, end := range w {
			peer := w[1-side]
			out := 2*id + side
			links = append(links, lockstep.Channel{From: end.Node, To: peer.Node, Lookahead: lookahead})
			c := &configs[end.Node]
			for len(c.Ports) <= end.Port {
				c.Ports = append(c.Ports, Port{})
			}
			far, isForeign := foreign[peer.Node]
			port := Port{
				Link: names[id], Peer: f.Graph.Nodes[peer.Node].Name, Delay: delay,
				In: out ^ 1, Out: out, Longest: longest, Room: f.room(id), Foreign: isForeign,
			}
			if far.Routes {
				port.Gateway = wire.MAC(peer.Node, peer.Port)
			}
			c.Ports[end.Port] = port
		}
	}
	for _, h := range f.Applications {
		c := &configs[h]
		for len(c.Ports) <= applicationPort {
			c.Ports = append(c.Ports, Port{})
		}
		c.Ports[applicationPort] = Port{Link: c.Name + "-application", Peer: "application", Application: true}
	}
	for i := range configs {
		configs[i].Slots = f.slots(&configs[i])
	}
	for i := range links {
		to := &configs[links[i].To]
		links[i].Capacity = capacity(to.Slots, len(to.Ports))
	}
	for _, i := range f.Inject {
		from := f.Graph.Links[i.Link].A
		if i.Reverse {
			from = f.Graph.Links[i.Link].B
		}
		c := &configs[from.Node]
		c.Damage = append(c.Damage, Damage{Port: from.Port, Number: i.Number, Flip: i.Flip})
	}
	return configs, links
}

// lookahead returns a wire's delay, and the least time between an event at one
// end and the arrival that it causes at the other: the delay and the time of the
// smallest frame, line overhead included.
func (f *Fabric) lookahead(wire int) (delay, lookahead units.Duration) {
	if wire >= len(f.Graph.Links) {
		delay = f.Control[wire-len(f.Graph.Links)].Delay
		return delay, delay
	}
	l := f.Graph.Links[wire]
	return l.Delay, l.Delay + l.Rate.Serialisation(f.smallest()+f.Format.Overhead)
}

// smallest returns the wire size of the smallest frame.
func (f *Fabric) smallest() units.Size {
	if f.Format.PFC {
		return min(f.Format.Header, wire.PauseSize)
	}
	return f.Format.Header
}

// longestFrame is longer than any frame.
const longestFrame = 64 * units.KiB

// serialisation returns how long a wire takes to send a frame of some size.
func (f *Fabric) serialisation(wire int, size units.Size) units.Duration {
	if wire >= len(f.Graph.Links) {
		return 0
	}
	return f.Graph.Links[wire].Rate.Serialisation(size)
}

// room returns how many frames of a wire may wait at its end in real time: twice those
// that fit onto the wire, and at least RawBacklog.
func (f *Fabric) room(wire int) int {
	delay, lookahead := f.lookahead(wire)
	smallest := lookahead - delay
	if smallest <= 0 {
		return RawBacklog
	}
	return max(RawBacklog, int(min(2*(lookahead/smallest+1), mostAhead)))
}

// slots returns how many frames a node keeps until they are read, in lockstep. A turn
// is at most two lookaheads long, so the slots hold four lookaheads' frames of the MTU
// on every link. Frames for which there is no room only end turns early.
func (f *Fabric) slots(c *Config) int {
	slots, mtu := slotsSpare, f.MTU
	if mtu == 0 {
		mtu = usualMTU
	}
	for i := range c.Ports {
		if p := &c.Ports[i]; !p.Application {
			slots += slotsShort
			if usual := f.serialisation(p.In/2, mtu); usual > 0 {
				_, lookahead := f.lookahead(p.In / 2)
				slots += int(min(4*lookahead/usual, netio.Slots))
			}
		}
	}
	return min(max(slots, leastSlots), netio.SlotsOf(len(c.Ports)))
}

const (
	// usualMTU is the reference simulator's data packet.
	usualMTU = 4150
	// leastSlots is 0.7 MB for frames of the usual MTU, which stays in a cache. With 512 slots a
	// frame of three-flow took a tenth more CPU time.
	leastSlots = 160
	// slotsShort are those of a link for short frames, such as ACKs.
	slotsShort = 16
	// slotsSpare are those of a node for messages that leave at one instant and for
	// strays.
	slotsSpare = netio.Slots / 8
)

// capacity returns how many frames of one link may be unread at a node: its share of
// the node's slots that are not spare.
func capacity(slots, ports int) int64 { return int64(max(1, (slots-slotsSpare)/ports)) }

// ParseInjection reads drop=LINK:N or flip=LINK:N. LINK is the name of a link,
// for frames from the end nearer to the hosts, or the same with the far end
// first, for frames the other way.
func ParseInjection(text string, g *topologies.Graph) (Injection, error) {
	i := Injection{Link: -1}
	action, rest, ok := strings.Cut(text, "=")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || colon < 0 || action != "drop" && action != "flip" {
		return i, fmt.Errorf("injection %q: want drop=LINK:N or flip=LINK:N", text)
	}
	i.Flip = action == "flip"
	var err error
	if i.Number, err = strconv.ParseInt(rest[colon+1:], 10, 64); err != nil || i.Number < 1 {
		return i, fmt.Errorf("injection %q: %q is not the number of a frame; the first is 1", text, rest[colon+1:])
	}
	name := rest[:colon]
	for id, l := range g.Links {
		forward := g.LinkName(id)
		far := g.Nodes[l.B.Node].Name
		if name == forward || name == far+"-"+strings.TrimSuffix(forward, "-"+far) {
			i.Link, i.Reverse = id, name != forward
			return i, nil
		}
	}
	return i, fmt.Errorf("injection %q: no link is called %q; links are called like %q", text, name, g.LinkName(0))
}
