// Package deadlock finds ports that wait for each other for ever. With priority flow
// control a port of a switch stops a class that its peer has paused. The packets that wait
// there fill the switch, which pauses the peers that they came from. When such pauses form
// a circle, none of its ports can ever send.
//
// The package is a pure computation over reports of switches (metrics.Stall). It draws no
// conclusion from time alone: a pause that lasts is no deadlock while something that holds
// it can still move.
package deadlock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Port is a class at an egress port of a switch.
type Port struct{ Node, Port, Class int32 }

// Cycle is a deadlock: each port waits for the next one to send, and the last one for the
// first.
type Cycle struct {
	Ports []Port
	Since units.Time // when the last of them stopped
	Found units.Time
}

// Detector keeps what switches report. It is not safe for concurrent use. Build it with New.
type Detector struct {
	peers  map[[2]int32][2]int32 // of ports: node and port
	stalls map[Port]*metrics.Stall
}

// New returns the detector of a fabric.
func New(links []topologies.Link) *Detector {
	d := &Detector{peers: make(map[[2]int32][2]int32, 2*len(links)), stalls: map[Port]*metrics.Stall{}}
	for _, l := range links {
		a, b := [2]int32{int32(l.A.Node), int32(l.A.Port)}, [2]int32{int32(l.B.Node), int32(l.B.Port)}
		d.peers[a], d.peers[b] = b, a
	}
	return d
}

// Report takes a report of a switch, which is the caller's again afterwards. found is false
// as long as there is no deadlock.
func (d *Detector) Report(s *metrics.Stall) (c Cycle, found bool) {
	at := Port{s.Node, s.Port, s.Class}
	if s.Over {
		delete(d.stalls, at)
		return c, false
	}
	kept := *s
	kept.Held = slices.Clone(s.Held)
	d.stalls[at] = &kept
	stuck := d.stuck()
	if !stuck[at] {
		return c, false // what is new is in every new deadlock
	}
	c = d.cycle(at, stuck)
	c.Found = s.At
	return c, true
}

// stuck returns the ports that can never send if none of them does: the greatest set of
// ports whose peers go on pausing them because of packets in other ports of the set.
func (d *Detector) stuck() map[Port]bool {
	set := make(map[Port]bool, len(d.stalls))
	for p := range d.stalls { // order: of a set
		set[p] = true
	}
	for changed := true; changed; {
		changed = false
		for p := range set { // order: the greatest set is one, whatever goes first
			if !d.waits(p, set) {
				delete(set, p)
				changed = true
			}
		}
	}
	return set
}

// waits reports whether the peer of a port goes on pausing it as long as the ports of a
// set do not send: more bytes that came in from it wait there than it may go on with.
func (d *Detector) waits(p Port, set map[Port]bool) bool {
	var bytes int64
	resume := int64(-1)
	for _, q := range d.holders(p, set) {
		bytes += q.bytes
		resume = max(resume, q.resume)
	}
	return resume >= 0 && bytes > resume
}

// holder is a port that holds packets of another one.
type holder struct {
	Port
	bytes, resume int64
}

// holders returns the ports of a set that hold packets which came from p, those with the
// most bytes first.
func (d *Detector) holders(p Port, set map[Port]bool) (list []holder) {
	peer, ok := d.peers[[2]int32{p.Node, p.Port}]
	if !ok {
		return nil
	}
	for q, s := range d.stalls { // order: sorted below
		if q.Node != peer[0] || q.Class != p.Class || !set[q] {
			continue
		}
		for _, h := range s.Held {
			if h.Port == peer[1] {
				list = append(list, holder{q, h.Bytes, h.Resume})
			}
		}
	}
	slices.SortFunc(list, func(a, b holder) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), compare(a.Port, b.Port)) })
	return list
}

func compare(a, b Port) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Class, b.Class))
}

// cycle follows the holders of a stuck port until one comes again. Every stuck port has a
// stuck holder. The circle begins at its least port.
func (d *Detector) cycle(at Port, stuck map[Port]bool) (c Cycle) {
	seen := map[Port]int{}
	var way []Port
	for {
		if first, ok := seen[at]; ok {
			c.Ports = way[first:]
			break
		}
		seen[at] = len(way)
		way = append(way, at)
		at = d.holders(at, stuck)[0].Port
	}
	least := slices.Index(c.Ports, slices.MinFunc(c.Ports, compare))
	c.Ports = slices.Concat(c.Ports[least:], c.Ports[:least])
	for _, p := range c.Ports {
		c.Since = max(c.Since, d.stalls[p].Since)
	}
	return c
}

// Text describes the deadlock, with the names that the caller has for ports and classes.
func (c *Cycle) Text(port func(node, port int) string, class func(class int) string) string {
	names := make([]string, len(c.Ports))
	for i, p := range c.Ports {
		names[i] = port(int(p.Node), int(p.Port))
	}
	return fmt.Sprintf("the ports %s wait for each other in a circle since %v: each is paused by the switch that the next one belongs to, in class %s",
		strings.Join(names, ", "), units.Duration(c.Since), class(int(c.Ports[0].Class)))
}
