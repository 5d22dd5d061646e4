package emu

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
)

// Spool is the file in which a node captures the frames of some of its ports.
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

// taps captures the frames of a node, byte for byte as they are on the wire: in
// its spool, and in the pipes of live captures.
type taps struct {
	*Spool               // nil: none
	out    *spool.Writer // nil before the first frame
	err    error         // of opening it
	live   []*spool.Stream
	// frame and trailer are of the frame that is captured, kept for their room.
	frame, trailer []byte
}

// wants reports whether the frames of a port are captured.
func (t *taps) wants(port int) bool {
	if t.Spool != nil {
		if _, ok := t.Places[port]; ok {
			return true
		}
	}
	for _, s := range t.live {
		if s.Port == port {
			return true
		}
	}
	return false
}

// CloseCapture ends the node's part of a capture, if it has any, and returns the
// first error of writing it.
func (n *Node) CloseCapture() error {
	if n.taps == nil {
		return nil
	}
	for _, s := range n.taps.live {
		s.Close()
	}
	n.taps.live = nil
	if n.taps.out == nil {
		return n.taps.err
	}
	return n.taps.out.Close()
}

// spoolReceived captures a frame that the machine is about to get. It has been
// parsed and checked, so that its bytes can be put together again.
func (n *Node) spoolReceived(e event) {
	if !n.taps.wants(int(e.port)) {
		return
	}
	payload := e.packet.Payload
	if payload == nil && !n.cfg.Elide && e.packet.Kind() != wire.Raw {
		payload = payloadOf(e.packet)
	}
	n.taps.trailer = n.taps.trailer[:0]
	if p := &n.ports[e.port]; !p.raw() {
		n.taps.trailer = AppendTrailer(n.taps.trailer, p.receives, e.at, e.sequence)
	}
	n.taps.write(int(e.port), &spool.Record{At: e.at}, e.packet, e.packet.HeaderOnWire(nil, n.cfg.Format.Tunnel), payload, n.taps.trailer)
}

// spoolSent captures the frame that was put into the outbox last.
func (n *Node) spoolSent(d node.Departure) {
	if !n.taps.wants(d.Port) {
		return
	}
	r := &spool.Record{At: n.now, Sent: true}
	if p := d.Packet; !n.cfg.Host {
		r.Queue = &spool.Queue{Ahead: p.Ahead, Behind: p.Behind, Waited: n.now.Sub(p.EnqueuedAt)}
	}
	m := n.outbox.messages[len(n.outbox.messages)-1]
	n.taps.write(d.Port, r, d.Packet, m.Header, m.Payload, m.Trailer)
}

// write adds a record. A frame without its payload ends there, as if the capture
// had cut it: decoders would take the trailer for payload.
func (t *taps) write(port int, r *spool.Record, p *wire.Packet, header, payload, trailer []byte) {
	t.frame = append(append(t.frame[:0], header...), payload...)
	if len(payload) == p.PayloadLen {
		t.frame = append(t.frame, trailer...)
	}
	r.Frame, r.Length = t.frame, max(len(t.frame), len(header)+p.PayloadLen)
	for _, s := range t.live {
		if s.Port == port {
			s.Write(r)
		}
	}
	if t.Spool == nil {
		return
	}
	place, ok := t.Places[port]
	if !ok {
		return
	}
	r.Port = place
	if t.out == nil && t.err == nil {
		t.out, t.err = spool.Create(t.File)
	}
	if t.err == nil {
		t.out.Write(r)
	}
}
