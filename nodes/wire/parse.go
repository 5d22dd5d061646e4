package wire

import (
	"encoding/binary"
	"errors"
)

// EtherTypes of tags that Parse steps over.
const (
	etherTypeCTag = 0x8100
	etherTypeSTag = 0x88a8
)

// maxVLANs is how many VLAN tags Parse steps over: an S-tag and a C-tag.
const maxVLANs = 2

// Errors of Parse. A packet that does not parse is dropped and counted; it is
// not an error of the node.
var (
	ErrTruncated = errors.New("wire: truncated frame")
	ErrForeign   = errors.New("wire: not a frame of this transport")
	ErrChecksum  = errors.New("wire: wrong IPv4 header checksum")
	ErrLength    = errors.New("wire: lengths disagree")
)

// Format tells Parse what a fabric's frames look like.
type Format struct {
	Sizes
	TPIDCompact, TPIDWide uint16 // EtherTypes of the CSIG tags; 0 = none
	Elided                bool   // frames end with the transport header
	// Foreign tells that hosts run programs over the kernel's TCP/IP: a frame that
	// is not of our transport is then a packet of kind Foreign and no error.
	Foreign bool
}

// Parse reads a frame, from the destination MAC address to the end of the
// payload, into p: headers are copied, Payload is a slice of the frame (nil when
// elided or empty). It checks every length and the IPv4 checksum. A foreign frame
// is taken whole, whatever it holds. On error p's contents are undefined.
func (p *Packet) Parse(frame []byte, f Format) error {
	at, err := p.stepOver(frame, f)
	if err != nil {
		return p.foreign(frame, at, f, err)
	}
	switch ip := frame[at:]; {
	case !addressed(ip):
		err = ErrForeign
		if len(ip) < IPv4Len+UDPLen {
			err = ErrTruncated
		}
		return p.foreign(frame, at, f, err)
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
		return ErrForeign
	}
	payload := total - IPv4Len - UDPLen - n
	head := at + IPv4Len + UDPLen + n
	if payload < 0 {
		return ErrLength
	}
	end := head + payload
	if f.Elided {
		end = head
	}
	if len(frame) < end {
		return ErrTruncated
	}
	p.l3, p.len = uint8(at), uint8(head)
	copy(p.buf[:head], frame)
	p.PayloadLen, p.Payload = payload, nil
	if end > head {
		p.Payload = frame[head:end]
	}
	p.Size = f.Of(p)
	return nil
}

// ParseForeign reads a frame of a host's programs into p, likewise: it is foreign
// even where it looks like one of our transport, which ForTransport tells.
func (p *Packet) ParseForeign(frame []byte, f Format) error {
	at, _ := p.stepOver(frame, f)
	return p.foreign(frame, at, f, ErrForeign)
}

// stepOver returns the offset behind the EtherType that follows a frame's tags: of
// IPv4, unless it returns an error, too. It notes where the CSIG tag is.
func (p *Packet) stepOver(frame []byte, f Format) (at int, err error) {
	p.tag, p.at, p.family = 0, 0, ours
	at = EthernetLen
	if len(frame) < at {
		return at, ErrTruncated
	}
	for vlans := 0; ; {
		etherType := binary.BigEndian.Uint16(frame[at-2:])
		n, csig := vlanLen, true
		switch {
		case etherType == EtherTypeIPv4:
			return at, nil
		case (etherType == etherTypeCTag || etherType == etherTypeSTag) && vlans < maxVLANs:
			vlans++
			csig = false
		case p.tag == 0 && etherType == f.TPIDCompact && etherType != 0:
			n = 4
		case p.tag == 0 && etherType == f.TPIDWide && etherType != 0:
			n = 8
		default:
			return at, ErrForeign
		}
		if len(frame) < at+n {
			return at, ErrTruncated
		}
		if csig {
			p.tag, p.at = uint8(n), uint8(at-2)
		}
		at += n
	}
}

// addressed tells whether an IPv4 packet, of which ip may be only the beginning,
// is for the transport's port.
func addressed(ip []byte) bool {
	return len(ip) >= IPv4Len+UDPLen && ip[0] == 0x45 && ip[ipProtocol] == protocolUDP && !fragmented(ip) &&
		binary.BigEndian.Uint16(ip[IPv4Len+2:]) == UETPort
}

// fragmented tells whether an IPv4 header is that of a fragment: more fragments
// follow, or the offset is not 0 (RFC 791 §3.1).
func fragmented(ip []byte) bool {
	return binary.BigEndian.Uint16(ip[ipFragment:])&0x3fff != 0
}
