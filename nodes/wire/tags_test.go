package wire_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/wire"
)

// stackedFrame returns a frame of UDP with the given tags and its length, tags
// chosen from: compact and wide CSIG tags of types 0 to 3, VLAN tags.
func stackedFrame(tags []byte, length int) (frame []byte, isTag [][2]int) {
	destination, source := wire.MAC(9, 0), wire.MAC(3, 0)
	frame = append(destination[:], source[:]...)
	for i, t := range tags {
		at := len(frame)
		switch t % 4 {
		case 0:
			frame = binary.BigEndian.AppendUint16(frame, tpidCompact)
			frame = binary.BigEndian.AppendUint16(frame, uint16(i%4)<<13)
			isTag = append(isTag, [2]int{at, 4})
		case 1:
			frame = binary.BigEndian.AppendUint16(frame, tpidWide)
			frame = append(frame, 0, 0, byte(i%4)<<4, 0, 0, 0)
			isTag = append(isTag, [2]int{at, 8})
		default:
			frame = append(frame, 0x81, 0, 0, byte(i))
		}
	}
	frame = binary.BigEndian.AppendUint16(frame, wire.EtherTypeIPv4)
	frame = wire.AppendIPv4UDP(frame, wire.Datagram{Source: wire.HostIP(3), Destination: wire.HostIP(9), SourcePort: 50000, DestinationPort: 9, Length: length})
	for end := len(frame) + length; len(frame) < end; {
		frame = append(frame, byte(len(frame)))
	}
	return frame, isTag
}

// A frame whose tags are removed is the frame that was sent without them: the parser
// that reads its bytes at the next hop sees the same packet, header bytes, ports and
// size, whichever tags are removed.
func TestRemoveTags(t *testing.T) {
	r, seed := random()
	tpids := csig.TPIDs{Compact: tpidCompact, Wide: tpidWide}
	for range 5000 {
		tags := make([]byte, r.IntN(9))
		for i := range tags {
			tags[i] = byte(r.IntN(4))
		}
		frame, places := stackedFrame(tags, r.IntN(300))
		f := open
		f.CountTag = r.IntN(2) == 0
		var p wire.Packet
		if err := p.Parse(frame, f); err != nil {
			t.Fatalf("seed %d: %x: %v", seed, frame, err)
		}
		if p.SecondTag() != (len(places) > 1) {
			t.Errorf("seed %d: %x: second tag %v", seed, frame, p.SecondTag())
		}
		zero := p.PayloadLen > 0 && r.IntN(2) == 0 // as in virtual time, where a nil payload is zeros
		if zero {
			clear(frame[len(p.Header()):])
			p.Payload = nil
		}
		drop := r.IntN(1 << 9)
		want, asked, gone := bytes.Clone(frame), 0, 0
		for i := len(places) - 1; i >= 0; i-- {
			if drop>>i&1 != 0 {
				want = append(want[:places[i][0]], want[places[i][0]+places[i][1]:]...)
				gone++
			}
		}
		n := p.RemoveTags(tpids, func(tag []byte) bool {
			if at := places[asked]; !bytes.Equal(tag, frame[at[0]:at[0]+at[1]]) {
				t.Errorf("seed %d: %x: asked about %x, want tag %d", seed, frame, tag, asked)
			}
			asked++
			return drop>>(asked-1)&1 != 0
		})
		p.Size = f.Of(&p)
		if n != gone || asked != len(places) {
			t.Errorf("seed %d: %x: %d removed of %d, want %d of %d", seed, frame, n, asked, gone, len(places))
		}
		var q wire.Packet
		if err := q.Parse(want, f); err != nil {
			t.Fatalf("seed %d: %x: %v", seed, want, err)
		}
		if !bytes.Equal(p.Header(), q.Header()) || p.PayloadLen != q.PayloadLen || !zero && !bytes.Equal(p.Payload, q.Payload) ||
			p.Size != q.Size || p.Hash(seed) != q.Hash(seed) || p.SecondTag() != q.SecondTag() || !bytes.Equal(p.Tag(), q.Tag()) {
			t.Fatalf("seed %d: %x without tags %b:\n%x and %d B, size %v, want\n%x and %d B, size %v",
				seed, frame, drop, p.Header(), p.PayloadLen, p.Size, q.Header(), q.PayloadLen, q.Size)
		}
	}
}

// The declared size of a raw frame leaves out all of its CSIG tags, so that a switch
// that removes them changes no timing.
func TestRawSizeWithoutTags(t *testing.T) {
	for _, tags := range [][]byte{{0}, {1}, {0, 1}, {1, 1, 0}} {
		frame, places := stackedFrame(tags, 100)
		sum := 0
		for _, at := range places {
			sum += at[1]
		}
		for _, count := range []bool{false, true} {
			f := open
			f.CountTag = count
			var p wire.Packet
			if err := p.Parse(frame, f); err != nil {
				t.Fatal(err)
			}
			want := 42 + 100 + 4
			if count {
				want += sum
			}
			if int(p.Size) != want {
				t.Errorf("tags %v, counted %v: size %v, want %d", tags, count, p.Size, want)
			}
		}
	}
}
