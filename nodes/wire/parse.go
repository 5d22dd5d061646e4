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
	p.tag, p.at, p.family = 0, 0, ours
	if len(frame) < EthernetLen {
		return ErrTruncated
	}
	at, vlans := EthernetLen-2, 0
	for {
		etherType := binary.BigEndian.Uint16(frame[at:])
		tag, next := 0, at+vlanLen
		switch {
		case etherType == EtherTypeIPv4:
			at += 2
		case (etherType == etherTypeCTag || etherType == etherTypeSTag) && vlans < maxVLANs:
			vlans++
			if len(frame) < next+2 {
				return p.foreign(frame, at+2, f, ErrTruncated)
			}
			at = next
			continue
		case p.tag == 0 && etherType == f.TPIDCompact && etherType != 0:
			tag = 4
		case p.tag == 0 && etherType == f.TPIDWide && etherType != 0:
			tag = 8
		default:
			return p.foreign(frame, at+2, f, ErrForeign)
		}
		if tag == 0 {
			break
		}
		if len(frame) < at+tag+2 {
			return p.foreign(frame, at+2, f, ErrTruncated)
		}
		p.tag, p.at = uint8(tag), uint8(at)
		at += tag
	}
	if len(frame) < at+IPv4Len+UDPLen+ControlLen {
		if addressed(frame[at:]) {
			return ErrTruncated
		}
		return p.foreign(frame, at, f, ErrTruncated)
	}
	ip := frame[at:]
	switch {
	case ip[0] != 0x45 || ip[ipProtocol] != protocolUDP || fragmented(ip):
		return p.foreign(frame, at, f, ErrForeign)
	case checksum(ip) != 0:
		if addressed(ip) {
			return ErrChecksum
		}
		return p.foreign(frame, at, f, ErrChecksum)
	case binary.BigEndian.Uint16(ip[IPv4Len+2:]) != UETPort:
		return p.foreign(frame, at, f, ErrForeign)
	}
	total := int(binary.BigEndian.Uint16(ip[ipTotalLen:]))
	if total != IPv4Len+int(binary.BigEndian.Uint16(ip[IPv4Len+4:])) {
		return ErrLength
	}
	n := Kind(ip[IPv4Len+UDPLen] >> 3).headerLen()
	if n == 0 {
		return p.foreign(frame, at, f, ErrForeign)
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
