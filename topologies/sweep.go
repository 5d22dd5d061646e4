package topologies

import (
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// sweepWidth is the number of roots of a sweep: one bit each of a word.
const sweepWidth = 64

// sweep finds minimal paths (see search) from several roots at once, which may be
// the same switch. A set of roots is a word with a bit for each, so that a sweep costs
// little more than a search from one root where roots see the fabric alike.
type sweep struct {
	*search
	roots   [sweepWidth]int32 // switches
	settled []uint64          // by switch: roots from which its distance is known
	levels  []*level          // by distance, ascending, of the last search
	free    []*level
	nowhere *level // a level without switches
}

// level is the switches at one distance from some root.
type level struct {
	distance distance
	nodes    []int32  // in the order in which they were found
	front    []uint64 // by switch: the roots from which it has the distance
	// near and far are the levels before it by a link within a pod and by one between
	// pods; nowhere if there is none.
	near, far *level
}

func newSweep(s *search) *sweep {
	switches := len(s.to)
	return &sweep{search: s, settled: make([]uint64, switches), nowhere: &level{front: make([]uint64, switches)}}
}

// run finds the distances from the first count roots.
func (s *sweep) run(count int) {
	s.begin()
	for i := range count {
		s.at(0).add(s.roots[i], 1<<i)
	}
	s.grow()
}

// runFrom finds the distances from sets of switches, each a root: that of the nearest of
// the set.
func (s *sweep) runFrom(sets [][]int32) {
	s.begin()
	for i, set := range sets {
		for _, n := range set {
			s.at(0).add(n, 1<<i)
		}
	}
	s.grow()
}

// begin forgets the last search.
func (s *sweep) begin() {
	clear(s.settled)
	for _, l := range s.levels {
		for _, n := range l.nodes {
			l.front[n] = 0
		}
		l.nodes = l.nodes[:0]
	}
	s.free, s.levels = append(s.free, s.levels...), s.levels[:0]
}

// grow finds the distances from the roots at distance 0.
func (s *sweep) grow() {
	for k := 0; k < len(s.levels); k++ {
		l := s.levels[k]
		found := l.nodes[:0]
		for _, n := range l.nodes { // what is nearer already has another level
			if l.front[n] &^= s.settled[n]; l.front[n] != 0 {
				s.settled[n] |= l.front[n]
				found = append(found, n)
			}
		}
		l.nodes = found
		for _, n := range l.nodes {
			from := l.front[n]
			for _, link := range s.links.of(n) {
				if roots := from &^ s.settled[link.peer]; roots != 0 {
					s.at(l.distance+link.step).add(link.peer, roots)
				}
			}
		}
	}
	for _, l := range s.levels {
		l.near, l.far = s.find(l.distance-1), s.find(l.distance-1-podCrossing)
	}
}

// find returns the level of a distance, nowhere if there is none.
func (s *sweep) find(d distance) *level {
	for _, l := range s.levels {
		if l.distance == d {
			return l
		}
	}
	return s.nowhere
}

// at returns the level of a distance, which may be new.
func (s *sweep) at(d distance) *level {
	i := len(s.levels)
	for i > 0 && s.levels[i-1].distance >= d {
		i--
	}
	if i < len(s.levels) && s.levels[i].distance == d {
		return s.levels[i]
	}
	var l *level
	if n := len(s.free); n > 0 {
		l, s.free = s.free[n-1], s.free[:n-1]
	} else {
		l = &level{front: make([]uint64, len(s.settled))}
	}
	l.distance = d
	s.levels = slices.Insert(s.levels, i, l)
	return l
}

func (l *level) add(n int32, roots uint64) {
	if l.front[n] == 0 {
		l.nodes = append(l.nodes, n)
	}
	l.front[n] |= roots
}

// preceding returns the roots from which the far end of a link of switch n comes right
// before n on a minimal path, where n is at the level.
func (l *level) preceding(link edge, n int32) uint64 {
	before := l.near
	if link.step != 1 {
		before = l.far
	}
	return l.front[n] & before.front[link.peer]
}

// delays computes the largest delay of the minimal paths from the roots: of links, and
// of switches after the first. It calls visit for each switch with the roots from which
// it has the same delay, and the number of links. uniform reports whether all minimal
// paths between the same two switches have the same delay.
func (s *sweep) delays(g *Graph, byNode [][]rootDelay, visit func(n int32, roots uint64, links int, delay units.Duration)) (uniform bool) {
	uniform = true
	for i := range byNode {
		byNode[i] = byNode[i][:0]
	}
	for _, l := range s.levels {
		for _, n := range l.nodes {
			if l.distance == 0 {
				byNode[n] = append(byNode[n], rootDelay{l.front[n], 0})
			}
			for _, link := range s.back.of(n) {
				roots := l.preceding(link, n)
				if roots == 0 {
					continue
				}
				step := g.Links[link.link].Delay + g.Nodes[s.hosts+int(n)].Delay
				for _, from := range byNode[link.peer] {
					if both := from.roots & roots; both != 0 {
						var same bool
						byNode[n], same = raise(byNode[n], rootDelay{both, from.delay + step})
						uniform = uniform && same
					}
				}
			}
			for _, d := range byNode[n] {
				if own := d.roots & l.front[n]; own != 0 {
					visit(n, own, int(l.distance%podCrossing), d.delay)
				}
			}
		}
	}
	return uniform
}

// rootDelay is a delay from some roots.
type rootDelay struct {
	roots uint64
	delay units.Duration
}

// raise makes a delay that of its roots where they have none or a smaller one. same
// reports whether none had another.
func raise(list []rootDelay, d rootDelay) (raised []rootDelay, same bool) {
	same = true
	into := -1
	for i := range list {
		e := &list[i]
		switch both := e.roots & d.roots; {
		case e.delay == d.delay:
			into = i
			d.roots &^= both
		case both == 0:
		case e.delay > d.delay:
			d.roots, same = d.roots&^both, false
		default:
			e.roots, same = e.roots&^both, false
		}
	}
	switch {
	case d.roots == 0:
	case into >= 0:
		list[into].roots |= d.roots
	default:
		list = append(list, d)
	}
	return slices.DeleteFunc(list, func(e rootDelay) bool { return e.roots == 0 }), same
}

// partition splits roots by the ports that lead towards them.
type partition struct {
	classes []rootClass
	spare   []rootClass // whose lists of ports are used again
}

// rootClass is roots that are reached by the same ports.
type rootClass struct {
	roots uint64
	ports []uint16
}

func (p *partition) begin(roots uint64) {
	p.spare = append(p.spare, p.classes...)
	p.classes = p.classes[:0]
	p.add(roots, nil)
}

func (p *partition) add(roots uint64, ports []uint16) *rootClass {
	var c rootClass
	if n := len(p.spare); n > 0 {
		c, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	c.roots, c.ports = roots, append(c.ports[:0], ports...)
	p.classes = append(p.classes, c)
	return &p.classes[len(p.classes)-1]
}

// split adds a port, by which some roots are reached.
func (p *partition) split(roots uint64, port uint16) {
	for i := 0; roots != 0; i++ {
		c := &p.classes[i]
		switch in := c.roots & roots; in {
		case 0:
		case c.roots:
			c.ports = append(c.ports, port)
			roots &^= in
		default:
			c.roots &^= in
			other := p.add(in, c.ports)
			other.ports = append(other.ports, port)
			roots &^= in
		}
	}
}

// trailing returns the number of the lowest root of a set.
func trailing(roots uint64) int { return bits.TrailingZeros64(roots) }
