package emu

import (
	"encoding/binary"
	"testing"

	"github.com/csiglab/csiglab/nodes/wire"
)

// Two ends that see the same frames in another order keep the same ones, within their bound, also if
// one of them has seen fewer.
func TestSightingsKeepTheSameFrames(t *testing.T) {
	var p wire.Packet
	frame := make([]byte, 64)
	frame[12], frame[13] = 0x90, 0
	var before, after Sightings
	see := func(s *Sightings, i int) {
		binary.BigEndian.PutUint32(frame[20:], uint32(i))
		if err := p.ParseRaw(frame, wire.Format{Raw: true, TPIDCompact: 0x88b5, TPIDWide: 0x88b6}); err != nil {
			t.Fatal(err)
		}
		s.add(&p, p.Payload)
	}
	const sent, came = 10 * mostSeen, 3 * mostSeen
	for i := range sent {
		see(&before, i)
	}
	for i := range came {
		see(&after, came-1-i)
	}
	if n := len(before.Seen); n > mostSeen || n < mostSeen/4 || before.Mask <= after.Mask {
		t.Fatalf("%d frames are kept, by mask %x; of fewer by %x", n, before.Mask, after.Mask)
	}
	kept := 0
	for one, n := range after.Seen {
		if one.Key&before.Mask != 0 {
			continue
		}
		kept++
		if before.Seen[one] != n {
			t.Fatalf("frame %x was seen %d times behind and %d times before", one.Key, n, before.Seen[one])
		}
	}
	if share := float64(kept) / float64(len(before.Seen)); share < 0.25 || share > 0.35 {
		t.Errorf("%d of %d kept frames came, of %d of %d", kept, len(before.Seen), came, sent)
	}
}
