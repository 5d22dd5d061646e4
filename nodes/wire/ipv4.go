package wire

import (
	"encoding/binary"
	"math/bits"
)

// EtherTypeIPv4 is the EtherType of IPv4.
const EtherTypeIPv4 = 0x0800

// ECN codepoints (RFC 3168 §5).
const (
	NotECT = 0
	ECT1   = 1
	ECT0   = 2
	CE     = 3
)

// DSCP values. UEC leaves them to the operator; these are ours.
const (
	DSCPTrimmable      = 10 // data that a switch may trim
	DSCPTrimmed        = 11 // the headers of a trimmed packet
	DSCPTrimmedLastHop = 12 // the same, trimmed by the port that leads to the receiver
	DSCPControl        = 46 // ACK and NACK
)

// TTL that hosts send with.
const initialTTL = 64

// MaxHops is how many switches a packet crosses at most, as each decrements the TTL, and
// drops a packet whose TTL is used up.
const MaxHops = initialTTL - 1

// Offsets in the IPv4 header.
const (
	ipTOS      = 1
	ipTotalLen = 2
	ipIdent    = 4
	ipFragment = 6
	ipTTL      = 8
	ipProtocol = 9
	ipChecksum = 10
	ipSource   = 12
	ipDest     = 16
)

// Protocols whose header begins with two ports.
const (
	protocolTCP  = 6
	protocolUDP  = 17
	protocolSCTP = 132
)

// Source returns the IPv4 address of the sender.
func (p *Packet) Source() uint32 { return p.u32(p.front.L3 + ipSource) }

// Destination returns the IPv4 address of the receiver.
func (p *Packet) Destination() uint32 { return p.u32(p.front.L3 + ipDest) }

// ECN returns the ECN codepoint; NotECT of a packet that is not IP.
func (p *Packet) ECN() uint8 {
	if p.family > rawIPv4 {
		return p.rawECN()
	}
	return p.buf[p.front.L3+ipTOS] & 3
}

// DSCP returns the differentiated services codepoint; 0 of a packet that is not IP.
func (p *Packet) DSCP() uint8 {
	if p.family > rawIPv4 {
		return p.rawDSCP()
	}
	return p.buf[p.front.L3+ipTOS] >> 2
}

// MarkCE sets the ECN codepoint to CE, of a packet that has one.
func (p *Packet) MarkCE() {
	if p.family > rawIPv4 {
		p.markRaw()
		return
	}
	p.setTOS(p.buf[p.front.L3+ipTOS] | CE)
}

// Queues reports whether the packet belongs in the data queue of a switch, where
// packets may be marked, trimmed and dropped, and not in the control queue. Data has the
// DSCP of its class, which is none of ControlDSCP.
func (p *Packet) Queues() bool { return p.family != ours || !ControlDSCP(p.DSCP()) }

// ControlDSCP reports whether the packets of our transport with a DSCP belong in control
// queues: ACKs and NACKs, and the headers of trimmed packets.
func ControlDSCP(dscp uint8) bool {
	const control = 1<<DSCPControl | 1<<DSCPTrimmed | 1<<DSCPTrimmedLastHop
	return uint64(control)>>(dscp&63)&1 != 0
}

// SetDSCP writes the differentiated services codepoint of a packet of our transport.
func (p *Packet) SetDSCP(dscp uint8) { p.setTOS(dscp<<2 | p.ECN()) }

func (p *Packet) setTOS(v uint8) {
	at := p.front.L3 + ipTOS
	p.adjust(uint16(p.buf[at]), uint16(v)) // the version octet shares the word and cancels out
	p.buf[at] = v
}

// Crossed returns how many routers a packet of ours has crossed, by its TTL.
func (p *Packet) Crossed() int { return initialTTL - int(p.buf[p.front.L3+ipTTL]) }

// DecrementTTL decrements the TTL; false means that the TTL is used up and the
// packet must be dropped.
func (p *Packet) DecrementTTL() bool {
	at := p.front.L3 + ipTTL
	if p.buf[at] <= 1 {
		return false
	}
	p.adjust(uint16(p.buf[at])<<8, uint16(p.buf[at]-1)<<8)
	p.buf[at]--
	return true
}

// Via returns the way that a routing policy of the switches gave the packet, 0 for none:
// the identification of IPv4. Only packets of the transport have one.
func (p *Packet) Via() uint16 { return p.u16(p.front.L3 + ipIdent) }

// SetVia gives the packet another way, or takes it away.
func (p *Packet) SetVia(way uint16) {
	at := p.front.L3 + ipIdent
	p.adjust(p.u16(at), way)
	p.put16(at, way)
}

// adjust updates the header checksum for a 16-bit word that changes from old to
// new (RFC 1624 §3, eq. 3).
func (p *Packet) adjust(old, new uint16) {
	at := p.front.L3 + ipChecksum
	sum := uint32(^p.u16(at)) + uint32(^old) + uint32(new)
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	p.put16(at, ^uint16(sum))
}

// Trim cuts the payload, as a switch does instead of dropping. The headers remain,
// with the DSCP of a trimmed packet.
func (p *Packet) Trim(s Sizes, lastHop bool) {
	cut := uint16(p.PayloadLen)
	p.PayloadLen, p.Payload = 0, nil
	length := p.u16(p.front.L3 + ipTotalLen)
	p.adjust(length, length-cut)
	p.put16(p.front.L3+ipTotalLen, length-cut)
	p.put16(p.udp()+4, p.u16(p.udp()+4)-cut)
	dscp := uint8(DSCPTrimmed)
	if lastHop {
		dscp = DSCPTrimmedLastHop
	}
	p.setTOS(dscp<<2 | p.ECN())
	p.Size = s.Of(p)
}

// Trimmed reports whether a switch has cut the payload. No raw frame is ever trimmed,
// whatever its DSCP.
func (p *Packet) Trimmed() bool {
	return p.family == ours && (p.DSCP() == DSCPTrimmed || p.DSCP() == DSCPTrimmedLastHop)
}

// TrimmedLastHop reports whether the port that leads to the receiver did it.
func (p *Packet) TrimmedLastHop() bool { return p.DSCP() == DSCPTrimmedLastHop }

// checksum returns the IPv4 header checksum of h, whose checksum field is zero
// or counted in.
func checksum(h []byte) uint16 {
	var sum uint64
	for i := 0; i < IPv4Len; i += 4 {
		sum += uint64(binary.BigEndian.Uint32(h[i:]))
	}
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	return ^uint16(sum)
}

// putIPv4UDP writes the IPv4 and UDP headers of a packet of the transport, for a
// payload of the given length after them.
func (p *Packet) putIPv4UDP(a Addresses, dscp, ecn uint8, length int) {
	Datagram{
		Source: a.Source, Destination: a.Destination, SourcePort: a.SourcePort, DestinationPort: UETPort,
		DSCP: dscp, ECN: ecn, Length: length,
	}.put(p.buf[p.front.L3:])
}

// Datagram is what the headers of a UDP datagram over IPv4 say.
type Datagram struct {
	Source, Destination         uint32 // IPv4 addresses
	SourcePort, DestinationPort uint16
	DSCP, ECN                   uint8
	Length                      int // of the payload
}

// AppendIPv4UDP appends the headers of a datagram, IPv4Len and UDPLen bytes.
func AppendIPv4UDP(b []byte, d Datagram) []byte {
	var room [IPv4Len + UDPLen]byte
	d.put(room[:])
	return append(b, room[:]...)
}

// put writes the headers. The UDP checksum is 0, which IPv4 allows: a switch that
// trims or a test that elides payloads would break it.
func (d Datagram) put(b []byte) {
	b[0] = 0x45
	b[ipTOS] = d.DSCP<<2 | d.ECN
	binary.BigEndian.PutUint16(b[ipTotalLen:], uint16(IPv4Len+UDPLen+d.Length))
	binary.BigEndian.PutUint32(b[4:], 0x00004000) // identification 0, don't fragment
	b[ipTTL] = initialTTL
	b[ipProtocol] = protocolUDP
	binary.BigEndian.PutUint16(b[ipChecksum:], 0)
	binary.BigEndian.PutUint32(b[ipSource:], d.Source)
	binary.BigEndian.PutUint32(b[ipDest:], d.Destination)
	binary.BigEndian.PutUint16(b[ipChecksum:], checksum(b))
	udp := b[IPv4Len:]
	binary.BigEndian.PutUint16(udp, d.SourcePort)
	binary.BigEndian.PutUint16(udp[2:], d.DestinationPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(UDPLen+d.Length))
	binary.BigEndian.PutUint16(udp[6:], 0)
}

// ValidIPv4 reports whether b begins with an IPv4 header without options whose
// checksum is right.
func ValidIPv4(b []byte) bool { return len(b) >= IPv4Len && b[0] == 0x45 && checksum(b) == 0 }

// SourcePort returns the UDP source port, which carries the entropy value.
func (p *Packet) SourcePort() uint16 { return p.u16(p.udp()) }

// Hash returns a 64-bit hash of the 5-tuple under a seed. It never reads the
// CSIG tag, so that signalling cannot move a packet to another path.
func (p *Packet) Hash(seed uint64) uint64 {
	if p.family != ours {
		return p.rawHash(seed)
	}
	addresses := binary.BigEndian.Uint64(p.buf[p.front.L3+ipSource:])
	ports := uint64(p.u32(p.udp()))<<8 | uint64(p.buf[p.front.L3+ipProtocol])
	return Mix(addresses^seed, ports^golden)
}

// Secrets of Mix and of other hashes by Fold: those of wyhash, odd numbers with as many
// ones as zeros.
const (
	Secret0 = 0xa0761d6478bd642f
	Secret1 = 0xe7037ed1a0b428db
	Secret2 = 0x8ebc6af09c88c6e3
	Secret3 = 0x589965cc75374cc3
)

// golden is 2^64 over the golden ratio, odd.
const golden = 0x9e3779b97f4a7c15

// Mix hashes two words into one by a folded multiplication.
func Mix(a, b uint64) uint64 { return Fold(Fold(a^Secret0, b^Secret1)^Secret2, Secret3) }

// Fold multiplies two words and folds the product into one.
func Fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
