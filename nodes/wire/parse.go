package wire

import (
	"encoding/binary"
	"errors"

	"github.com/csiglab/csiglab/nodes/csig"
)

// Errors of Parse. A packet that does not parse is dropped and counted; it is
// not an error of the node.
var (
	ErrTruncated    = errors.New("wire: truncated frame")
	ErrNotTransport = errors.New("wire: not a frame of this transport")
	ErrChecksum     = errors.New("wire: wrong IPv4 header checksum")
	ErrLength       = errors.New("wire: lengths disagree")
	ErrHeaders      = errors.New("wire: no room for headers behind so many tags")
)

// Format is what Parse must know of a fabric's frames.
type Format struct {
	Sizes
	TPIDCompact, TPIDWide uint16 // EtherTypes of the CSIG tags; 0 = none
	Elided                bool   // frames end with the transport header
	// Raw reports that hosts run programs over the kernel's TCP/IP: a frame that
	// is not of our transport is then a packet of kind Raw and no error.
	Raw bool
	// PFC reports that the links have priority flow control: a pause frame is then a
	// packet of kind Pause.
	PFC bool
	// Tunnel is how packets cross the fabric in tunnels; nil: as they are.
	Tunnel *Tunnel
}

// Parse reads a frame, from the destination MAC address to the end of the
// payload, into p: headers are copied, Payload is a slice of the frame (nil when
// elided or empty). It checks every length and the IPv4 checksum. A raw frame
// is taken whole, whatever it holds. On error p's contents are undefined.
func (p *Packet) Parse(frame []byte, f Format) error {
	if f.Tunnel != nil {
		if inner, outer, ok := f.Tunnel.open(frame, &f); ok {
			return p.parseInner(inner, &outer, f)
		}
	}
	p.tunnel = 0
	if err := p.walk(frame, f); err != nil {
		if f.PFC && err == ErrNotTransport && p.front.EtherType == EtherTypeMACControl {
			return p.parsePause(frame, f)
		}
		return p.raw(frame, f, err)
	}
	at := int(p.front.L3)
	switch ip := frame[at:]; {
	case !addressed(ip):
		err := ErrNotTransport
		if len(ip) < IPv4Len+UDPLen {
			err = ErrTruncated
		}
		return p.raw(frame, f, err)
	case len(ip) < IPv4Len+UDPLen+ControlLen:
		return ErrTruncated
	case checksum(ip) != 0:
		return ErrChecksum
	}
	ip := frame[at:]
	total := int(binary.BigEndian.Uint16(ip[ipTotalLen:]))
	if total != IPv4Len+int(binary.BigEndian.Uint16(ip[IPv4Len+4:])) {
		return ErrLength
	}
	n := Kind(ip[IPv4Len+UDPLen] >> 3).headerLen()
	if n == 0 {
		return ErrNotTransport
	}
	payload := total - IPv4Len - UDPLen - n
	head := at + IPv4Len + UDPLen + n
	switch {
	case payload < 0:
		return ErrLength
	case head-p.front.Format.Size() > maxUntagged:
		return ErrHeaders
	}
	end := head + payload
	if f.Elided {
		end = head
	}
	if len(frame) < end {
		return ErrTruncated
	}
	p.len, p.family = uint8(head), ours
	copy(p.buf[:head], frame)
	p.PayloadLen, p.Payload = payload, nil
	if end > head {
		p.Payload = frame[head:end]
	}
	p.Size = f.Of(p)
	return nil
}

// ParseRaw reads a frame of a host's programs into p, likewise: it is a raw frame
// even where it looks like one of our transport, which ForTransport reports.
func (p *Packet) ParseRaw(frame []byte, f Format) error {
	p.tunnel = 0
	p.walk(frame, f) //nolint:errcheck // what it refuses is a raw frame all the same
	return p.raw(frame, f, ErrNotTransport)
}

// walk steps over a frame's tags into p.front, and returns an error unless IPv4
// follows that may be of our transport.
func (p *Packet) walk(frame []byte, f Format) error {
	switch err := (csig.TPIDs{Compact: f.TPIDCompact, Wide: f.TPIDWide}).Walk(frame, &p.front); {
	case err == csig.ErrTruncated:
		return ErrTruncated
	case err != nil || p.front.EtherType != EtherTypeIPv4 || p.opaque():
		return ErrNotTransport
	}
	return nil
}

// opaque reports whether what follows a frame's tags is nothing for switches to
// read or edit: a SecTAG protects it from one end to the other, or it has a second
// CSIG tag (docs/reference/references.md#hop-update).
func (p *Packet) opaque() bool { return p.front.MACsec || p.front.Second }

// addressed reports whether an IPv4 packet, of which ip may be only the beginning,
// is for the transport's port.
func addressed(ip []byte) bool {
	return len(ip) >= IPv4Len+UDPLen && ip[0] == 0x45 && ip[ipProtocol] == protocolUDP && !fragmented(ip) &&
		binary.BigEndian.Uint16(ip[IPv4Len+2:]) == UETPort
}

// fragmented reports whether an IPv4 header is that of a fragment: more fragments
// follow, or the offset is not 0 (RFC 791 §3.1).
func fragmented(ip []byte) bool {
	return binary.BigEndian.Uint16(ip[ipFragment:])&0x3fff != 0
}
