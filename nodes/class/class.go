// Package class is what hosts and switches have in common about data classes: which
// packets belong to which class, the order in which a port serves its classes, and what a
// port may not send because its peer has paused it. It holds no packet and no clock;
// machines of nodes/host and nodes/switch drive it.
package class

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Max is the number of data classes that a fabric may have. Class i is priority i of
// priority flow control; the last priority is that of control packets, which nobody
// pauses.
const Max = wire.Priorities - 1

// Default is the class of packets whose DSCP no class has.
const Default = 0

// Class is one data class. Classes are numbered as in their list, the default class
// first.
type Class struct {
	Name string
	DSCP uint8 // of its packets
	// Strict classes go before all others, in the order of Order. The others share what
	// they leave by weight.
	Strict   bool
	Order    int // among strict classes: lower goes first
	Weight   int // of the others, from 1
	Lossless bool
}

// Map is the class of each DSCP.
type Map [64]uint8

// NewMap returns the map of a list of classes. Other DSCPs are those of class Default.
func NewMap(list []Class) (m Map) {
	for i, c := range list {
		m[c.DSCP] = uint8(i)
	}
	return m
}

// Lossless returns the set of lossless classes, bit i for class i.
func Lossless(list []Class) (set uint8) {
	for i, c := range list {
		if c.Lossless {
			set |= 1 << i
		}
	}
	return set
}

// Check returns an error that names what makes no sense in a list of classes.
func Check(list []Class) error {
	if len(list) < 1 || len(list) > Max {
		return fmt.Errorf("%d classes; want 1 to %d", len(list), Max)
	}
	dscps := map[uint8]string{}
	for _, c := range list {
		switch other, taken := dscps[c.DSCP]; {
		case c.DSCP > 63 || wire.ControlDSCP(c.DSCP):
			return fmt.Errorf("class %s: DSCP %d is none for data", c.Name, c.DSCP)
		case taken:
			return fmt.Errorf("class %s: DSCP %d is that of class %s", c.Name, c.DSCP, other)
		case !c.Strict && c.Weight < 1:
			return fmt.Errorf("class %s: a weight of %d; want 1 or more", c.Name, c.Weight)
		}
		dscps[c.DSCP] = c.Name
	}
	return nil
}

// Scheduler chooses the class that a port serves next: strict classes first, and deficit
// round robin among the others (Shreedhar and Varghese, SIGCOMM 1995): a class whose turn
// it is may send as many bytes as its deficit, to which a quantum in proportion to its
// weight is added at each turn; what it does not use stays for its next turn, unless it
// has nothing to send. Build it with NewScheduler.
type Scheduler struct {
	strict   []uint8 // classes in order of service
	weighted []uint8
	quantum  [Max]units.Size
	deficit  [Max]units.Size
	turn     int  // index in weighted of the class whose turn it is
	under    bool // the class whose turn it is has had its quantum
}

// NewScheduler returns the scheduler of a port. quantum is that of weight 1: with that of
// a full packet or more each turn sends at least one.
func NewScheduler(list []Class, quantum units.Size) Scheduler {
	var s Scheduler
	for order := range len(list) {
		for i, c := range list {
			if c.Strict && c.Order == order {
				s.strict = append(s.strict, uint8(i))
			}
		}
	}
	for i, c := range list {
		if !c.Strict {
			s.weighted = append(s.weighted, uint8(i))
			s.quantum[i] = units.Size(c.Weight) * max(quantum, 1)
		}
	}
	return s
}

// Heads are the sizes of the packets that the classes would send next; 0 of a class that
// has nothing to send or must not send now.
type Heads [Max]units.Size

// Next returns the class that sends its packet now, -1 if none can. The caller sends it.
func (s *Scheduler) Next(heads *Heads) int {
	for _, c := range s.strict {
		if heads[c] > 0 {
			return int(c)
		}
	}
	any := false
	for _, c := range s.weighted {
		if heads[c] == 0 {
			s.deficit[c] = 0
		}
		any = any || heads[c] > 0
	}
	if !any {
		s.under = false
		return -1
	}
	for { // ends: every round adds to the deficit of a class with a packet
		c := s.weighted[s.turn]
		if heads[c] > 0 {
			if !s.under {
				s.deficit[c] += s.quantum[c]
				s.under = true
			}
			if heads[c] <= s.deficit[c] {
				s.deficit[c] -= heads[c]
				return int(c)
			}
		}
		s.turn, s.under = (s.turn+1)%len(s.weighted), false
	}
}
