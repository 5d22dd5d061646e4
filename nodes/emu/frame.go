package emu

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// A trailer follows the Ethernet payload of each frame: magic 4, mark 4, arrival
// 8, link sequence 8, big endian. It is beyond the IP total length, so that a
// capture decodes as if it were padding.
const (
	trailerMagic = 0xc516_1ab1
	// TrailerLen is how many bytes a frame has beyond its packet's.
	TrailerLen = 24
)

// MaxFrame returns the length of the longest frame of a fabric whose packets carry
// at most so much payload, trailer included.
func MaxFrame(payload units.Size) int { return wire.MaxHeader + int(payload) + TrailerLen }

// shortest is the length to which hardware interfaces pad a frame with zeros (IEEE
// 802.3, 64 B with the frame check sequence). Only a raw frame can be shorter.
const shortest = 60

// findTrailer returns where the trailer of a frame begins, -1 without one.
func findTrailer(frame []byte) int {
	for at := len(frame) - TrailerLen; at >= 0; at-- {
		if binary.BigEndian.Uint32(frame[at:]) == trailerMagic {
			return at
		}
		if len(frame) > shortest || frame[at+TrailerLen-1] != 0 {
			break
		}
	}
	return -1
}

// AppendTrailer appends the trailer of a frame that is the given one of its link's
// direction, counted from 1, and arrives at the given time. mark is the direction's.
func AppendTrailer(b []byte, mark uint32, arrival units.Time, sequence int64) []byte {
	b = binary.BigEndian.AppendUint32(b, trailerMagic)
	b = binary.BigEndian.AppendUint32(b, mark)
	b = binary.BigEndian.AppendUint64(b, uint64(arrival))
	return binary.BigEndian.AppendUint64(b, uint64(sequence))
}

// Trailer is the content of a frame's trailer.
type Trailer struct {
	Mark     uint32     // of the direction of the link
	Arrival  units.Time // at the far end
	Sequence int64      // which frame of the direction, counted from 1
}

// ReadTrailer returns the content of a frame's trailer; ok is false for a frame without one.
func ReadTrailer(frame []byte) (t Trailer, ok bool) {
	_, t, ok = readTrailer(frame)
	return t, ok
}

// readTrailer returns what is before a frame's trailer, and its content; ok is false
// for a frame without a trailer.
func readTrailer(frame []byte) (data []byte, t Trailer, ok bool) {
	at := findTrailer(frame)
	if at < 0 {
		return nil, t, false
	}
	b := frame[at:]
	return frame[:at], Trailer{
		binary.BigEndian.Uint32(b[4:]), units.Time(binary.BigEndian.Uint64(b[8:])), int64(binary.BigEndian.Uint64(b[16:])),
	}, true
}

// Mark returns the mark of the frames of one direction of a run's link. No other run
// and no other direction has it, but for chance.
func Mark(run uint32, channel int) uint32 { return uint32(wire.Mix(uint64(run), uint64(channel))) }

// pattern is the random bytes that payloads are cut from, at an offset computed
// from the flow and the PSN, so that the receiving host knows the right payload.
var pattern = func() []byte {
	b := make([]byte, patternOffsets+1<<16)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}()

const patternOffsets = 1 << 16

// payloadOf returns the payload of a data packet, which is read-only.
func payloadOf(p *wire.Packet) []byte {
	at := wire.Mix(uint64(p.Flow()), uint64(p.PSN())) % patternOffsets
	return pattern[at:][:p.PayloadLen]
}

// zeros are what a raw frame without a payload ends with (wire.Packet.Payload).
var zeros [1 << 16]byte

func samePayload(p *wire.Packet) bool { return bytes.Equal(p.Payload, payloadOf(p)) }

// outbox collects the frames of a turn.
type outbox struct {
	messages []netio.Message
	packets  []*wire.Packet // whose bytes messages refer to
	trailers []byte
	tunnel   *wire.Tunnel // of the fabric
	raw      int          // raw messages to programs and foreign nodes, without a trailer
}

// outboxSize is how many frames go out with one call at most: few enough that a
// full outbox does not overrun the receiver's backlog of 1000.
const outboxSize = 256

func (o *outbox) full() bool { return len(o.packets) >= outboxSize }

func (o *outbox) add(mark uint32, d node.Departure, payload []byte, arrival units.Time, sequence int64, flip bool) {
	if o.trailers == nil {
		o.trailers = make([]byte, 0, outboxSize*TrailerLen) // never moves: messages refer to it
	}
	at := len(o.trailers)
	o.trailers = AppendTrailer(o.trailers, mark, arrival, sequence)
	header := d.Packet.HeaderOnWire(nil, o.tunnel)
	if flip {
		// The last bit of each transport header is reserved, or the least of a number:
		// the packet still parses and only the trace hash shows the change.
		header = bytes.Clone(header)
		header[len(header)-1] ^= 1
	}
	o.messages = append(o.messages, netio.Message{
		Port: d.Port, Header: header, Payload: payload, Trailer: o.trailers[at:],
	})
	o.packets = append(o.packets, d.Packet)
}

// addRaw adds a raw frame, of any length.
func (o *outbox) addRaw(d node.Departure, payload []byte) {
	o.messages = append(o.messages, netio.Message{Port: d.Port, Header: d.Packet.Header(), Payload: payload, Droppable: true})
	o.packets = append(o.packets, d.Packet)
	o.raw++
}

// withdraw takes the last frame off the wire; its packet stays to be recycled.
func (o *outbox) withdraw() { o.messages = o.messages[:len(o.messages)-1] }

func (o *outbox) clear() {
	o.messages, o.packets, o.trailers, o.raw = o.messages[:0], o.packets[:0], o.trailers[:0], 0
}
