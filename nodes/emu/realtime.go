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
		if !n.ports[i].Application {
			n.ports[i].seen = new(window)
		}
	}
}

// Poll reads frames that have come, at most the given number of batches, and waits
// for none. Raw frames of programs are due at present.
func (n *Node) Poll(present units.Time, batches int) error {
	n.present = present
	for range batches {
		got, err := n.conn.Receive(n.frames, 0)
		if err != nil {
			return n.failed(err)
		}
		for i := range n.frames[:got] {
			if err := n.accept(n.frames[i]); err != nil {
				return err
			}
		}
		if got == 0 {
			return nil
		}
	}
	return nil
}
