package emu

import (
	"fmt"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// CheckLockstep refuses a node with programs or beside a foreign node. They send at any wall
// time, and model time that does not follow the wall clock would not wait for them.
func (n *Node) CheckLockstep() error {
	if n.Wakes() {
		return fmt.Errorf("emu: node %s: a port leads to programs or a foreign node, which need real time", n.cfg.Name)
	}
	return nil
}

// Start returns the node's first report to the Board of a run in lockstep.
func (n *Node) Start() lockstep.Report { return lockstep.Report{Next: n.Next()} }

// Grant takes from the Board what the next Turn needs to know. The caller holds
// the Board's lock.
func (n *Node) Grant(b *lockstep.Board) {
	for i := range n.ports {
		p := &n.ports[i]
		p.expected, p.credit = b.Count(p.In), b.Credit(p.Out)
	}
}

// Turn is a turn in lockstep, which Grant has prepared: it reads what must be
// read, processes every event before horizon, 0 for none, and puts on the wire
// the frames that they send. It ends early when a link is full. The report is
// valid until the next Turn. A *LinkError names the link that broke the run.
func (n *Node) Turn(horizon units.Time) (lockstep.Report, error) {
	if err := n.read(); err != nil {
		return lockstep.Report{}, err
	}
	n.report.Sent, n.report.Blocked = n.report.Sent[:0], false
	for !n.report.Blocked && n.Next() < horizon {
		if err := n.Step(); err != nil {
			return lockstep.Report{}, err
		}
	}
	if err := n.Flush(); err != nil {
		return lockstep.Report{}, err
	}
	// The report has ports where the Board wants links.
	for i := range n.report.Sent {
		sent := &n.report.Sent[i]
		n.ports[sent.Link].report = -1
		sent.Link = n.ports[sent.Link].Out
	}
	n.report.Next, n.report.Last = n.Next(), n.now
	return n.report, nil
}

// account adds a frame to the report of a turn in lockstep.
func (n *Node) account(at int, arrival units.Time) {
	port := &n.ports[at]
	if port.credit--; port.credit <= 0 {
		n.report.Blocked, n.report.Full = true, port.Out
	}
	if port.report < 0 {
		port.report = len(n.report.Sent)
		n.report.Sent = append(n.report.Sent, lockstep.Sent{Link: at, First: arrival})
	}
	n.report.Sent[port.report].Frames++
}

// receive reads a batch of frames, for which it waits at most so long, and returns how
// many there were.
func (n *Node) receive(wait time.Duration) (int, error) {
	got, err := n.conn.Receive(n.frames, wait)
	if err != nil {
		return 0, n.failed(err)
	}
	for i := range n.frames[:got] {
		if err := n.accept(n.frames[i]); err != nil {
			return 0, err
		}
	}
	return got, nil
}

// read reads until no port lacks a frame.
func (n *Node) read() error {
	var since time.Time
	received := n.counts.Received
	for tries := 0; ; tries++ {
		port := n.lacking()
		if port < 0 {
			if tries == 0 {
				return nil
			}
			// The frames have been copied. Their senders may fill the slots again once this
			// turn is reported.
			_, err := n.conn.Receive(nil, 0)
			if err != nil {
				return n.failed(err)
			}
			return nil
		}
		if n.counts.Received > received { // strays do not count as progress
			received, since, tries = n.counts.Received, time.Time{}, 1
		}
		// The kernel delivers within the sender's system call as a rule. Where it
		// does not, ask again before sleeping.
		wait := time.Duration(0)
		if tries > 3 {
			if since.IsZero() {
				since = time.Now()
			}
			wait = min(n.timeout, 100*time.Millisecond)
		}
		got, err := n.receive(wait)
		if err != nil {
			return err
		}
		if wait == 0 || got > 0 && time.Since(since) < n.timeout {
			continue
		}
		drops, err := n.conn.Drops()
		if err != nil {
			return n.failed(err)
		}
		if drops > 0 {
			return n.broken(port, fmt.Sprintf("did not arrive: %d frames found no room", drops))
		}
		if time.Since(since) >= n.timeout {
			return n.broken(port, fmt.Sprintf("did not arrive within %v", n.timeout))
		}
	}
}

// lacking returns a port with a frame that must be read and has not been, or -1.
func (n *Node) lacking() int {
	for i := range n.ports {
		if n.ports[i].read < n.ports[i].expected {
			return i
		}
	}
	return -1
}

// broken returns the error for the first frame that port lacks.
func (n *Node) broken(port int, reason string) error {
	p := &n.ports[port]
	return &LinkError{Link: p.Link, From: p.Peer, To: n.cfg.Name, Frame: p.read + 1, Reason: reason}
}
