// Package wire is the packet as machines see it: header bytes exactly as on the
// wire, edited in place, and the formats of Ethernet, IPv4, UDP and the
// UET-like transport. docs/reference/wire.md has every field.
//
// The package knows no policy: machines decide what to mark, trim or tag. Package
// csig finds the tags of a frame and knows the content of the CSIG tag, which is
// bytes at an offset here.
package wire

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// MaxHeader is the room for the headers of a packet: Ethernet 14, CSIG 8, IPv4
// 20, UDP 8, 48 for the longest transport header, and three VLAN tags, rounded up.
// Shorter headers leave room for more tags. With it a Packet has three cache lines.
const MaxHeader = 112

// maxUntagged is how long the headers may be without a CSIG tag, so that a wide one
// can be put on.
const maxUntagged = MaxHeader - 8

// Fixed header lengths in bytes.
const (
	EthernetLen = 14
	IPv4Len     = 20
	UDPLen      = 8
)

// Packet is one packet. It has one owner at a time; machines pass it on with
// Receive and Transmit and return it to its Pool where it ends. Apart from
// Ingress and EnqueuedAt, and Ahead and Behind for captures, it holds nothing that is
// not on the wire or derived from it.
//
// Most of the time of a large run goes into fetching packets into the cache. What a hop
// needs of a packet of the transport is therefore in its first two cache lines.
type Packet struct {
	// EnqueuedAt is when the packet entered the queue it is in.
	EnqueuedAt units.Time
	// Size is the declared wire size: what serialisers, queues and meters
	// charge. It follows from the payload's length and the header parameter
	// (Sizes.Of).
	Size units.Size
	// PayloadLen is the payload's length on the wire.
	PayloadLen int

	// front holds where the CSIG tag is, and the network layer's header: of IPv4,
	// unless the packet is a raw frame.
	front  csig.Frame
	len    uint8  // header bytes in buf: up to the end of the transport header, or as many as raw keeps
	family family // of a raw frame
	ports  uint8  // of a raw frame: the distance of its ports from front.L3; 0 without
	notes  bool   // Ahead and Behind are wanted

	// Ingress is the port of a switch through which the packet came in. It is the
	// switch's own, and undefined elsewhere.
	Ingress uint16

	tunnel   tunnelled
	innerTTL uint8 // in a tunnel: of the inner header

	buf [MaxHeader]byte

	// Payload is the payload itself where real frames carry it; nil in virtual
	// time and with elided payloads. The driver that set it owns it. Of a raw
	// frame it is what the header bytes leave of the frame, and nil stands for zeros.
	Payload []byte
	// Ahead and Behind are what a Queue held when the packet entered it and when
	// it left, the packet itself not counted. They are for captures, and undefined for a
	// packet that was in no Queue, and for one of a Pool that does not ask for them. Of
	// machines, only a switch that has set Ahead itself reads it.
	Ahead, Behind units.Size
}

// Header returns the header bytes. They are the packet's own until it is put
// back.
func (p *Packet) Header() []byte { return p.buf[:p.len] }

// Touch reads from each of the cache lines that a hop needs, and returns a number that
// means nothing. Packets that are touched before they are used come from memory side by
// side.
func (p *Packet) Touch() units.Size { return p.Size + units.Size(p.buf[MaxHeader/2]) }

// Tag returns the CSIG tag, TPID included, or nil: also if a tunnel hides it. Edits change the
// packet.
func (p *Packet) Tag() []byte {
	if p.tunnel&tagInside != 0 {
		return nil
	}
	return p.CarriedTag()
}

// CarriedTag returns the CSIG tag, hidden or not.
func (p *Packet) CarriedTag() []byte {
	at, n := p.front.Tag, uint8(p.front.Format.Size())
	if n == 0 {
		return nil
	}
	return p.buf[at : at+n]
}

// StripTag removes the CSIG tag; without one it does nothing.
func (p *Packet) StripTag() {
	if header, err := p.front.Strip(p.Header()); err == nil {
		p.len = uint8(len(header))
	}
}

// InsertTag makes room for a tag of n bytes, 4 or 8, as the last tag before the
// EtherType and returns it for the caller to fill. The packet must have none.
func (p *Packet) InsertTag(n int) []byte {
	header, err := p.front.Insert(p.Header(), csig.Format(n/4))
	if err != nil {
		panic("wire: " + err.Error())
	}
	p.len = uint8(len(header))
	return p.Tag()
}

// Sizes are the parameters that give a packet its declared wire size.
type Sizes struct {
	Header   units.Size // charged for the headers of data, and for whole ACK, NACK and trimmed packets
	CountTag bool       // charge the bytes of CSIG tags
	// Overhead is what a packet takes on the line beyond its size: preamble, gap and,
	// if Header leaves it out, the frame check sequence. Serialisers charge it; it is
	// in no Size, queue, rate or meter.
	Overhead units.Size
}

// OnLine returns what a serialiser charges for p, in bytes.
func (s Sizes) OnLine(p *Packet) units.Size { return p.Size + s.Overhead }

// Of returns the declared wire size of p: of a raw frame the length of its
// frame with the frame check sequence.
func (s Sizes) Of(p *Packet) units.Size {
	size, tags := s.Header+units.Size(p.PayloadLen), p.front.Format.Size()+int(p.front.More)
	if p.family != ours {
		size = units.Size(int(p.len)-tags+p.PayloadLen) + fcsLen
	}
	if s.CountTag {
		size += units.Size(tags)
	}
	if p.tunnel != 0 {
		size += TunnelLen
	}
	return size
}

// MAC returns the address of a node's port: locally administered, unique in a
// fabric.
func MAC(node, port int) [6]byte {
	return [6]byte{0x02, byte(node >> 16), byte(node >> 8), byte(node), byte(port >> 8), byte(port)}
}

// HostIP returns the IPv4 address of host i: 10.0.0.0 plus i+1.
func HostIP(i int) uint32 { return 10<<24 + uint32(i) + 1 }

// HostOf returns the host whose address is ip, -1 if none can be.
func HostOf(ip uint32) int {
	if ip>>24 != 10 {
		return -1
	}
	return int(ip&0xffffff) - 1
}

// SetMACs writes both MAC addresses.
func (p *Packet) SetMACs(destination, source [6]byte) {
	copy(p.buf[0:6], destination[:])
	copy(p.buf[6:12], source[:])
}

// MACs are the two addresses that a frame begins with: the destination, then the source.
type MACs [12]byte

// NewMACs returns the addresses of the frames that leave through a port.
func NewMACs(destination, source [6]byte) (m MACs) {
	copy(m[:6], destination[:])
	copy(m[6:], source[:])
	return m
}

// CopyMACs is SetMACs with what NewMACs has made.
func (p *Packet) CopyMACs(m *MACs) { *(*MACs)(p.buf[:]) = *m }

func (p *Packet) u16(at uint8) uint16      { return binary.BigEndian.Uint16(p.buf[at:]) }
func (p *Packet) u32(at uint8) uint32      { return binary.BigEndian.Uint32(p.buf[at:]) }
func (p *Packet) put16(at uint8, v uint16) { binary.BigEndian.PutUint16(p.buf[at:], v) }
func (p *Packet) put32(at uint8, v uint32) { binary.BigEndian.PutUint32(p.buf[at:], v) }
func (p *Packet) put64(at uint8, v uint64) { binary.BigEndian.PutUint64(p.buf[at:], v) }
func (p *Packet) udp() uint8               { return p.front.L3 + IPv4Len }
func (p *Packet) l4() uint8                { return p.front.L3 + IPv4Len + UDPLen }

// Pool recycles packets of one goroutine, so that a packet-hop allocates
// nothing once the pool has grown to the packets in flight. The zero value is
// ready.
type Pool struct {
	// Release gets back the payload of each packet that is put back with one. Without
	// it no packet of the pool has a payload.
	Release func(payload []byte)
	// Notes has queues note in each packet what they held, in Ahead and Behind.
	Notes bool

	free []*Packet
	out  int
}

// Get returns a packet whose fields are undefined except Payload, which is nil.
func (q *Pool) Get() *Packet {
	q.out++
	n := len(q.free)
	if n == 0 {
		return q.grow()
	}
	p := q.free[n-1]
	q.free = q.free[:n-1]
	return p
}

// grow makes some packets at once and returns one of them.
func (q *Pool) grow() *Packet {
	packets := make([]Packet, grownBy)
	for i := range packets {
		packets[i].notes = q.Notes
		q.free = append(q.free, &packets[i])
	}
	q.free = q.free[:grownBy-1]
	return &packets[grownBy-1]
}

// grownBy is the number of packets that fill a size class of the allocator.
const grownBy = 16

// Put takes back a packet that its owner no longer needs.
func (q *Pool) Put(p *Packet) {
	q.out--
	if q.Release != nil && p.Payload != nil {
		q.Release(p.Payload)
		p.Payload = nil
	}
	q.free = append(q.free, p)
}

// Empty gives up the packets that are not in use.
func (q *Pool) Empty() { q.free = nil }

// Out returns how many packets are in use.
func (q *Pool) Out() int { return q.out }

// Balance moves unused packets from the pool that has most of them to the one that
// has fewest, if the difference is large: data goes one way, so that one pool only
// gives packets and another only takes them back. No goroutine may use the pools
// meanwhile.
func Balance(pools []*Pool) {
	if len(pools) < 2 {
		return
	}
	byFree := func(a, b *Pool) int { return len(a.free) - len(b.free) }
	least, most := slices.MinFunc(pools, byFree), slices.MaxFunc(pools, byFree)
	n := (len(most.free) - len(least.free)) / 2
	if n < balanceFrom {
		return
	}
	keep := len(most.free) - n
	least.free = append(least.free, most.free[keep:]...)
	clear(most.free[keep:])
	most.free = most.free[:keep]
}

// balanceFrom is the number of packets that are worth moving.
const balanceFrom = 256

// String describes the packet for messages.
func (p *Packet) String() string {
	if p.family == pauseFrame {
		return fmt.Sprintf("pause frame from %x", p.buf[6:12])
	}
	if p.family != ours {
		return fmt.Sprintf("raw frame %x from %x to %x, %d B", p.EtherType(), p.buf[6:12], p.buf[:6], int(p.len)+p.PayloadLen)
	}
	return fmt.Sprintf("%s flow %d psn %d", p.Kind(), p.Flow(), p.PSN())
}
