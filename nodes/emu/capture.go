package emu

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/csiglab/csiglab/metrics/capture/spool"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
)

// Spool tells a node where to put the frames of some of its ports.
type Spool struct {
	File   string      // must not exist; every node has its own
	Places map[int]int // by port: its place in the list of captured ports
}

// Capture is the ports whose frames all nodes of a fabric capture together.
type Capture struct {
	Folder string // for the spools
	Ports  []topologies.End
}

// Spools returns the names of the spools that the nodes leave, in order of the
// nodes. A node that saw no frame leaves none.
func (c Capture) Spools() []string {
	var nodes []int
	for _, end := range c.Ports {
		nodes = append(nodes, end.Node)
	}
	slices.Sort(nodes)
	var names []string
	for _, node := range slices.Compact(nodes) {
		names = append(names, c.spool(node))
	}
	return names
}

func (c Capture) spool(node int) string {
	return filepath.Join(c.Folder, fmt.Sprintf(".capture-%d", node))
}

// of returns the part of a node; nil without one.
func (c Capture) of(node int) *Spool {
	s := &Spool{File: c.spool(node), Places: map[int]int{}}
	for place, end := range c.Ports {
		if end.Node == node {
			s.Places[end.Port] = place
		}
	}
	if len(s.Places) == 0 {
		return nil
	}
	return s
}

// spooled captures the frames of a node, byte for byte as they are on the wire.
type spooled struct {
	*Spool
	out   *spool.Writer // nil before the first frame
	err   error         // of opening it
	frame []byte
}

// CloseCapture ends the node's part of a capture, if it has any, and returns what
// went wrong with it.
func (n *Node) CloseCapture() error {
	switch {
	case n.spool == nil:
		return nil
	case n.spool.out == nil:
		return n.spool.err
	}
	return n.spool.out.Close()
}

// spoolReceived captures a frame that the machine is about to get. It has been
// parsed and checked, so that its bytes can be put together again.
func (n *Node) spoolReceived(e event) {
	place, ok := n.spool.Places[int(e.port)]
	if !ok {
		return
	}
	payload := e.packet.Payload
	if payload == nil && !n.cfg.Elide {
		payload = payloadOf(e.packet)
	}
	n.spool.write(&spool.Record{At: e.at, Port: place}, e.packet, e.packet.Header(), payload,
		appendTrailer(nil, n.cfg.Run, e.at, e.sequence))
}

// spoolSent captures the frame that was put into the outbox last.
func (n *Node) spoolSent(d node.Departure) {
	place, ok := n.spool.Places[d.Port]
	if !ok {
		return
	}
	r := &spool.Record{At: n.now, Port: place, Sent: true}
	if p := d.Packet; !n.cfg.Host {
		r.Queue = &spool.Queue{Ahead: p.Ahead, Behind: p.Behind, Waited: n.now.Sub(p.EnqueuedAt)}
	}
	m := n.outbox.messages[len(n.outbox.messages)-1]
	n.spool.write(r, d.Packet, m.Header, m.Payload, m.Trailer)
}

// write adds a record. A frame without its payload ends there, as if the capture
// had cut it: decoders would take the trailer for payload.
func (s *spooled) write(r *spool.Record, p *wire.Packet, header, payload, trailer []byte) {
	s.frame = append(append(s.frame[:0], header...), payload...)
	if len(payload) == p.PayloadLen {
		s.frame = append(s.frame, trailer...)
	}
	r.Frame, r.Length = s.frame, max(len(s.frame), len(header)+p.PayloadLen)
	if s.out == nil && s.err == nil {
		s.out, s.err = spool.Create(s.File)
	}
	if s.err == nil {
		s.out.Write(r)
	}
}
