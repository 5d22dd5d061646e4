package emu

import "github.com/csiglab/csiglab/units"

// BeginRealTime says to the node, before its first event, that it is driven in real
// time (package wall) and not in lockstep: frames may be lost and come late, and
// links hold any number of frames.
//
// tolerance is how long before the present a frame may have had to arrive, and how much
// later than its link explains. A frame beyond it is a stray.
func (n *Node) BeginRealTime(tolerance units.Duration) {
	n.realTime, n.tolerance = true, tolerance
	for i := range n.ports {
		if !n.ports[i].raw() {
			n.ports[i].seen = new(window)
		}
	}
}

// Poll reads frames that have come, at most the given number of batches, and waits
// for none. Raw frames of programs are due at present.
func (n *Node) Poll(present units.Time, batches int) error {
	n.present = present
	return n.drain(batches)
}

// drain reads frames that have come, at most the given number of batches, and waits for
// none.
func (n *Node) drain(batches int) error {
	for range batches {
		if got, err := n.receive(0); err != nil || got == 0 {
			return err
		}
	}
	return nil
}
