package conformance_test

import (
	"encoding/binary"
	"slices"

	"github.com/csiglab/csiglab/conformance"
)

// What follows is an encoder of frames that was written from the sources of the rules alone. It
// imports nothing of csiglab's protocols, so that the vectors test these.

// profile is what the bits of tags depend on.
type profile struct {
	draft         bool // dialect draft-01
	compact, wide uint16
}

// part is a piece of a frame between the addresses and the EtherType.
type part struct {
	tag *conformance.Tag
	raw []byte
}

type stack []part

// Types by their numbers.
const (
	abw, share, delay, nqd = 0, 1, 2, 3
	ones                   = 1<<20 - 1
)

// c and w return a compact tag and a wide one.
func c(t, s, lm int) part {
	return part{tag: &conformance.Tag{Format: "compact", Type: t, Signal: s, Locator: lm}}
}

func w(t, s, lm int) part {
	return part{tag: &conformance.Tag{Format: "wide", Type: t, Signal: s, Locator: lm}}
}

// frozen sets the D bit of a tag.
func frozen(p part) part {
	t := *p.tag
	t.D = true
	return part{tag: &t}
}

// reserved sets the reserved bits of a tag.
func reserved(p part, r int) part {
	t := *p.tag
	t.Reserved = r
	return part{tag: &t}
}

func raw(b ...byte) part { return part{raw: b} }

// vlan returns a VLAN tag.
func vlan(tpid, tci uint16) part {
	return raw(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, tpid), tci)...)
}

// secTag returns a SecTAG with the given control bits, and an SCI if bit SC (0x20) is set.
func secTag(control byte) part {
	b := []byte{0x88, 0xe5, control, 0, 0, 0, 0, 9}
	if control&0x20 != 0 {
		b = append(b, 2, 0, 0, 0, 1, 0, 0, 1)
	}
	return raw(b...)
}

// encode returns the octets of a tag: bit 0 is the most significant of the first one.
//
//	compact  0 TPID 15  16 T 18  19 R  20 S 24  25 LM 30  31 D    draft-01: 25 LM 31
//	wide     0 TPID 15  16 LM 30  31 D  32 T 35  36 S 55  56 R 63  draft-01: 16 LM 31
func (p profile) encode(t *conformance.Tag) []byte {
	var b bitString
	locator := func(width int) {
		if p.draft {
			b.add(t.Locator, width+1)
			return
		}
		b.add(t.Locator, width)
		d := 0
		if t.D {
			d = 1
		}
		b.add(d, 1)
	}
	if t.Format == "compact" {
		b.add(int(p.compact), 16)
		b.add(t.Type, 3)
		b.add(t.Reserved, 1)
		b.add(t.Signal, 5)
		locator(6)
		return b.octets()
	}
	b.add(int(p.wide), 16)
	locator(15)
	b.add(t.Type, 4)
	b.add(t.Signal, 20)
	b.add(t.Reserved, 8)
	return b.octets()
}

// bitString is a text of bits, '0' and '1'.
type bitString []byte

func (b *bitString) add(v, width int) {
	if v < 0 || v >= 1<<width {
		panic("a field does not fit")
	}
	for i := width - 1; i >= 0; i-- {
		*b = append(*b, '0'+byte(v>>i&1))
	}
}

func (b bitString) octets() (out []byte) {
	for i := 0; i < len(b); i += 8 {
		v := 0
		for _, bit := range b[i : i+8] {
			v = v*2 + int(bit-'0')
		}
		out = append(out, byte(v))
	}
	return out
}

// hostMAC and hostIP are the addresses of host i.
func hostMAC(i int) []byte { return []byte{2, 0, 0, byte(i), 0, 0} }
func hostIP(i int) []byte  { return []byte{10, 0, 0, byte(i + 1)} }

// frame returns a frame from one host to another. body begins with the EtherType.
func (p profile) frame(from, to int, s stack, body []byte) conformance.Frame {
	return p.between(hostMAC(from), hostMAC(to), s, body)
}

func (p profile) between(source, destination []byte, s stack, body []byte) (f conformance.Frame) {
	f.Bytes = slices.Concat(destination, source)
	for _, x := range s {
		if x.tag != nil {
			f.Bytes = append(f.Bytes, p.encode(x.tag)...)
			f.Tags = append(f.Tags, *x.tag)
		}
		f.Bytes = append(f.Bytes, x.raw...)
	}
	f.Bytes = append(f.Bytes, body...)
	return f
}

// length returns how many octets a stack has.
func (p profile) length(s stack) int {
	return len(p.between(nil, nil, s, nil).Bytes)
}

// counting returns n octets 1, 2, ….
func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// ipv4 returns an EtherType and an IPv4 packet.
func ipv4(from, to int, tos, ttl, protocol byte, payload []byte) []byte {
	n := 20 + len(payload)
	h := slices.Concat([]byte{0x45, tos, byte(n >> 8), byte(n), 0, 0, 0x40, 0, ttl, protocol, 0, 0}, hostIP(from), hostIP(to))
	sum := 0
	for i := 0; i < len(h); i += 2 {
		sum += int(h[i])<<8 | int(h[i+1])
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	h[10], h[11] = byte(^sum>>8), byte(^sum)
	return slices.Concat([]byte{8, 0}, h, payload)
}

// udp returns a UDP datagram without a checksum.
func udp(source, destination uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, source)
	b = binary.BigEndian.AppendUint16(b, destination)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return slices.Concat(b, []byte{0, 0}, payload)
}

// plain returns a body of n octets: an IPv4 packet of UDP to the port discard.
func plain(from, to, n int) []byte {
	return ipv4(from, to, 0, 64, 17, udp(40000, 9, counting(n-30)))
}

// transported returns a body with a data packet of the transport (docs/reference/wire.md), of which
// the payload may be cut.
func transported(from, to int, dscp, ttl byte, flags byte, psn, payload int, cut bool) []byte {
	h := []byte{2 << 3, flags}
	h = binary.BigEndian.AppendUint16(h, uint16(payload))
	h = binary.BigEndian.AppendUint32(h, uint32(psn))
	h = append(h, 0, 0, 0, 7, 1, 0, 0, 0)
	if !cut {
		h = append(h, counting(payload)...)
	}
	return ipv4(from, to, dscp<<2|2, ttl, 17, udp(50000, 4793, h))
}

// tunnelled returns a body with VXLAN (RFC 7348) around a frame.
func tunnelled(from, to int, inner []byte) []byte {
	return ipv4(from, to, 0, 64, 17, udp(50001, 4789, slices.Concat([]byte{8, 0, 0, 0, 0, 0, 42, 0}, inner)))
}
