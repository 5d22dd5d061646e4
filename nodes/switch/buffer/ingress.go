package buffer

import "github.com/csiglab/csiglab/units"

// IngressLimits are the thresholds of a lossless class at an ingress port, in bytes that
// are buffered anywhere in the switch and came in there.
type IngressLimits struct {
	// XOff is how many bytes there may be, beyond what is reserved, before the peer is
	// paused, and XOn at how many it may go on. With a shared Memory they follow from its
	// threshold, and XOn is as far below as here.
	XOff, XOn units.Size
	// Headroom holds what arrives until the peer has stopped; see Headroom.
	Headroom units.Size
}

// Link is what the headroom of a link follows from.
type Link struct {
	Rate     units.Rate     // at which packets come in
	Back     units.Rate     // at which the pause frame leaves; 0: Rate
	Delay    units.Duration // one way
	MTU      units.Size     // the longest packet
	Overhead units.Size     // of each packet on the line beyond its size
	Pause    units.Size     // a pause frame
}

// Headroom returns the bytes that may come in beyond XOff before a peer has stopped
// (IEEE 802.1Qbb Annex O counts the same parts; times within MAC, PHY and queue
// management are 0 here). The packet that passes XOff is beyond it with all but a byte.
// The pause frame then waits for a packet that is leaving, is sent, and takes the link's
// delay; the peer has sent meanwhile what still is on the link, and finishes the packet
// that it has begun.
func Headroom(l Link) units.Size {
	back := l.Back
	if back == 0 {
		back = l.Rate
	}
	waiting := back.Serialisation(l.MTU+l.Overhead) + back.Serialisation(l.Pause+l.Overhead)
	return l.MTU + l.Rate.Volume(2*l.Delay+waiting) + 1 + l.MTU
}

// Ingress accounts the bytes of one lossless class that came in at one port and are in the
// switch: reserved bytes first, then those under the threshold, and headroom from the
// packet on that passes it. It says when the peer is to stop and to go on. The zero value
// with limits is empty.
type Ingress struct {
	Limits   IngressLimits
	reserved units.Size // in use, as are the others
	shared   units.Size
	headroom units.Size
	most     units.Size // headroom
	off      bool
}

// MostHeadroom returns the most bytes of the headroom that were in use.
func (g *Ingress) MostHeadroom() units.Size { return g.most }

// passes reports whether so many shared bytes more would pass the threshold.
func (g *Ingress) passes(m *Memory, more units.Size) bool {
	if m == nil {
		return g.shared+more > g.Limits.XOff
	}
	return more > 0 && (g.shared+more > m.threshold() || m.used+more > m.cfg.Shared)
}

// room returns what is reserved and not in use.
func (g *Ingress) room(m *Memory) units.Size {
	if m == nil {
		return 0
	}
	return m.reserved() - g.reserved
}

// Admit accounts a packet that came in. fits is false if there is no headroom for it: the
// packet is to be dropped. paused is true if the peer is to stop from now on.
func (g *Ingress) Admit(m *Memory, size units.Size) (fits, paused bool) {
	own := min(size, g.room(m))
	if !g.off {
		more := size - own
		if !g.passes(m, more) {
			g.reserved += own
			g.shared += more
			if m != nil {
				m.changeUsed(more)
			}
			return true, false
		}
		g.off, paused = true, true
	}
	if g.headroom+size > g.Limits.Headroom {
		return false, paused
	}
	g.headroom += size
	g.most = max(g.most, g.headroom)
	return true, paused
}

// Release accounts a packet that has left the switch, or was dropped in it. It reports
// whether the peer may go on from now on.
func (g *Ingress) Release(m *Memory, size units.Size) (resumed bool) {
	from := func(part *units.Size) units.Size {
		n := min(size, *part)
		*part -= n
		size -= n
		return n
	}
	from(&g.headroom)
	if n := from(&g.shared); m != nil {
		m.changeUsed(-n)
	}
	from(&g.reserved)
	if g.off && g.headroom == 0 && (g.shared == 0 || g.shared <= g.resume(m)) {
		g.off = false
		return true
	}
	return false
}

// resume returns at how many shared bytes the peer may go on.
func (g *Ingress) resume(m *Memory) units.Size {
	if m == nil {
		return g.Limits.XOn
	}
	return max(0, m.threshold()-(g.Limits.XOff-g.Limits.XOn))
}

// Resume returns how many bytes there may be at most for the peer to go on.
func (g *Ingress) Resume(m *Memory) units.Size { return g.reserved + g.resume(m) }
