package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

const (
	tpidCompact = 0x88b5
	tpidWide    = 0x88b6
)

var format = wire.Format{Sizes: wire.Sizes{Header: 64}, TPIDCompact: tpidCompact, TPIDWide: tpidWide}

// A Packet takes three cache lines, as MaxHeader promises: a fourth would cost a
// simulation of many packets in flight a quarter of its caches.
func TestPacketFitsItsCacheLines(t *testing.T) {
	if got := unsafe.Sizeof(wire.Packet{}); got != 192 {
		t.Errorf("a Packet takes %d B, want 192", got)
	}
}

// Overhead is what serialisers charge, and no part of a packet's size.
func TestOverheadIsOnTheLineAlone(t *testing.T) {
	s := wire.Sizes{Header: 64, Overhead: 24}
	p := new(wire.Packet)
	p.Build(wire.Addresses{}, wire.Data, 0, wire.ECT0, 4086)
	p.Size = s.Of(p)
	if p.Size != 4150 || s.OnLine(p) != 4174 {
		t.Errorf("size %v, on the line %v, want 4150 B and 4174 B", p.Size, s.OnLine(p))
	}
	p.Trim(s, false)
	if p.Size != 64 || s.OnLine(p) != 88 {
		t.Errorf("trimmed: size %v, on the line %v, want 64 B and 88 B", p.Size, s.OnLine(p))
	}
}

// No raw frame is trimmed, though its DSCP may be that of a trimmed packet.
func TestRawFramesAreNotTrimmed(t *testing.T) {
	p := build(rand.New(rand.NewPCG(1, 0)), wire.Data)
	p.Trim(wire.Sizes{Header: 64}, false)
	frame := bytes.Clone(p.Header())
	raw, open := new(wire.Packet), format
	open.Raw = true
	if err := raw.ParseRaw(frame, open); err != nil || raw.Kind() != wire.Raw {
		t.Fatalf("%v, %v", raw.Kind(), err)
	}
	if !p.Trimmed() || raw.Trimmed() {
		t.Errorf("trimmed: ours %v, the raw frame %v, want true and false", p.Trimmed(), raw.Trimmed())
	}
}

var kinds = []wire.Kind{wire.Data, wire.Ack, wire.Nack, wire.Control, wire.CNP, wire.Postcard, wire.Weights}

// build returns a packet of the given kind with random contents, without a tag.
func build(r *rand.Rand, kind wire.Kind) *wire.Packet {
	p, payload := new(wire.Packet), 0
	a := wire.Addresses{Source: r.Uint32(), Destination: r.Uint32(), SourcePort: uint16(r.Uint32())}
	if kind == wire.Data {
		payload = r.IntN(9000)
	}
	p.Build(a, kind, wire.Flags(r.IntN(1<<5)), uint8(r.IntN(4)), payload)
	p.SetMACs(wire.MAC(r.IntN(1<<24), r.IntN(1<<16)), wire.MAC(r.IntN(1<<24), r.IntN(1<<16)))
	switch kind {
	case wire.Data:
		p.SetData(r.Uint32(), r.Uint32(), uint8(r.Uint32()))
	case wire.Ack:
		p.SetAck(wire.AckFields{Flow: r.Uint32(), EV: uint16(r.Uint32()), Cumulative: r.Uint32(), Acked: r.Uint32(),
			SackBase: r.Uint32(), SackBits: r.Uint64(), Received: r.Uint64(), OutOfOrder: uint16(r.Uint32()), Penalty: uint8(r.Uint32())})
	case wire.Nack:
		p.SetNack(r.Uint32(), uint16(r.Uint32()), r.Uint32(), uint8(r.Uint32()), wire.NackTrimmed)
	case wire.Control:
		p.SetControl(r.Uint32(), r.Uint32())
	case wire.CNP:
		p.SetNotification(r.Uint32())
	case wire.Postcard:
		p.SetPostcard(r.Uint32(), r.Uint32(), []byte{0x88, 0xb5, byte(r.Uint32()), byte(r.Uint32())})
	case wire.Weights:
		f := randomWeights(r)
		p.SetWeights(&f)
	}
	p.Size = format.Of(p)
	return p
}

func randomWeights(r *rand.Rand) wire.WeightFields {
	f := wire.WeightFields{Node: r.Uint32(), Rack: r.Uint32(), Sequence: r.Uint32(), Count: r.IntN(wire.MostWeights + 1)}
	for i := range f.Count {
		f.Ports[i] = wire.PortWeight{Port: uint8(r.Uint32()), Weight: uint8(r.Uint32())}
	}
	return f
}

// Postcards and weights have what was written into them.
func TestTelemetryFields(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		p := build(r, wire.Weights)
		f := randomWeights(r)
		if p.SetWeights(&f); p.Weights() != f || p.Node() != f.Node {
			t.Fatalf("weights %+v, want %+v", p.Weights(), f)
		}
		p = build(r, wire.Postcard)
		tag := []byte{0x88, 0xb6, 1, 2, 3, 4, 5, 6}
		p.SetPostcard(7, 9, tag)
		var echo [wire.EchoLen]byte
		if n := p.Echo(&echo); p.Node() != 7 || p.Flow() != 9 || !bytes.Equal(echo[:n], tag[2:]) {
			t.Fatalf("postcard of switch %d and flow %d with %x", p.Node(), p.Flow(), echo[:n])
		}
	}
}

// addTag puts a tag of 4 or 8 random bytes behind its TPID on p.
func addTag(r *rand.Rand, p *wire.Packet, n int) {
	tag := p.InsertTag(n)
	binary.BigEndian.PutUint16(tag, tpidCompact)
	if n == 8 {
		binary.BigEndian.PutUint16(tag, tpidWide)
	}
	for i := 2; i < n; i++ {
		tag[i] = byte(r.Uint32())
	}
	p.Size = format.Of(p)
}

// frame returns the packet as it is on the wire, with a payload of random bytes.
func frame(r *rand.Rand, p *wire.Packet) []byte {
	f := bytes.Clone(p.Header())
	for range p.PayloadLen {
		f = append(f, byte(r.Uint32()))
	}
	return f
}

// view is all that a packet tells.
type view struct {
	Header, Tag       []byte
	Size, PayloadLen  int
	Kind              wire.Kind
	Flags             wire.Flags
	Source, Dest      uint32
	SourcePort        uint16
	ECN, DSCP         uint8
	PSN, Flow         uint32
	Ack               wire.AckFields
	Transmission      uint8
	NackCode          uint8
	OriginalPayload   int
	Trimmed, LastHop  bool
	Echo              [wire.EchoLen]byte
	EchoLen           int
	Hash              uint64
	HeaderHasRoomLeft bool
}

func viewOf(p *wire.Packet) view {
	v := view{
		Header: bytes.Clone(p.Header()), Tag: bytes.Clone(p.Tag()), Size: int(p.Size), PayloadLen: p.PayloadLen,
		Kind: p.Kind(), Flags: p.Flags(), Source: p.Source(), Dest: p.Destination(), SourcePort: p.SourcePort(),
		ECN: p.ECN(), DSCP: p.DSCP(), PSN: p.PSN(), Flow: p.Flow(), Transmission: p.Transmission(),
		Trimmed: p.Trimmed(), LastHop: p.TrimmedLastHop(), Hash: p.Hash(1),
		HeaderHasRoomLeft: len(p.Header()) <= wire.MaxHeader,
	}
	switch v.Kind {
	case wire.Data:
		v.OriginalPayload = p.OriginalPayload()
	case wire.Ack:
		v.Ack = p.Ack()
	case wire.Nack:
		v.NackCode = p.NackCode()
	}
	if v.Kind == wire.Ack || v.Kind == wire.Nack {
		v.EchoLen = p.Echo(&v.Echo)
	}
	return v
}

func TestBuildParse(t *testing.T) {
	r, seed := random()
	for range 300 {
		for _, kind := range kinds {
			for _, n := range []int{0, 4, 8} {
				p := build(r, kind)
				if kind == wire.Ack || kind == wire.Nack {
					echo := []byte{0x88, 0xb6, 1, 2, 3, 4, 5, 6}
					p.SetEcho([][]byte{nil, echo[:4], echo}[r.IntN(3)])
				}
				if n > 0 {
					addTag(r, p, n)
				}
				bytesOnWire := frame(r, p)
				var q wire.Packet
				if err := q.Parse(bytesOnWire, format); err != nil {
					t.Fatalf("seed %d: Parse of a built %v with a tag of %d: %v", seed, kind, n, err)
				}
				if diff := cmp.Diff(viewOf(&q), viewOf(p)); diff != "" {
					t.Fatalf("seed %d: %v with a tag of %d: parsed against built:\n%s", seed, kind, n, diff)
				}
				if got := append(bytes.Clone(q.Header()), q.Payload...); !bytes.Equal(got, bytesOnWire) {
					t.Fatalf("seed %d: %v: header and payload are not the frame", seed, kind)
				}
			}
		}
	}
}

func TestFields(t *testing.T) {
	var p wire.Packet
	a := wire.Addresses{Source: wire.HostIP(0), Destination: wire.HostIP(13), SourcePort: 50000}
	p.Build(a, wire.Data, wire.AckRequest|wire.EndOfMessage, wire.ECT0, 4086)
	p.SetData(7, 41, 2)
	if p.Kind() != wire.Data || p.Flags() != wire.AckRequest|wire.EndOfMessage || p.Flow() != 7 || p.PSN() != 41 ||
		p.Transmission() != 2 || p.OriginalPayload() != 4086 || p.SourcePort() != 50000 || p.ECN() != wire.ECT0 ||
		p.DSCP() != wire.DSCPTrimmable || wire.HostOf(p.Source()) != 0 || wire.HostOf(p.Destination()) != 13 {
		t.Errorf("data: %+v", viewOf(&p))
	}
	p.Retarget(wire.Retransmit, 50001, 42, 3)
	if p.Flags() != wire.Retransmit || p.SourcePort() != 50001 || p.PSN() != 42 || p.Transmission() != 3 || p.Flow() != 7 {
		t.Errorf("retargeted: %+v", viewOf(&p))
	}
	p.SetFlags(wire.EndOfMessage)
	if p.Flags() != wire.EndOfMessage || p.Kind() != wire.Data {
		t.Errorf("SetFlags: flags %v, kind %v", p.Flags(), p.Kind())
	}

	want := wire.AckFields{Flow: 7, EV: 3, Cumulative: 42, Acked: 41, SackBase: 43, SackBits: 1 << 63, Received: 1 << 40, OutOfOrder: 9, Penalty: 255}
	p.Build(a, wire.Ack, wire.ECNEcho, wire.NotECT, 0)
	p.SetAck(want)
	if got := p.Ack(); got != want || p.PSN() != 42 || p.EV() != 3 || p.Flow() != 7 || p.DSCP() != wire.DSCPControl {
		t.Errorf("ack: %+v, want %+v", got, want)
	}

	p.Build(a, wire.Nack, 0, wire.NotECT, 0)
	p.SetNack(7, 3, 41, 2, wire.NackTrimmedLastHop)
	if p.PSN() != 41 || p.EV() != 3 || p.Transmission() != 2 || p.NackCode() != wire.NackTrimmedLastHop || p.Flow() != 7 {
		t.Errorf("nack: %+v", viewOf(&p))
	}
	p.Build(a, wire.Control, 0, wire.NotECT, 0)
	p.SetControl(11, 2)
	if p.Flow() != 11 || p.PSN() != 2 || p.Kind() != wire.Control {
		t.Errorf("control: %+v", viewOf(&p))
	}
	for ip, want := range map[uint32]int{10<<24 + 1: 0, 10 << 24: -1, 11<<24 + 5: -1, 0: -1} {
		if got := wire.HostOf(ip); got != want {
			t.Errorf("HostOf(%#x) = %d, want %d", ip, got, want)
		}
	}
	if wire.Kind(3).String() != "unknown" || wire.Nack.String() != "nack" || p.String() != "control flow 11 psn 2" {
		t.Errorf("names: %v, %v, %v", wire.Kind(3), wire.Nack, &p)
	}
}

func TestEcho(t *testing.T) {
	tag := []byte{0x88, 0xb6, 1, 2, 3, 4, 5, 6}
	for _, kind := range []wire.Kind{wire.Ack, wire.Nack} {
		for _, n := range []int{0, 4, 8} {
			var p wire.Packet
			p.Build(wire.Addresses{}, kind, 0, wire.NotECT, 0)
			before := bytes.Clone(p.Header())
			p.SetEcho(tag[:n])
			var got [wire.EchoLen]byte
			length := p.Echo(&got)
			if want := max(n-2, 0); length != want || !bytes.Equal(got[:length], tag[2:2+want]) {
				t.Errorf("%v: echo of a tag of %d = %x (%d bytes), want %x", kind, n, got, length, tag[2:2+want])
			}
			if n == 0 && !bytes.Equal(p.Header(), before) {
				t.Errorf("%v: an absent tag changed the header", kind)
			}
		}
	}
}

// A packet that is edited in place always carries the checksum that a fresh
// computation gives.
func TestChecksumAfterEdits(t *testing.T) {
	r, seed := random()
	for range 2000 {
		p := build(r, kinds[r.IntN(len(kinds))])
		l3 := wire.EthernetLen
		for edit := range 12 {
			switch r.IntN(6) {
			case 0:
				p.MarkCE()
			case 1, 2:
				p.DecrementTTL()
			case 3:
				p.Trim(format.Sizes, r.IntN(2) == 0)
			case 4:
				if p.Tag() == nil {
					addTag(r, p, 4+4*r.IntN(2))
				}
			case 5:
				p.StripTag()
			}
			l3 = wire.EthernetLen + len(p.Tag())
			h := bytes.Clone(p.Header()[l3 : l3+wire.IPv4Len])
			got := binary.BigEndian.Uint16(h[10:])
			h[10], h[11] = 0, 0
			if want := slowChecksum(h); got != want {
				t.Fatalf("seed %d: edit %d left checksum %#04x, want %#04x", seed, edit, got, want)
			}
		}
	}
}

// slowChecksum is RFC 1071's sum, two bytes at a time.
func slowChecksum(h []byte) uint16 {
	sum := 0
	for i := 0; i < len(h); i += 2 {
		sum += int(h[i])<<8 + int(h[i+1])
		if sum > 0xffff {
			sum -= 0xffff
		}
	}
	return ^uint16(sum)
}

func TestMarkAndTTL(t *testing.T) {
	r, _ := random()
	p := build(r, wire.Data)
	dscp := p.DSCP()
	p.MarkCE()
	if p.ECN() != wire.CE || p.DSCP() != dscp {
		t.Errorf("MarkCE left ECN %d, DSCP %d, want %d, %d", p.ECN(), p.DSCP(), wire.CE, dscp)
	}
	// Hosts send with 64: 63 hops, and the 64th drops.
	for hop := range 63 {
		if !p.DecrementTTL() {
			t.Fatalf("no life left at hop %d", hop)
		}
	}
	before := bytes.Clone(p.Header())
	if p.DecrementTTL() {
		t.Error("DecrementTTL = true with TTL 1")
	}
	if !bytes.Equal(p.Header(), before) {
		t.Error("a packet without life was changed")
	}
}

func TestTrim(t *testing.T) {
	r, seed := random()
	for _, n := range []int{0, 4, 8} {
		for _, lastHop := range []bool{false, true} {
			p := build(r, wire.Data)
			if n > 0 {
				addTag(r, p, n)
			}
			before := viewOf(p)
			p.Trim(format.Sizes, lastHop)
			if p.PayloadLen != 0 || p.Payload != nil || p.Size != 64 || !p.Trimmed() || p.TrimmedLastHop() != lastHop ||
				p.ECN() != before.ECN || p.OriginalPayload() != before.PayloadLen || !bytes.Equal(p.Tag(), before.Tag) ||
				p.Flow() != before.Flow || p.PSN() != before.PSN || p.Hash(1) != before.Hash {
				t.Errorf("seed %d: trimmed %+v, was %+v", seed, viewOf(p), before)
			}
			// What is left is a whole, valid frame.
			var q wire.Packet
			if err := q.Parse(p.Header(), format); err != nil {
				t.Errorf("seed %d: Parse of a trimmed packet: %v", seed, err)
			} else if diff := cmp.Diff(viewOf(&q), viewOf(p)); diff != "" {
				t.Errorf("seed %d: trimmed, parsed again:\n%s", seed, diff)
			}
		}
	}
}

func TestTags(t *testing.T) {
	r, seed := random()
	for range 200 {
		p := build(r, kinds[r.IntN(len(kinds))])
		plain := bytes.Clone(p.Header())
		if p.Tag() != nil {
			t.Fatalf("seed %d: a fresh packet has tag %x", seed, p.Tag())
		}
		p.StripTag()
		if !bytes.Equal(p.Header(), plain) {
			t.Fatalf("seed %d: stripping nothing changed the packet", seed)
		}
		n := 4 + 4*r.IntN(2)
		addTag(r, p, n)
		// The tag stands between the MAC addresses and the EtherType of IPv4.
		want := append(bytes.Clone(plain[:12]), p.Tag()...)
		want = append(want, plain[12:]...)
		if len(p.Tag()) != n || !bytes.Equal(p.Header(), want) {
			t.Fatalf("seed %d: tagged header %x, want %x", seed, p.Header(), want)
		}
		q := new(wire.Packet)
		q.CopyHeader(p)
		if diff := cmp.Diff(viewOf(q), viewOf(p)); diff != "" {
			t.Fatalf("seed %d: CopyHeader:\n%s", seed, diff)
		}
		p.StripTag()
		if !bytes.Equal(p.Header(), plain) {
			t.Fatalf("seed %d: stripped header %x, want %x", seed, p.Header(), plain)
		}
	}
}

func TestInsertTagTwicePanics(t *testing.T) {
	r, _ := random()
	p := build(r, wire.Data)
	addTag(r, p, 4)
	defer func() {
		if recover() == nil {
			t.Error("a second tag did not panic")
		}
	}()
	p.InsertTag(4)
}

// The declared wire size: payload + header for data, header for the others, the
// tag only when it is counted (docs/reference/wire.md#declared-wire-size).
func TestSizes(t *testing.T) {
	r, _ := random()
	for _, kind := range kinds {
		for _, n := range []int{0, 4, 8} {
			p := build(r, kind)
			if n > 0 {
				addTag(r, p, n)
			}
			if got, want := (wire.Sizes{Header: 64}).Of(p), 64+p.PayloadLen; int(got) != want {
				t.Errorf("%v with a tag of %d: size %d, want %d", kind, n, got, want)
			}
			if got, want := (wire.Sizes{Header: 64, CountTag: true}).Of(p), 64+p.PayloadLen+n; int(got) != want {
				t.Errorf("%v with a counted tag of %d: size %d, want %d", kind, n, got, want)
			}
		}
	}
}

func TestMACsAreUnique(t *testing.T) {
	seen := map[[6]byte]string{}
	for _, node := range []int{0, 1, 255, 256, 65536, 1<<24 - 1} {
		for _, port := range []int{0, 1, 255, 256, 1<<16 - 1} {
			m, name := wire.MAC(node, port), fmt.Sprintf("%d:%d", node, port)
			if other, ok := seen[m]; ok {
				t.Errorf("MAC of %s = %x, the same as of %s", name, m, other)
			}
			if seen[m] = name; m[0]&3 != 2 {
				t.Errorf("MAC of %s = %x, want a local unicast address", name, m)
			}
		}
	}
}

// A payload goes back once, to who is asked for it.
func TestPoolReleasesPayloads(t *testing.T) {
	var q wire.Pool
	var got [][]byte
	q.Release = func(payload []byte) { got = append(got, payload) }
	for _, payload := range [][]byte{nil, {1}, nil, {2, 3}} {
		p := q.Get()
		if p.Payload != nil {
			t.Errorf("a packet of the pool has payload %v", p.Payload)
		}
		p.Payload = payload
		q.Put(p)
	}
	if want := [][]byte{{1}, {2, 3}}; !cmp.Equal(got, want) {
		t.Errorf("released %v, want %v", got, want)
	}
}

func TestPool(t *testing.T) {
	var pool wire.Pool
	p := pool.Get()
	q := pool.Get()
	if pool.Out() != 2 || p == q {
		t.Errorf("Out() = %d with two packets taken", pool.Out())
	}
	pool.Put(p)
	if got := pool.Get(); got != p {
		t.Errorf("Get after Put = %p, want %p", got, p)
	}
	if allocs := testing.AllocsPerRun(100, func() { pool.Put(pool.Get()) }); allocs != 0 {
		t.Errorf("a recycled packet costs %v allocations", allocs)
	}
}

// A queue counts the bytes of what is in it.
func TestQueue(t *testing.T) {
	r, seed := random()
	var q wire.Queue
	var slow []*wire.Packet
	for range 5000 {
		var got, want *wire.Packet
		switch n := len(slow); r.IntN(4) {
		case 0, 1:
			p := build(r, wire.Data)
			q.Push(p)
			slow = append(slow, p)
		case 2:
			if got = q.Pop(); n > 0 {
				want, slow = slow[0], slow[1:]
			}
		case 3:
			if got = q.PopTail(); n > 0 {
				want, slow = slow[n-1], slow[:n-1]
			}
		}
		bytes := 0
		for _, p := range slow {
			bytes += int(p.Size)
		}
		if got != want || q.Len() != len(slow) || int(q.Bytes()) != bytes {
			t.Fatalf("seed %d: got %p, %d packets, %d bytes, want %p, %d, %d", seed, got, q.Len(), q.Bytes(), want, len(slow), bytes)
		}
	}
}

func ExamplePacket_Build() {
	var p wire.Packet
	p.Build(wire.Addresses{Source: wire.HostIP(0), Destination: wire.HostIP(1), SourcePort: wire.EntropyBase},
		wire.Data, wire.AckRequest, wire.ECT0, 4086)
	p.SetMACs(wire.MAC(16, 0), wire.MAC(0, 0))
	p.SetData(3, 41, 1)
	fmt.Println(&p, "in", len(p.Header()), "bytes of headers;", wire.Sizes{Header: 64}.Of(&p), "declared")
	// Output: data flow 3 psn 41 in 58 bytes of headers; 4.15kB declared
}

func random() (*rand.Rand, uint64) {
	seed := rand.Uint64()
	return rand.New(rand.NewPCG(seed, 0)), seed
}

// docs/reference/wire.md: "4 bits e and 12 bits m stand for m · 2^e ns".
func TestHostDelay(t *testing.T) {
	for _, tc := range []struct{ give, want units.Duration }{
		{0, 0}, {499, 0}, {500, units.Nanosecond}, {-1, 0},
		{4095 * units.Nanosecond, 4095 * units.Nanosecond},
		{4095*units.Nanosecond + 500, 4096 * units.Nanosecond},
		{8190 * units.Nanosecond, 8190 * units.Nanosecond},
		{8189 * units.Nanosecond, 8190 * units.Nanosecond},
		{8191 * units.Nanosecond, 8192 * units.Nanosecond},
		{100 * units.Millisecond, 100_007_936 * units.Nanosecond},
		{134_184_960 * units.Nanosecond, 134_184_960 * units.Nanosecond},
		{units.Second, 134_184_960 * units.Nanosecond},
		{units.Duration(units.Never), 134_184_960 * units.Nanosecond},
	} {
		p := build(rand.New(rand.NewPCG(1, 0)), wire.Ack)
		p.SetFlags(wire.ECNEcho)
		if _, ok := p.HostDelay(); ok {
			t.Fatal("an ACK has a host delay before it was set")
		}
		p.SetHostDelay(tc.give)
		got, ok := p.HostDelay()
		if off := got - tc.give; tc.give >= 0 && tc.give < 134*units.Millisecond && (off > max(500, tc.give/4096) || -off > max(500, tc.give/4096)) {
			t.Errorf("%v became %v", tc.give, got)
		}
		if !ok || got != tc.want || p.Flags() != wire.ECNEcho|wire.HostDelay || p.Kind() != wire.Ack {
			t.Errorf("%d ps became %d (%v), flags %x; want %d", tc.give, got, ok, p.Flags(), tc.want)
		}
	}
}

// Hops and the echo's length share a byte, whichever is written first.
func TestHopsBesideTheEcho(t *testing.T) {
	tag := []byte{0x88, 0xb6, 1, 2, 3, 4, 5, 6}
	for _, n := range []int{0, 5, 31, 32, 64} {
		for _, echoFirst := range []bool{true, false} {
			p := build(rand.New(rand.NewPCG(1, 0)), wire.Ack)
			if echoFirst {
				p.SetEcho(tag)
			}
			p.SetHops(n)
			if !echoFirst {
				p.SetEcho(tag)
			}
			var echo [wire.EchoLen]byte
			if got := p.Echo(&echo); got != 6 || !bytes.Equal(echo[:], tag[2:]) || int(p.Hops()) != min(n, wire.MostHops) {
				t.Errorf("%d hops, echo first %v: %d hops, echo % x", n, echoFirst, p.Hops(), echo[:got])
			}
		}
	}
}
