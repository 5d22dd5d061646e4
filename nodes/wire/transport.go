package wire

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// UETPort is the UDP destination port of UET (IANA: uet, 4793).
const UETPort = 4793

// Kind is the type of a transport packet; the numbers are UET's PDS types.
type Kind uint8

// Kinds of packet.
const (
	Data Kind = 2  // RUD request
	Ack  Kind = 9  // acknowledgement with congestion state
	Nack Kind = 10 // negative acknowledgement
	// The rest are ours: a dependency of the workload that crosses hosts, and a
	// packet made to carry a CSIG tag, with its answer.
	Control    Kind = 11
	Probe      Kind = 12
	ProbeReply Kind = 13
	// CNP is the congestion notification packet of DCQCN, from the receiver of a marked
	// packet to its sender. It has the layout of Control.
	CNP Kind = 14
	// Credit is how much a receiver grants, and CreditRequest how much a sender wants, if it
	// has no data packet that may say so. Both have the layout of Control.
	Credit        Kind = 15
	CreditRequest Kind = 16
	// Postcard is a CSIG sample that a switch sends to the fabric's collector, and Weights
	// what a collector sets at a switch, on its way to a host there (telemetry.go).
	Postcard Kind = 17
	Weights  Kind = 18
	// Raw is a frame of another protocol, carried as it is. The number is none
	// of a transport header.
	Raw Kind = 0xff
	// Pause is a frame of priority flow control, which no switch forwards. The number is
	// none of a transport header either.
	Pause Kind = 0xfe
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Data:
		return "data"
	case Ack:
		return "ack"
	case Nack:
		return "nack"
	case Control:
		return "control"
	case Probe:
		return "probe"
	case ProbeReply:
		return "probe reply"
	case CNP:
		return "cnp"
	case Credit:
		return "credit"
	case CreditRequest:
		return "credit request"
	case Postcard:
		return "postcard"
	case Weights:
		return "weights"
	case Raw:
		return "raw"
	case Pause:
		return "pause"
	}
	return "unknown"
}

// headerLen returns the length of the kind's transport header; 0 for an unknown
// kind.
func (k Kind) headerLen() int {
	switch k {
	case Data, Probe:
		return DataLen
	case Ack:
		return AckLen
	case Nack, ProbeReply, Postcard:
		return NackLen
	case Weights:
		return WeightsLen
	case Control, CNP, Credit, CreditRequest:
		return ControlLen
	}
	return 0
}

// Flags of the transport header (7 bits).
type Flags uint8

// Flags. Data carries AckRequest, Retransmit and EndOfMessage; Ack carries
// ECNEcho, RetransmitEcho and HostDelay, Nack ECNEcho.
const (
	AckRequest     Flags = 1 << iota // the sender wants an ACK at once
	Retransmit                       // not the first transmission
	EndOfMessage                     // the last packet of a message; a transfer is one message
	ECNEcho                          // the triggering packet was marked CE
	RetransmitEcho                   // the triggering packet was a retransmission
	HostDelay                        // the ACK has the time that it took its host
)

// Lengths of the transport headers in bytes.
const (
	DataLen    = 16
	AckLen     = 48
	NackLen    = 24
	ControlLen = 16
)

// Nack codes (UET_TRIMMED, UET_TRIMMED_LASTHOP; the last is ours).
const (
	NackTrimmed        = 0x01
	NackTrimmedLastHop = 0x02
	// NackSequence refuses what comes after a hole: the PSN is the one expected, and the
	// transmission is 0, because none of it arrived.
	NackSequence = 0xf0
	// NackPortDown comes from a switch that dropped the packet, because the port that it was
	// for is down.
	NackPortDown = 0xf1
)

// Offsets in the transport header.
const (
	tpType         = 0  // type 5, next header 4, flags 7 bits
	tpAux          = 2  // data: payload length; ack, nack: EV of the trigger
	tpPSN          = 4  // data: PSN; ack: next PSN expected; nack: PSN refused
	tpFlow         = 8  //
	tpTransmission = 12 // data, nack: transmission of the packet, from 1
	tpPullTarget   = 13 // data: of receiver credits, 3 bytes
	tpAcked        = 12 // ack: PSN that triggered it
	tpSackBase     = 16
	tpSackBits     = 20
	tpReceived     = 28
	tpOutOfOrder   = 36
	tpPenalty      = 38
	tpAckEcho      = 39 // hops, and CSIG echo: length of the tag, then the tag without TPID
	tpHostDelay    = 46
	tpNackCode     = 13
	tpNackEcho     = 14
	tpNackLocator  = 22
)

// EchoLen is the longest CSIG echo: a wide tag without its TPID.
const EchoLen = 6

// Addresses are the ends of a flow.
type Addresses struct {
	Source, Destination uint32
	SourcePort          uint16
}

// Build writes Ethernet, IPv4, UDP and the fixed part of the transport header
// of a packet with the given payload length, without a tag, MAC addresses
// unset. The rest of the transport header is zero.
func (p *Packet) Build(a Addresses, kind Kind, flags Flags, ecn uint8, payload int) {
	n, dscp := kind.headerLen(), uint8(DSCPControl)
	if kind == Data || kind == Probe {
		dscp = DSCPTrimmable
	}
	p.front, p.family, p.tunnel = csig.Frame{L3: EthernetLen, EtherType: EtherTypeIPv4}, ours, 0
	p.len = uint8(EthernetLen + IPv4Len + UDPLen + n)
	p.PayloadLen, p.Payload = payload, nil
	binary.BigEndian.PutUint16(p.buf[EthernetLen-2:], EtherTypeIPv4)
	p.putIPv4UDP(a, dscp, ecn, n+payload)
	at := p.l4()
	clear(p.buf[at : int(at)+n])
	p.setType(kind, flags)
}

func (p *Packet) setType(kind Kind, flags Flags) {
	p.put16(p.l4()+tpType, uint16(kind)<<11|uint16(flags))
}

// SetFlags writes the flags.
func (p *Packet) SetFlags(f Flags) { p.buf[p.l4()+tpType+1] = uint8(f) }

// Kind returns the transport packet's type. What the transport header holds must
// not be asked of a raw frame.
func (p *Packet) Kind() Kind {
	if p.family != ours {
		if p.family == pauseFrame {
			return Pause
		}
		return Raw
	}
	return Kind(p.buf[p.l4()+tpType] >> 3)
}

// Flags returns the transport header's flags.
func (p *Packet) Flags() Flags { return Flags(p.buf[p.l4()+tpType+1] & 0x7f) }

// PSN returns the packet sequence number: of data, the one a NACK refuses, or
// the next one that an ACK expects.
func (p *Packet) PSN() uint32 { return p.u32(p.l4() + tpPSN) }

// Flow returns the flow id.
func (p *Packet) Flow() uint32 { return p.u32(p.l4() + tpFlow) }

// Transmission returns which transmission of its PSN a data packet, or the
// packet that a NACK refuses, is, counted from 1; it stops at 255.
func (p *Packet) Transmission() uint8 { return p.buf[p.l4()+tpTransmission] }

// SetData writes the fields of a data packet or a probe.
func (p *Packet) SetData(flow, psn uint32, transmission uint8) {
	at := p.l4()
	p.put16(at+tpAux, uint16(p.PayloadLen))
	p.put32(at+tpPSN, psn)
	p.put32(at+tpFlow, flow)
	p.buf[at+tpTransmission] = transmission
}

// Retarget turns a data packet built for a flow into another of the same
// payload length: flags, source port, PSN and transmission change.
func (p *Packet) Retarget(flags Flags, sourcePort uint16, psn uint32, transmission uint8) {
	at := p.l4()
	p.setType(Data, flags)
	p.put16(p.udp(), sourcePort)
	p.put32(at+tpPSN, psn)
	p.buf[at+tpTransmission] = transmission
}

// CopyHeader makes p, which has no payload, another packet with the headers of template;
// EnqueuedAt stays undefined.
func (p *Packet) CopyHeader(template *Packet) {
	n := int(template.len)
	copy(p.buf[:n], template.buf[:n])
	p.len, p.front = template.len, template.front
	p.family, p.ports, p.tunnel = template.family, template.ports, 0
	p.Size, p.PayloadLen = template.Size, template.PayloadLen
}

// OriginalPayload returns the payload length that a data packet was sent with,
// trimmed or not.
func (p *Packet) OriginalPayload() int { return int(p.u16(p.l4() + tpAux)) }

// EV returns the entropy value that an ACK or NACK echoes.
func (p *Packet) EV() uint16 { return p.u16(p.l4() + tpAux) }

// AckFields are the contents of an ACK besides its flags.
type AckFields struct {
	Flow       uint32
	EV         uint16 // entropy value of the trigger
	Cumulative uint32 // next PSN expected
	Acked      uint32 // PSN that triggered the ACK
	SackBase   uint32 // PSN of the bitmap's lowest bit
	SackBits   uint64
	Received   uint64 // wire bytes of distinct data received, cumulative
	OutOfOrder uint16 // packets held beyond a hole
	Penalty    uint8  // receiver window penalty, 255 = none
}

// SetAck writes the fields of an ACK.
func (p *Packet) SetAck(f AckFields) {
	at := p.l4()
	p.put16(at+tpAux, f.EV)
	p.put32(at+tpPSN, f.Cumulative)
	p.put32(at+tpFlow, f.Flow)
	p.put32(at+tpAcked, f.Acked)
	p.put32(at+tpSackBase, f.SackBase)
	p.put64(at+tpSackBits, f.SackBits)
	p.put64(at+tpReceived, f.Received)
	p.put16(at+tpOutOfOrder, f.OutOfOrder)
	p.buf[at+tpPenalty] = f.Penalty
}

// Ack returns the fields of an ACK.
func (p *Packet) Ack() AckFields {
	at := p.l4()
	b := p.buf[at : int(at)+AckLen]
	return AckFields{
		EV:         binary.BigEndian.Uint16(b[tpAux:]),
		Cumulative: binary.BigEndian.Uint32(b[tpPSN:]),
		Flow:       binary.BigEndian.Uint32(b[tpFlow:]),
		Acked:      binary.BigEndian.Uint32(b[tpAcked:]),
		SackBase:   binary.BigEndian.Uint32(b[tpSackBase:]),
		SackBits:   binary.BigEndian.Uint64(b[tpSackBits:]),
		Received:   binary.BigEndian.Uint64(b[tpReceived:]),
		OutOfOrder: binary.BigEndian.Uint16(b[tpOutOfOrder:]),
		Penalty:    b[tpPenalty],
	}
}

// SetNack writes the fields of a NACK for the given data packet, or of the answer
// to a probe, whose code is 0.
func (p *Packet) SetNack(flow uint32, ev uint16, psn uint32, transmission, code uint8) {
	at := p.l4()
	p.put16(at+tpAux, ev)
	p.put32(at+tpPSN, psn)
	p.put32(at+tpFlow, flow)
	p.buf[at+tpTransmission] = transmission
	p.buf[at+tpNackCode] = code
}

// Returns reports whether a switch may answer a packet that it drops with a NACK: data, and
// what answers data.
func (p *Packet) Returns() bool {
	kind := p.Kind()
	return kind == Data || kind == Ack || kind == Nack && p.NackCode() != NackPortDown
}

// BuildReturn makes p the NACK NackPortDown for a packet that a switch drops, from where it
// was going to its sender, without MAC addresses. The locator is that of the port that is
// down. Of an ACK or a NACK only flow and EV are there.
func (p *Packet) BuildReturn(dropped *Packet, locator uint16, s Sizes) {
	flow := dropped.Flow()
	p.Build(Addresses{Source: dropped.Destination(), Destination: dropped.Source(), SourcePort: SourcePort(flow, 0)}, Nack, 0, NotECT, 0)
	psn, transmission := uint32(0), uint8(0)
	if dropped.Kind() == Data {
		psn, transmission = dropped.PSN(), dropped.Transmission()
	}
	p.SetNack(flow, EntropyOf(flow, dropped.SourcePort()), psn, transmission, NackPortDown)
	p.put16(p.l4()+tpNackLocator, locator)
	p.Size = s.Of(p)
}

// Locator returns the locator of the port that a NACK NackPortDown is from.
func (p *Packet) Locator() uint16 { return p.u16(p.l4() + tpNackLocator) }

// NackCode returns why a NACK was sent.
func (p *Packet) NackCode() uint8 { return p.buf[p.l4()+tpNackCode] }

// SetControl writes a control message: a hit of, or a start by, a trigger of the
// workload. Flow holds the trigger, PSN the code.
func (p *Packet) SetControl(trigger, code uint32) {
	p.put32(p.l4()+tpPSN, code)
	p.put32(p.l4()+tpFlow, trigger)
}

// The byte in front of an echo has the length of the echoed tag in its lowest bits, and
// in an ACK the hops above.
const (
	echoBits = 3
	echoMask = 1<<echoBits - 1
	// MostHops is the largest number of hops that an ACK reports.
	MostHops = 1<<(8-echoBits) - 1
)

// SetEcho copies a tag, TPID included, into the echo of an ACK or NACK; nil
// leaves the echo empty.
func (p *Packet) SetEcho(tag []byte) {
	if len(tag) <= 2 {
		return
	}
	at := p.echoAt()
	p.buf[at] = p.buf[at]&^echoMask | uint8(len(tag)-2)
	copy(p.buf[at+1:], tag[2:])
}

// SetHops writes into an ACK how many switches the packet that triggered it crossed;
// more than MostHops are MostHops.
func (p *Packet) SetHops(n int) {
	at := p.l4() + tpAckEcho
	p.buf[at] = p.buf[at]&echoMask | uint8(min(n, MostHops))<<echoBits
}

// Hops returns what SetHops wrote, 0 if it was not called.
func (p *Packet) Hops() uint8 { return p.buf[p.l4()+tpAckEcho] >> echoBits }

// The time that an ACK takes its host is 16 bits: 4 of an exponent e and 12 of a
// mantissa m, which stand for m * 2^e nanoseconds.
const (
	delayMantissa = 12
	delayExponent = 15
)

// SetHostDelay writes into an ACK the time from the arrival of the packet that triggered
// it to the ACK's departure, and the flag HostDelay. It is rounded to the nanosecond up to
// 4.095 us, to 1/4096 of itself beyond, and 134 ms at most.
func (p *Packet) SetHostDelay(d units.Duration) {
	n := uint64(max(0, d)+units.Nanosecond/2) / uint64(units.Nanosecond)
	e := max(0, bits.Len64(n)-delayMantissa)
	if e > 0 {
		n += 1 << (e - 1)
		e = max(0, bits.Len64(n)-delayMantissa)
	}
	code := uint16(math.MaxUint16)
	if e <= delayExponent {
		code = uint16(e)<<delayMantissa | uint16(n>>e)
	}
	at := p.l4()
	p.buf[at+tpType+1] |= uint8(HostDelay)
	p.put16(at+tpHostDelay, code)
}

// HostDelay returns what SetHostDelay wrote, as it was rounded; false if the ACK has none.
func (p *Packet) HostDelay() (d units.Duration, ok bool) {
	if p.Flags()&HostDelay == 0 {
		return 0, false
	}
	code := p.u16(p.l4() + tpHostDelay)
	return units.Duration(code&(1<<delayMantissa-1)) << (code >> delayMantissa) * units.Nanosecond, true
}

// SetPullTarget writes into a data packet how much its sender wants in all, in quanta, of
// which the packet has room for the last 24 bits.
func (p *Packet) SetPullTarget(n int64) {
	at := p.l4() + tpPullTarget
	p.buf[at], p.buf[at+1], p.buf[at+2] = uint8(n>>16), uint8(n>>8), uint8(n)
}

// PullTargetBeyond returns by how much the pull target of a data packet lies beyond one, or
// before it, which is less than 2^23 quanta away.
func (p *Packet) PullTargetBeyond(n int64) int64 {
	at := p.l4() + tpPullTarget
	v := uint32(p.buf[at])<<16 | uint32(p.buf[at+1])<<8 | uint32(p.buf[at+2])
	return int64(int32((v-uint32(n))<<8) >> 8)
}

// SetPull writes the fields of a credit, or of a request for credit: the last 32 bits of a
// number of quanta, which PSN returns.
func (p *Packet) SetPull(flow, n uint32) {
	p.put32(p.l4()+tpPSN, n)
	p.put32(p.l4()+tpFlow, flow)
}

// SetNotification writes the fields of a CNP.
func (p *Packet) SetNotification(flow uint32) { p.put32(p.l4()+tpFlow, flow) }

// Echo copies the echoed tag, without TPID, into b and returns its length in
// bytes: 0 without an echo, 2 compact, 6 wide.
func (p *Packet) Echo(b *[EchoLen]byte) int {
	at := p.echoAt()
	n := int(p.buf[at] & echoMask)
	if n > EchoLen {
		return 0
	}
	return copy(b[:n], p.buf[at+1:])
}

func (p *Packet) echoAt() uint8 {
	if p.Kind() != Ack {
		return p.l4() + tpNackEcho
	}
	return p.l4() + tpAckEcho
}
