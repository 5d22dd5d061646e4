package emu

import (
	"encoding/binary"

	"github.com/csiglab/csiglab/nodes/wire"
)

// Exchange is what a port has sent to a foreign node and got from it.
type Exchange struct{ Sent, Received Sightings }

// Sightings are the frames that crossed a port in one direction. What a foreign node does to tags
// is seen by comparing those that went in with those that came out, for which the nodes at its
// ports choose the same frames (trajectory sampling).
type Sightings struct {
	Tagged int64 // frames with a CSIG tag
	// Mask chooses the frames that are in Seen: those whose key has none of its bits.
	Mask uint64
	// Seen counts the frames by what they are and which tag they had. It has mostSeen entries at
	// most.
	Seen map[Sighting]int64
}

// Sighting is a frame and its tag.
type Sighting struct {
	Key uint64 // what no switch changes: wire.Packet.Key
	Tag uint64 // the octets of its first CSIG tag, padded with zeros; 0 without one
}

// mostSeen bounds the memory of Sightings, to about 1 MiB.
const mostSeen = 16384

// add counts a frame.
func (s *Sightings) add(p *wire.Packet, payload []byte) {
	var tag [8]byte
	if copy(tag[:], p.Tag()) > 0 {
		s.Tagged++
	}
	one := Sighting{Key: p.Key(payload), Tag: binary.BigEndian.Uint64(tag[:])}
	if one.Key&s.Mask != 0 {
		return
	}
	if s.Seen == nil {
		s.Seen = map[Sighting]int64{}
	}
	s.Seen[one]++
	for len(s.Seen) > mostSeen {
		s.thin(s.Mask<<1 | 1)
	}
}

// thin forgets the frames that a mask does not choose.
func (s *Sightings) thin(mask uint64) {
	s.Mask = mask
	for one := range s.Seen {
		if one.Key&mask != 0 {
			delete(s.Seen, one)
		}
	}
}
