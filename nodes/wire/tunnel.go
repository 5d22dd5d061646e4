package wire

import (
	"encoding/binary"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Tunnel is what the frames of a fabric with VXLAN tunnels (RFC 7348) need besides their packets.
// A machine knows a packet in a tunnel as the inner packet, which is longer by TunnelLen: switches
// see the same DSCP, ECN codepoint and TTL in the outer header, and as much about the flow. The end
// of the tunnel copies the three to the inner header (RFC 2983 §3.1, RFC 6040, RFC 3443 §3.1), so that
// hosts know marks, trims and hops. On a link and in a capture the frame has both headers.
type Tunnel struct {
	VNI  uint32
	Ends []int32 // by host: the switch at which tunnels to it end and from it begin
}

// VXLANPort is the UDP destination port of VXLAN (IANA), and TunnelLen what a tunnel adds to a
// packet, in bytes: IPv4, UDP, VXLAN and the addresses and EtherType of the inner frame.
const (
	VXLANPort = 4789
	TunnelLen = outerLen + EthernetLen

	vxlanLen   = 8
	vxlanValid = 0x08 // the flag of a VNI
	outerLen   = IPv4Len + UDPLen + vxlanLen
	dontFrag   = 0x4000
)

// Tunnelled returns what the frames of a fabric are longer by at most than their packets out of
// tunnels.
func (f *Format) Tunnelled() units.Size {
	if f.Tunnel == nil {
		return 0
	}
	return TunnelLen
}

// tunnelled says how a packet is in a tunnel; 0: it is in none. The lower two bits are the ECN
// codepoint of the inner header.
type tunnelled uint8

const (
	innerECN  tunnelled = 3
	inTunnel  tunnelled = 4
	tagInside tunnelled = 8 // the CSIG tag is the inner frame's
)

// InTunnel reports whether the packet is in a tunnel.
func (p *Packet) InTunnel() bool { return p.tunnel != 0 }

// HiddenTag returns the CSIG tag that a tunnel hides, nil without one.
func (p *Packet) HiddenTag() []byte {
	if p.tunnel&tagInside == 0 {
		return nil
	}
	return p.CarriedTag()
}

// EnterTunnel puts a packet that is in none into a tunnel. Its CSIG tag moves to the outer header
// if moves says so, and stays with the inner one otherwise, as several tags do. The caller sets Size.
func (p *Packet) EnterTunnel(moves bool) {
	p.tunnel = inTunnel | tunnelled(p.ECN())
	if p.front.Tag != 0 && (!moves || p.front.Second) {
		p.tunnel |= tagInside
	}
	if p.family == ours {
		p.innerTTL = p.buf[p.front.L3+ipTTL]
	}
}

// LeaveTunnel takes a packet out of its tunnel, and returns whether a tag was lost: one of the
// outer header goes with that, unless it moves back. The caller sets Size.
func (p *Packet) LeaveTunnel(moves bool) (lost bool) {
	lost = !moves && p.Tag() != nil
	if lost {
		p.StripTag()
	}
	p.tunnel = 0
	return lost
}

func (p *Packet) setTTL(v uint8) {
	at := p.front.L3 + ipTTL
	p.adjust(uint16(p.buf[at])<<8, uint16(v)<<8)
	p.buf[at] = v
}

// HeaderOnWire returns the headers of the packet as its frame has them: Header, or in a tunnel
// those of both frames, in the room of b, which may be nil. It is valid until b or the packet changes.
func (p *Packet) HeaderOnWire(b []byte, t *Tunnel) []byte {
	if p.tunnel == 0 {
		return p.Header()
	}
	inner := *p
	inner.tunnel = 0
	tag := p.Tag()
	if tag != nil {
		inner.StripTag()
	}
	from, to := t.end(p.SourceHost()), t.end(p.DestinationHost())
	macs := NewMACs(MAC(to, 0), MAC(from, 0))
	ttl := uint8(initialTTL)
	if p.family == ours {
		macs = MACs(p.buf[:12])
		inner.SetMACs(MAC(p.DestinationHost(), 0), MAC(p.SourceHost(), 0))
		ttl = p.buf[p.front.L3+ipTTL]
		inner.setTTL(p.innerTTL)
	}
	if was := uint8(p.tunnel & innerECN); p.family <= rawIPv4 && was != p.ECN() {
		inner.setTOS(p.DSCP()<<2 | was)
	}
	b = append(append(slices.Grow(b[:0], MaxHeader+TunnelLen), macs[:]...), tag...)
	b = binary.BigEndian.AppendUint16(b, EtherTypeIPv4)
	b = appendOuter(b, p.DSCP()<<2|p.ECN(), ttl, from, to, int(inner.len)+p.PayloadLen, p.Hash(0))
	b = append(b, vxlanValid, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, t.VNI<<8)
	return append(b, inner.Header()...)
}

// appendOuter appends the outer IPv4 and UDP headers before a frame of length bytes. The hash of
// the packet chooses the source port, so that the outer header says as much about the flow.
func appendOuter(b []byte, tos, ttl uint8, from, to, length int, hash uint64) []byte {
	at := len(b)
	b = append(b, 0x45, tos)
	b = binary.BigEndian.AppendUint16(b, uint16(outerLen+length))
	b = binary.BigEndian.AppendUint32(b, dontFrag)
	b = append(b, ttl, protocolUDP, 0, 0)
	b = binary.BigEndian.AppendUint32(b, HostIP(from))
	b = binary.BigEndian.AppendUint32(b, HostIP(to))
	binary.BigEndian.PutUint16(b[at+ipChecksum:], checksum(b[at:]))
	b = binary.BigEndian.AppendUint16(b, EntropyBase+uint16(hash%EntropyRange))
	b = binary.BigEndian.AppendUint16(b, VXLANPort)
	b = binary.BigEndian.AppendUint16(b, uint16(outerLen-IPv4Len+length))
	return append(b, 0, 0) // no checksum, as RFC 7348 has it
}

// end returns the switch at which tunnels to a host end, -1 for what is no host.
func (t *Tunnel) end(host int) int {
	if host < 0 || host >= len(t.Ends) {
		return -1
	}
	return int(t.Ends[host])
}

// outer is what a frame's outer headers say.
type outer struct {
	macs     MACs
	tag      []byte
	tos, ttl uint8
}

// open returns the inner frame of one in a tunnel of the fabric. Programs cannot send such frames:
// they know no switch's address.
func (t *Tunnel) open(frame []byte, f *Format) (inner []byte, o outer, ok bool) {
	var front Packet
	if front.walk(frame, *f) != nil {
		return nil, o, false
	}
	at := int(front.front.L3)
	ip := frame[at:]
	if len(ip) < outerLen+EthernetLen || ip[0] != 0x45 || ip[ipProtocol] != protocolUDP || binary.BigEndian.Uint16(ip[IPv4Len+2:]) != VXLANPort {
		return nil, o, false
	}
	vxlan := ip[IPv4Len+UDPLen:]
	if HostOf(binary.BigEndian.Uint32(ip[ipDest:])) < len(t.Ends) || vxlan[0] != vxlanValid || binary.BigEndian.Uint32(vxlan[4:])>>8 != t.VNI || checksum(ip) != 0 {
		return nil, o, false
	}
	o = outer{macs: MACs(frame[:12]), tos: ip[ipTOS], ttl: ip[ipTTL]}
	if n := front.front.Format.Size(); n > 0 {
		o.tag = frame[front.front.Tag:][:n]
	}
	return ip[outerLen:], o, true
}

// parseInner makes p the packet of an inner frame, with what the outer headers say.
func (p *Packet) parseInner(inner []byte, o *outer, f Format) error {
	f.Tunnel = nil // there is one
	if err := p.Parse(inner, f); err != nil {
		return err
	}
	p.tunnel = inTunnel | tunnelled(p.ECN())
	switch {
	case o.tag == nil && p.front.Tag != 0:
		p.tunnel |= tagInside
	case o.tag != nil && p.front.Tag != 0:
		return ErrHeaders // none of ours has two: what moves is the only one
	case o.tag != nil:
		copy(p.InsertTag(len(o.tag)), o.tag)
	}
	if p.family == ours {
		p.CopyMACs(&o.macs)
		p.innerTTL = p.buf[p.front.L3+ipTTL]
		p.setTTL(o.ttl)
	}
	if o.tos&3 == CE && p.ECN() != NotECT {
		p.MarkCE()
	}
	p.Size = f.Of(p)
	return nil
}
