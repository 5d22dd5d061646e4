package node

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Event is what happened to a packet at a port.
type Event uint8

// Events of a trace. The time of Received is when the last bit arrived, that of
// Sent when the first bit left.
const (
	Received Event = 1
	Sent     Event = 2
)

// Trace folds the events of one node into a hash. Two runs in which the node
// saw and sent the same packets, header byte for header byte, at the same
// instants have the same sum, and no others in practice: nobody is expected to look for
// two that collide.
//
// Header bytes, which hold the packet's identity (flow, PSN, kind,
// transmission), enter as their XXH3 digest. An event then is three words, which enter
// a state of 128 bits by two folded multiplications, as in wyhash. Every packet-hop
// takes this path twice, so that the time it takes counts.
//
// The zero value is empty.
type Trace struct {
	low, high uint64
	events    int64
}

// Digest is what the header bytes of a packet enter a trace as.
func Digest(p *wire.Packet) uint64 { return xxh3.Hash(p.Header()) }

// Add appends an event of a packet with the given Digest and wire size.
func (t *Trace) Add(now units.Time, port int, event Event, digest uint64, size units.Size) {
	rest := uint64(uint32(size)) | uint64(port)<<32 | uint64(event)<<48
	t.low = wire.Fold(t.low^uint64(now)^wire.Secret0, digest^wire.Secret1)
	t.high = wire.Fold(t.high^rest^wire.Secret2, digest^t.low^wire.Secret3)
	t.events++
}

// Events returns the number of events added.
func (t *Trace) Events() int64 { return t.events }

// Sum returns the hash of the events so far.
func (t *Trace) Sum() [32]byte {
	b := binary.LittleEndian.AppendUint64(nil, t.low)
	b = binary.LittleEndian.AppendUint64(b, t.high)
	return sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(t.events)))
}
