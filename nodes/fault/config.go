package fault

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Kind is what a Change changes.
type Kind uint8

// Kinds of change.
const (
	Down       Kind = iota // a link carries nothing
	Loss                   // packets that arrive are lost
	Corruption             // packets that arrive fail the check of their checksum
	Rate                   // the port sends at another rate
	Restart                // a switch loses its queues and its state
	Routes                 // a switch gets other routes; it belongs to no single fault
	Arrival                // the peer of the port sends at another rate
)

var reasons = [Arrival + 1]string{Down: "link down", Loss: "lost on the link", Corruption: "corrupted on the link", Restart: "switch restart"}

// Change is the beginning or the end of a fault at a node, or other routes.
type Change struct {
	At    units.Time
	Kind  Kind
	Begin bool  // the fault begins; false: it ends
	Fault int32 // number of the fault in the run
	Port  int   // not of Restart and Routes

	// Delay, of Down, is the link's. What arrives within it after the end of the fault was
	// on the link before, and is lost.
	Delay units.Duration
	// Rate, of Rate, is what the port has from now on; of Arrival, that of packets whose
	// first bit arrives from now on, which is the link's delay after the Rate of the peer.
	Rate units.Rate
	// Sizes, of Rate and Arrival at a switch, is which sizes the port has from now on: 0: its
	// own; else those of dataplane.Config.Resized, counted from 1.
	Sizes int
	// Share, of Loss and Corruption, is the probability that a packet is dropped, above 0
	// and at most 1.
	Share float64
	// Burst, of Loss and Corruption, is the mean number of packets in a row that are dropped
	// (see newLossy); 0: packets are dropped independently of each other.
	Burst float64
	// Routes, of Routes, are what the switch has from now on.
	Routes topologies.Routes
}

// Config is the faults of one node: plain data.
type Config struct {
	Node    int
	Seed    uint64
	Changes []Change // by At; at one instant in this order
}

// check returns what makes no sense in a configuration.
func (c *Config) check(ports int) error {
	if !slices.IsSortedFunc(c.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) }) {
		return fmt.Errorf("node %d: the changes are not in order of time", c.Node)
	}
	for i := range c.Changes {
		h := &c.Changes[i]
		wrong := ""
		switch {
		case h.Kind > Arrival:
			wrong = fmt.Sprintf("kind %d", h.Kind)
		case h.Port < 0 || h.Port >= ports:
			wrong = fmt.Sprintf("port %d of %d", h.Port, ports)
		case (h.Kind == Rate || h.Kind == Arrival) && h.Rate <= 0:
			wrong = fmt.Sprintf("a rate of %v", h.Rate)
		case h.Begin && (h.Kind == Loss || h.Kind == Corruption) && !(h.Share > 0 && h.Share <= 1):
			wrong = fmt.Sprintf("a share of %v", h.Share)
		case h.Burst != 0 && !(h.Burst >= minBurst(h.Share)) || math.IsInf(h.Burst, 0):
			wrong = fmt.Sprintf("bursts of %v packets", h.Burst)
		default:
			continue
		}
		return fmt.Errorf("node %d: fault %d: %s", c.Node, h.Fault, wrong)
	}
	return nil
}
