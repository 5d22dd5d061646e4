package wire

import (
	"encoding/binary"
	"hash/fnv"
)

// keyed is how many bytes of a frame behind its EtherType make its key: headers, and enough of
// the data to tell apart frames without an identification of their own.
const keyed = 256

// Key returns a hash of what a raw frame carries through switches and routers unchanged, so that
// the same frame has the same key at both sides of them: of its IP packet without DSCP, ECN, TTL
// and header checksum, or of what follows the EtherType. Addresses of the link, tags and padding
// do not count. payload is what the header bytes leave of the frame.
func (p *Packet) Key(payload []byte) uint64 {
	var b [keyed]byte
	n := copy(b[:], p.L3())
	n += copy(b[n:], payload)
	switch p.family {
	case ours, rawIPv4:
		n = min(n, int(binary.BigEndian.Uint16(b[ipTotalLen:])))
		b[ipTOS], b[ipTTL], b[ipChecksum], b[ipChecksum+1] = 0, 0, 0, 0
	case rawIPv6:
		n = min(n, ipv6Len+int(binary.BigEndian.Uint16(b[ipv6Length:])))
		b[0], b[1], b[ipv6HopLimit] = b[0]&0xf0, b[1]&0x0f, 0
	}
	h := fnv.New64a()
	h.Write(b[:n])
	return h.Sum64()
}
