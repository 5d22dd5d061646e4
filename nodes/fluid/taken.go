package fluid

import (
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// taken is the bit of a control message's trigger that says what flows of the fluid take of a
// port's rate. The rest is the port, and the code is the rate in units of takenUnit.
const (
	taken     = 1 << 31
	takenUnit = units.Mbps
)

// Lending is what a node knows of the fluid that crosses its ports beside packets: the wire size of
// a full packet, and what that takes on the line beyond its size.
type Lending struct{ Packet, Overhead units.Size }

// ReadTaken returns what a control message says of a port, and whether it says such a thing.
func ReadTaken(p *wire.Packet) (port int, rate units.Rate, ok bool) {
	trigger := p.Flow()
	return int(trigger &^ taken), units.Rate(p.PSN()) * takenUnit, trigger&taken != 0
}

// leastLeft is the part of a port's rate that is left to packets in any case, for ACKs: they are
// 1/40 of the packets that they answer, or less.
const leastLeft = 32

// Left returns what is left to packets of a port's rate.
func Left(rate, taken units.Rate) units.Rate { return max(rate-taken, rate/leastLeft) }

// Beside returns what a port's recorder has to know of the fluid.
func (l Lending) Beside(rate, taken units.Rate) metrics.Beside {
	line, packet := bytesPerPicosecond(min(taken, rate)), float64(l.Packet+l.Overhead)
	return metrics.Beside{Busy: line / bytesPerPicosecond(rate), Bytes: line * float64(l.Packet) / packet, Packets: line / packet}
}

// lending is what flows take of the ports that packets cross too.
type lending struct {
	lent    []lentPort // by port
	changed []int32    // ports of which flows take another part since tellTaken
}

// lentPort is a port that packets cross too. Rates are in bytes a picosecond.
type lentPort struct {
	taken   float64 // by flows
	told    float64 // of taken, to the node
	flows   int     // that take a part
	changed bool
}

// resolution is the part of a port's rate by which what flows take has to be another for its node
// to be told.
const resolution = 1.0 / 128

func newLending(cfg *Config) lending { return lending{lent: make([]lentPort, len(cfg.Ports))} }

// lend adds to the rate that a flow takes of its ports.
func (n *Network) lend(f *flow, more float64) {
	for _, w := range f.ways {
		if n.cfg.Ports[w.Port].Link < 0 {
			continue
		}
		p := &n.lent[w.Port]
		switch {
		case f.rate == 0:
			p.flows++
		case f.rate+more == 0:
			p.flows--
		}
		if p.taken += more * w.Share; p.flows == 0 {
			p.taken = 0 // without what rounding leaves
		}
		n.changes(w.Port)
	}
}

// changes notes that flows take another part of a port.
func (n *Network) changes(port int32) {
	if p := &n.lent[port]; !p.changed {
		p.changed = true
		n.changed = append(n.changed, port)
	}
}

// addUp finds anew what flows take of ports, when an epoch has begun.
func (n *Network) addUp() {
	for i := range n.lent {
		if p := &n.lent[i]; n.cfg.Ports[i].Link >= 0 {
			*p = lentPort{told: p.told, changed: p.changed}
			n.changes(int32(i))
		}
	}
	for i := range n.flows {
		if f := &n.flows[i]; f.rate > 0 && !f.packets {
			rate := f.rate
			f.rate = 0
			n.setRate(f, rate)
		}
	}
}

// tellTaken tells nodes what flows take of their ports now. They hear it two delays of a control
// link later.
func (n *Network) tellTaken() {
	for _, i := range n.changed {
		p, at := &n.lent[i], &n.cfg.Ports[i]
		p.changed = false
		off := math.Abs(p.taken - p.told)
		if off <= resolution*n.ports[i].rate && (p.flows > 0 || p.told == 0) {
			continue
		}
		p.told = p.taken
		rate := uint32(math.Round(p.taken * bitsPerByte * second / float64(takenUnit)))
		n.send(n.time.Add(2*n.cfg.Delay), int(at.Link), taken|uint32(at.Port), rate)
	}
	n.changed = n.changed[:0]
}

// sendPackets has a flow send packets from now on, which take the share of links that it would
// have, or ends that.
func (n *Network) sendPackets(i int32, sends bool) {
	f := &n.flows[i]
	switch {
	case f.packets == sends || f.queue.Len() > 0:
	case sends:
		f.packets = true
		n.begin(i)
	default:
		n.end(i)
		f.packets = false
	}
}
