package wire

import (
	"encoding/binary"

	"github.com/csiglab/csiglab/nodes/csig"
)

// family is what Parse could read of a raw frame.
type family uint8

const (
	ours       family = iota // a packet of our transport, no raw frame
	rawIPv4                  // front.L3 is the offset of a whole IPv4 header, with any options
	rawIPv6                  // of a whole IPv6 header
	rawOther                 // of anything
	pauseFrame               // no raw frame either, but one of priority flow control
)

// fcsLen is the length of the frame check sequence, and ipv6Len that of an IPv6
// header (RFC 8200 §3). In bytes.
const (
	fcsLen  = 4
	ipv6Len = 40
)

// Offsets in the IPv6 header.
const (
	ipv6Length     = 4
	ipv6NextHeader = 6
	ipv6HopLimit   = 7
	ipv6Source     = 8
)

// EtherTypes of protocols whose packets hosts answer themselves, or switches read.
const (
	EtherTypeARP  = 0x0806
	EtherTypeIPv6 = 0x86dd
)

// raw takes a frame that is not of our transport, over whose tags walk has
// stepped. In a fabric without raw frames it returns otherwise.
func (p *Packet) raw(frame []byte, f Format, otherwise error) error {
	switch {
	case len(frame) < EthernetLen:
		return ErrTruncated
	case !f.Raw:
		return otherwise
	}
	head := min(len(frame), p.rawHead())
	copy(p.buf[:head], frame)
	p.len = uint8(head)
	p.classify()
	p.PayloadLen, p.Payload = len(frame)-head, nil
	if p.PayloadLen > 0 {
		p.Payload = frame[head:]
	}
	p.Size = f.Of(p)
	return nil
}

// rawHead is how many bytes of a long raw frame are header bytes. All tags that Walk
// steps over are within that; most frames without a load have no more.
func (p *Packet) rawHead() int { return maxUntagged + p.front.Format.Size() }

// classify sets the family of a raw frame and finds its ports.
func (p *Packet) classify() {
	p.family, p.ports = rawOther, 0
	switch h := p.L3(); {
	case p.opaque():
	case p.front.EtherType == EtherTypeIPv4:
		if len(h) < IPv4Len || h[0]>>4 != 4 || int(h[0]&15)*4 < IPv4Len {
			break
		}
		p.family = rawIPv4
		if !fragmented(h) {
			p.findPorts(h, int(h[0]&15)*4, h[ipProtocol])
		}
	case p.front.EtherType == EtherTypeIPv6:
		if len(h) < ipv6Len || h[0]>>4 != 6 {
			break
		}
		p.family = rawIPv6
		p.findPorts(h, ipv6Len, h[ipv6NextHeader])
	}
}

// ParseHead makes p the raw frame of length bytes, the check sequence not counted,
// that begins with head and goes on with zeros, as ParseRaw does. head has
// min(length, MaxHeader) bytes. Payload is nil, also under clocks with real frames:
// the driver of a host fills the zeros in.
func (p *Packet) ParseHead(head []byte, length int, f Format) error {
	if len(head) != min(length, MaxHeader) {
		return ErrTruncated
	}
	if err := p.ParseRaw(head, f); err != nil {
		return err
	}
	p.PayloadLen, p.Payload = length-int(p.len), nil
	p.Size = f.Of(p)
	return nil
}

// SecondTag reports whether the packet has more than one CSIG tag, which only a raw
// frame can have. Tag is the first of them (docs/reference/references.md#hop-update).
func (p *Packet) SecondTag() bool { return p.front.Second }

// RemoveTags removes each CSIG tag of the packet for which remove reports true, the
// second and later ones of a raw frame too, and returns how many it has removed. t are
// the TPIDs of the fabric. What remains is as if it had been parsed without them; the
// caller sets Size.
func (p *Packet) RemoveTags(t csig.TPIDs, remove func(tag []byte) bool) (removed int) {
	if !p.front.Second {
		if tag := p.Tag(); tag != nil && remove(tag) {
			p.StripTag()
			return 1
		}
		return 0
	}
	for kept := 0; ; {
		// Walk finds the first tag: those that stay are hidden from it.
		var seen [MaxHeader]byte
		f, n := p.front, copy(seen[:], p.Header())
		for range kept {
			short, _ := f.Strip(seen[:n]) // f has a tag
			t.Walk(short, &f)             //nolint:errcheck // f is right for what there is
			n = len(short)
		}
		if f.Tag == 0 {
			return removed
		}
		at, size := int(f.Tag)+int(p.len)-n, f.Format.Size()
		if !remove(p.buf[at : at+size]) {
			kept++
			continue
		}
		removed++
		p.cut(at, size)
		t.Walk(p.Header(), &p.front) //nolint:errcheck // likewise
		p.refill()
		p.classify()
	}
}

// cut removes n header bytes.
func (p *Packet) cut(at, n int) {
	copy(p.buf[at:], p.buf[at+n:p.len])
	p.len -= uint8(n)
}

// refill takes from the payload of a raw frame what has become header bytes.
func (p *Packet) refill() {
	n := min(p.rawHead()-int(p.len), p.PayloadLen)
	if n <= 0 {
		return
	}
	room := p.buf[p.len : int(p.len)+n]
	if p.Payload == nil {
		clear(room)
	} else {
		copy(room, p.Payload)
		p.Payload = p.Payload[n:]
	}
	p.len += uint8(n)
	p.PayloadLen -= n
}

// findPorts sets ports to where the ports are in an IP packet h whose header has n bytes.
func (p *Packet) findPorts(h []byte, n int, protocol uint8) {
	switch protocol {
	case protocolTCP, protocolUDP, protocolSCTP:
		if len(h) >= n+4 {
			p.ports = uint8(n)
		}
	}
}

// ForTransport reports whether the packet is one of our transport, or a raw
// frame for the transport's port, which may be a broken packet of ours.
func (p *Packet) ForTransport() bool {
	return p.family == ours || p.family == rawIPv4 && addressed(p.L3())
}

// EtherType returns the EtherType behind the tags: of an untagged packet bytes 12
// and 13.
func (p *Packet) EtherType() uint16 { return p.front.EtherType }

// L3 returns the header bytes behind the EtherType, of the network layer.
func (p *Packet) L3() []byte { return p.buf[p.front.L3:p.len] }

// DestinationHost returns the host that the packet is for, -1 if there can be none.
// Raw frames go by their MAC address, which is the host's in the whole fabric.
func (p *Packet) DestinationHost() int {
	if p.family != ours {
		return HostOfMAC([6]byte(p.buf[0:6]))
	}
	return HostOf(p.Destination())
}

// SourceHost returns the host that the packet comes from, likewise.
func (p *Packet) SourceHost() int {
	if p.family != ours {
		return HostOfMAC([6]byte(p.buf[6:12]))
	}
	return HostOf(p.Source())
}

// AddressHosts writes the MAC addresses of the hosts between which a raw IPv4 packet goes, which a
// router has replaced. Other packets, and addresses of no host, stay as they are.
func (p *Packet) AddressHosts() {
	if p.family != rawIPv4 {
		return
	}
	for at, ip := range [2]uint32{p.Destination(), p.Source()} {
		if host := HostOf(ip); host >= 0 {
			mac := MAC(host, 0)
			copy(p.buf[6*at:], mac[:])
		}
	}
}

// HostOfMAC returns the host whose NIC has the address, -1 if none can have it.
func HostOfMAC(a [6]byte) int {
	if a[0] != 0x02 || a[4] != 0 || a[5] != 0 {
		return -1
	}
	return int(a[1])<<16 | int(a[2])<<8 | int(a[3])
}

// rawECN returns the codepoint of a raw frame that is not IPv4. IPv6 has
// it in the traffic class, between version and flow label (RFC 8200 §3).
func (p *Packet) rawECN() uint8 {
	if p.family != rawIPv6 {
		return NotECT
	}
	return p.buf[p.front.L3+1] >> 4 & 3
}

// rawDSCP is DSCP of a raw frame that is not IPv4.
func (p *Packet) rawDSCP() uint8 {
	if p.family != rawIPv6 {
		return 0
	}
	h := p.buf[p.front.L3:]
	return h[0]&15<<2 | h[1]>>6
}

// markRaw is MarkCE of a raw frame that is not IPv4. The header of IPv6 has
// no checksum, and those of the layers above leave the traffic class out.
func (p *Packet) markRaw() {
	if p.family == rawIPv6 {
		p.buf[p.front.L3+1] |= CE << 4
	}
}

// rawHash is Hash of a raw frame: over the 5-tuple, or what there is of
// it. A fragment has no ports, and neither has IPv6 with extension headers, so that
// all fragments of a packet take one way.
func (p *Packet) rawHash(seed uint64) uint64 {
	var ports uint64
	if p.ports != 0 {
		ports = uint64(p.u32(p.front.L3+p.ports)) << 8
	}
	h := p.buf[p.front.L3:]
	switch p.family {
	case rawIPv4:
		return Mix(binary.BigEndian.Uint64(h[ipSource:])^seed, (ports|uint64(h[ipProtocol]))^golden)
	case rawIPv6:
		a := h[ipv6Source : ipv6Source+32]
		sum := Mix(binary.BigEndian.Uint64(a)^seed, binary.BigEndian.Uint64(a[8:])^golden)
		sum = Mix(sum^binary.BigEndian.Uint64(a[16:]), binary.BigEndian.Uint64(a[24:])^golden)
		return Mix(sum, (ports|uint64(h[ipv6NextHeader]))^golden)
	}
	// The addresses of Ethernet and the EtherType.
	return Mix(binary.BigEndian.Uint64(p.buf[:])^seed, uint64(p.u32(8))<<16|uint64(p.EtherType())^golden)
}
