package wire

import (
	"encoding/binary"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// A priority flow control frame (IEEE 802.1Q §36.2, IEEE 802.3 Annex 31D): a MAC control
// frame of 64 B with the frame check sequence, whose sender asks its peer on the link to
// stop some priorities for some time. It never leaves the link.
const (
	EtherTypeMACControl = 0x8808
	pauseOpcode         = 0x0101

	// PauseSize is the wire size of a pause frame, the check sequence included.
	PauseSize = 64 * units.Byte

	// Priorities is the number of priorities that a pause frame can name.
	Priorities = 8

	// PauseQuantum is the unit of a pause frame's timers, in bits on the line.
	PauseQuantum = 512
	// MaxPause is the longest timer.
	MaxPause = 0xffff
)

// Offsets in a pause frame.
const (
	pauseOpcodeAt = 14
	pauseVectorAt = 16
	pauseTimersAt = 18
	pauseLen      = 60 // without the check sequence; zeros behind the timers
)

// pauseAddress is the multicast address that bridges do not forward.
var pauseAddress = [6]byte{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}

// PauseFields are the contents of a pause frame: which priorities it names, bit p for
// priority p, and for how many quanta of each its receiver stops sending. 0 quanta of a
// priority that is named: it may go on.
type PauseFields struct {
	Vector uint8
	Timers [Priorities]uint16
}

// BuildPause makes p a pause frame from the port with the given address.
func (p *Packet) BuildPause(source [6]byte, f PauseFields, s Sizes) {
	clear(p.buf[:pauseLen])
	p.SetMACs(pauseAddress, source)
	binary.BigEndian.PutUint16(p.buf[EthernetLen-2:], EtherTypeMACControl)
	binary.BigEndian.PutUint16(p.buf[pauseOpcodeAt:], pauseOpcode)
	binary.BigEndian.PutUint16(p.buf[pauseVectorAt:], uint16(f.Vector))
	for i, quanta := range f.Timers {
		binary.BigEndian.PutUint16(p.buf[pauseTimersAt+2*i:], quanta)
	}
	p.becomePause(s)
}

// becomePause sets what is derived from the header bytes of a pause frame.
func (p *Packet) becomePause(s Sizes) {
	p.front = csig.Frame{L3: EthernetLen, EtherType: EtherTypeMACControl}
	p.len, p.family, p.ports, p.tunnel = pauseLen, pauseFrame, 0, 0
	p.PayloadLen, p.Payload = 0, nil
	p.Size = s.Of(p)
}

// parsePause is Parse of a MAC control frame.
func (p *Packet) parsePause(frame []byte, f Format) error {
	switch {
	case len(frame) < pauseLen:
		return ErrTruncated
	case [6]byte(frame[:6]) != pauseAddress || binary.BigEndian.Uint16(frame[pauseOpcodeAt:]) != pauseOpcode:
		return ErrNotTransport
	}
	copy(p.buf[:pauseLen], frame)
	p.becomePause(f.Sizes)
	return nil
}

// Pause returns the fields of a pause frame.
func (p *Packet) Pause() PauseFields {
	f := PauseFields{Vector: uint8(binary.BigEndian.Uint16(p.buf[pauseVectorAt:]))}
	for i := range f.Timers {
		f.Timers[i] = binary.BigEndian.Uint16(p.buf[pauseTimersAt+2*i:])
	}
	return f
}

// Pauses reports whether p is a pause frame.
func (p *Packet) Pauses() bool { return p.family == pauseFrame }
