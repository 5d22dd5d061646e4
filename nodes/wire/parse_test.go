package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/csiglab/csiglab/nodes/wire"
)

// vlan returns frame with a VLAN tag of the given EtherType put in at offset.
func vlan(frame []byte, at int, etherType uint16) []byte {
	tag := binary.BigEndian.AppendUint16(nil, etherType)
	tag = append(tag, 0x60, 0x64)
	return append(append(bytes.Clone(frame[:at]), tag...), frame[at:]...)
}

// vlans returns frame with n C-tags put in front.
func vlans(frame []byte, n int) []byte {
	for range n {
		frame = vlan(frame, 12, 0x8100)
	}
	return frame
}

// secTag returns frame with a SecTAG of the given control bits put in at offset,
// with an SCI if the bits say so.
func secTag(frame []byte, at int, control byte) []byte {
	tag := []byte{0x88, 0xe5, control, 0, 0, 0, 0, 1}
	if control&0x20 != 0 {
		tag = append(tag, 2, 0, 0, 0, 0, 1, 0, 1)
	}
	return append(append(bytes.Clone(frame[:at]), tag...), frame[at:]...)
}

func TestParseRefuses(t *testing.T) {
	r, _ := random()
	p := build(r, wire.Data)
	valid := frame(r, p)
	const ip = wire.EthernetLen
	edit := func(at int, v byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] = v; return b }
	}
	// rehash makes the IPv4 checksum right again, so that the change under test
	// is what is refused.
	rehash := func(f func([]byte) []byte) func([]byte) []byte {
		return func(b []byte) []byte {
			b = f(b)
			b[ip+10], b[ip+11] = 0, 0
			binary.BigEndian.PutUint16(b[ip+10:], slowChecksum(b[ip:ip+20]))
			return b
		}
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	tests := []struct {
		name string
		edit func([]byte) []byte
		want error
	}{
		{"empty", cut(0), wire.ErrTruncated},
		{"within the MAC addresses", cut(11), wire.ErrTruncated},
		{"before the EtherType", cut(12), wire.ErrTruncated},
		{"within the IPv4 header", cut(ip + 19), wire.ErrTruncated},
		{"within the transport header", cut(ip + 20 + 8 + 15), wire.ErrTruncated},
		{"within the payload", cut(len(valid) - 1), wire.ErrTruncated},
		{"ARP", func(b []byte) []byte { b[13] = 0x06; return b }, wire.ErrNotTransport},
		{"IPv6", func(b []byte) []byte { b[12], b[13] = 0x86, 0xdd; return b }, wire.ErrNotTransport},
		{"a length for EtherType", func(b []byte) []byte { b[12], b[13] = 0, 0; return b }, wire.ErrNotTransport},
		{"IPv4 options", rehash(edit(ip, 0x46)), wire.ErrNotTransport},
		{"IP version 6", rehash(edit(ip, 0x65)), wire.ErrNotTransport},
		{"TCP", rehash(edit(ip+9, 6)), wire.ErrNotTransport},
		{"first fragment", rehash(edit(ip+6, 0x20)), wire.ErrNotTransport},
		{"later fragment", rehash(edit(ip+7, 1)), wire.ErrNotTransport},
		{"checksum", edit(ip+10, valid[ip+10]^1), wire.ErrChecksum},
		{"changed address", edit(ip+12, valid[ip+12]^1), wire.ErrChecksum},
		{"UDP destination port", edit(ip+22, 0), wire.ErrNotTransport},
		{"UDP length", edit(ip+25, valid[ip+25]^1), wire.ErrLength},
		{"IP length", rehash(edit(ip+3, valid[ip+3]^1)), wire.ErrLength},
		{"lengths below the headers", rehash(func(b []byte) []byte {
			binary.BigEndian.PutUint16(b[ip+2:], 20+8+15)
			binary.BigEndian.PutUint16(b[ip+24:], 8+15)
			return b
		}), wire.ErrLength},
		{"unknown kind", edit(ip+28, 5<<3), wire.ErrNotTransport},
		{"nine VLAN tags", func(b []byte) []byte { return vlans(b, 9) }, wire.ErrNotTransport},
		{"an endless stack of VLAN tags", func(b []byte) []byte {
			return append(b[:12], bytes.Repeat([]byte{0x81, 0x00, 0, 1}, 1000)...)
		}, wire.ErrNotTransport},
		{"two CSIG tags", func(b []byte) []byte {
			tag := []byte{0x88, 0xb5, 0, 0}
			return append(append(append(bytes.Clone(b[:12]), tag...), tag...), b[12:]...)
		}, wire.ErrNotTransport},
		{"two CSIG tags with a VLAN tag between them", func(b []byte) []byte {
			tag := []byte{0x88, 0xb5, 0, 0}
			return append(append(bytes.Clone(b[:12]), tag...), vlan(append(append(bytes.Clone(b[:12]), tag...), b[12:]...), 12, 0x8100)[12:]...)
		}, wire.ErrNotTransport},
		{"a SecTAG", func(b []byte) []byte { return secTag(b, 12, 0) }, wire.ErrNotTransport},
		{"a SecTAG behind a CSIG tag", func(b []byte) []byte {
			return append(append(bytes.Clone(b[:12]), 0x88, 0xb5, 0, 0), secTag(b, 12, 0)[12:]...)
		}, wire.ErrNotTransport},
		{"ciphertext", func(b []byte) []byte { return secTag(b, 12, 0x0c) }, wire.ErrNotTransport},
		{"cut within a VLAN tag", func(b []byte) []byte { return vlan(b, 12, 0x9100)[:17] }, wire.ErrTruncated},
		{"cut within a SecTAG", func(b []byte) []byte { return secTag(b, 12, 0x20)[:27] }, wire.ErrTruncated},
		{"cut within a CSIG tag", func(b []byte) []byte { return append(bytes.Clone(b[:12]), 0x88, 0xb6, 0, 0, 0) }, wire.ErrTruncated},
	}
	var q wire.Packet
	for _, tc := range tests {
		if err := q.Parse(tc.edit(bytes.Clone(valid)), format); !errors.Is(err, tc.want) {
			t.Errorf("%s: Parse = %v, want %v", tc.name, err, tc.want)
		}
	}
	if err := q.Parse(valid, format); err != nil {
		t.Errorf("the frame that was edited: %v", err)
	}
	tagged := build(r, wire.Data)
	addTag(r, tagged, 4)
	if err := q.Parse(frame(r, tagged), wire.Format{Sizes: format.Sizes}); !errors.Is(err, wire.ErrNotTransport) {
		t.Errorf("a tag in a fabric without CSIG: Parse = %v, want %v", err, wire.ErrNotTransport)
	}
}

func TestParseVLANs(t *testing.T) {
	r, seed := random()
	for _, n := range []int{0, 4, 8} {
		p := build(r, wire.Data)
		if n > 0 {
			addTag(r, p, n)
		}
		plain := frame(r, p)
		for name, f := range map[string][]byte{
			"C-tag":                  vlan(plain, 12, 0x8100),
			"S-tag, C-tag":           vlan(vlan(plain, 12, 0x8100), 12, 0x88a8),
			"S-tag, CSIG, C-tag":     vlan(vlan(plain, 12+n, 0x8100), 12, 0x88a8),
			"old double tag":         vlan(vlan(plain, 12, 0x8100), 12, 0x9100),
			"three C-tags":           vlans(plain, 3),
			"eight C-tags":           vlans(plain, 8),
			"eight around the CSIG":  vlans(vlan(vlan(plain, 12+n, 0x8100), 12+n, 0x88a8), 6),
			"trailer after the data": append(bytes.Clone(plain), make([]byte, 24)...),
		} {
			var q wire.Packet
			if err := q.Parse(f, format); err != nil {
				t.Errorf("seed %d: %s with a tag of %d: %v", seed, name, n, err)
				continue
			}
			if !bytes.Equal(q.Tag(), p.Tag()) || q.Flow() != p.Flow() || q.Size != p.Size || len(q.Payload) != p.PayloadLen {
				t.Errorf("seed %d: %s with a tag of %d: got %+v", seed, name, n, viewOf(&q))
			}
			// Editing the tag in the middle of the stack leaves the VLANs alone.
			headerLen := len(q.Header())
			q.StripTag()
			if len(q.Header()) != headerLen-n || q.Source() != p.Source() || q.Tag() != nil {
				t.Errorf("seed %d: %s: stripped header of %d bytes, want %d", seed, name, len(q.Header()), headerLen-n)
			}
		}
	}
}

// The longest headers that Parse takes have room for a tag: an ACK's, and Weights', behind three
// VLAN tags, the others' behind eight.
func TestLongestHeaders(t *testing.T) {
	r, seed := random()
	for _, kind := range kinds {
		p, n := build(r, kind), 8
		if kind == wire.Ack || kind == wire.Weights {
			n = 3
		}
		f := vlans(frame(r, p), n)
		var q, again wire.Packet
		if err := q.Parse(f, format); err != nil {
			t.Fatalf("seed %d: %v behind %d VLAN tags: %v", seed, kind, n, err)
		}
		addTag(r, &q, 8)
		// The tag is the last one before the EtherType.
		if got, want := q.Header()[:12+4*n+8], append(bytes.Clone(f[:12+4*n]), q.Tag()...); !bytes.Equal(got, want) {
			t.Errorf("seed %d: %v: tagged header begins with %x, want %x", seed, kind, got, want)
		}
		if err := again.Parse(append(bytes.Clone(q.Header()), q.Payload...), format); err != nil || !bytes.Equal(again.Tag(), q.Tag()) {
			t.Errorf("seed %d: %v, tagged: tag %x, %v, want %x", seed, kind, again.Tag(), err, q.Tag())
		}
		if len(q.Header()) > wire.MaxHeader {
			t.Errorf("seed %d: %v: %d bytes of headers, room for %d", seed, kind, len(q.Header()), wire.MaxHeader)
		}
		if err := q.Parse(vlans(frame(r, p), 4), format); kind == wire.Ack && !errors.Is(err, wire.ErrHeaders) {
			t.Errorf("seed %d: an ACK behind four VLAN tags: Parse = %v, want %v", seed, err, wire.ErrHeaders)
		}
	}
}

func TestParseElided(t *testing.T) {
	r, seed := random()
	elided := format
	elided.Elided = true
	p := build(r, wire.Data)
	addTag(r, p, 8)
	var q wire.Packet
	if err := q.Parse(p.Header(), elided); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if diff := cmp.Diff(viewOf(&q), viewOf(p)); diff != "" || q.Payload != nil {
		t.Errorf("seed %d: elided, parsed (payload %v):\n%s", seed, q.Payload, diff)
	}
	if err := q.Parse(p.Header(), format); p.PayloadLen > 0 && !errors.Is(err, wire.ErrTruncated) {
		t.Errorf("seed %d: a whole frame without its payload: Parse = %v, want %v", seed, err, wire.ErrTruncated)
	}
}

// No input makes Parse panic, and what it accepts parses again from the bytes
// that it would send.
func FuzzParse(f *testing.F) {
	r, _ := random()
	for _, kind := range kinds {
		p := build(r, kind)
		f.Add(p.Header(), true)
		addTag(r, p, 8)
		f.Add(frame(r, p)[:min(len(p.Header())+p.PayloadLen, 200)], false)
		f.Add(vlan(p.Header(), 12, 0x8100), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, elided bool) {
		format := format
		format.Elided = elided
		var p, q wire.Packet
		if p.Parse(b, format) != nil {
			return
		}
		sent := append(bytes.Clone(p.Header()), p.Payload...)
		if err := q.Parse(sent, format); err != nil {
			t.Fatalf("%x was accepted, but what it sends, %x, is not: %v", b, sent, err)
		}
		if diff := cmp.Diff(viewOf(&q), viewOf(&p)); diff != "" {
			t.Fatalf("%x parses differently from its own bytes:\n%s", b, diff)
		}
		// Nothing that a switch does to an accepted packet panics.
		p.DecrementTTL()
		p.MarkCE()
		p.Trim(format.Sizes, true)
		p.StripTag()
		if err := q.Parse(p.Header(), format); err != nil {
			t.Fatalf("%x: trimmed and stripped: %v", b, err)
		}
	})
}

// Neither the tag nor its presence enters the ECMP hash
// (docs/reference/references.md#tag-position), and trimming keeps the path.
func TestHashIgnoresTheTag(t *testing.T) {
	r, seed := random()
	for range 500 {
		p, s := build(r, wire.Data), r.Uint64()
		want := p.Hash(s)
		for _, n := range []int{4, 8} {
			addTag(r, p, n)
			if got := p.Hash(s); got != want {
				t.Fatalf("seed %d: hash with a tag of %d = %#x, without %#x", seed, n, got, want)
			}
			p.StripTag()
		}
		p.MarkCE()
		p.DecrementTTL()
		p.Trim(format.Sizes, false)
		if got := p.Hash(s); got != want {
			t.Fatalf("seed %d: hash after MarkCE, DecrementTTL and Trim = %#x, before %#x", seed, got, want)
		}
	}
}

// The hash spreads source ports evenly over any number of paths, whatever the
// seed, and two switches decide independently.
func TestHashIsUniform(t *testing.T) {
	r, seed := random()
	const ports = 16384
	for _, paths := range []int{2, 3, 4, 8, 13, 64} {
		for range 20 {
			first, second := r.Uint64(), r.Uint64()
			counts, pairs := make([]int, paths), make([]int, paths*paths)
			a := wire.Addresses{Source: wire.HostIP(r.IntN(1024)), Destination: wire.HostIP(r.IntN(1024))}
			for i := range ports {
				a.SourcePort = uint16(wire.EntropyBase + i)
				var p wire.Packet
				p.Build(a, wire.Data, 0, wire.ECT0, 0)
				x, y := path(p.Hash(first), paths), path(p.Hash(second), paths)
				counts[x]++
				pairs[x*paths+y]++
			}
			for name, c := range map[string][]int{"one switch": counts, "two switches": pairs} {
				// Six standard deviations of chi-square with n-1 degrees of freedom.
				n := float64(len(c) - 1)
				if got, limit := chiSquare(c, ports), n+6*math.Sqrt(2*n)+10; got > limit {
					t.Errorf("seed %d: %s, %d paths: chi-square %.1f, want at most %.1f", seed, name, paths, got, limit)
				}
			}
		}
	}
}

func path(hash uint64, paths int) int { return int(hash >> 32 * uint64(paths) >> 32) }

func chiSquare(counts []int, total int) (sum float64) {
	want := float64(total) / float64(len(counts))
	for _, c := range counts {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	return sum
}

// A decoder that knows nothing of us reads our frames.
func TestGopacketDecodes(t *testing.T) {
	r, seed := random()
	for _, kind := range kinds {
		for _, n := range []int{0, 4, 8} {
			p := build(r, kind)
			if n > 0 {
				addTag(r, p, n)
			}
			f := frame(r, p)
			if n > 0 {
				// gopacket has no layer for the tag's EtherType: it shows the MAC
				// addresses and the TPID, and reads on behind the tag.
				outer := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
				eth, _ := outer.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
				if eth == nil || uint16(eth.EthernetType) != binary.BigEndian.Uint16(p.Tag()) {
					t.Fatalf("seed %d: %v: Ethernet layer %v, want EtherType %x", seed, kind, eth, p.Tag()[:2])
				}
				f = append(bytes.Clone(f[:12]), f[12+n:]...)
			}
			packet := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
			if e := packet.ErrorLayer(); e != nil {
				t.Fatalf("seed %d: %v: %v", seed, kind, e.Error())
			}
			ip, _ := packet.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
			udp, _ := packet.Layer(layers.LayerTypeUDP).(*layers.UDP)
			if ip == nil || udp == nil {
				t.Fatalf("seed %d: %v: layers %v, want Ethernet, IPv4, UDP", seed, kind, packet)
			}
			if int(ip.Length) != len(f)-wire.EthernetLen || binary.BigEndian.Uint32(ip.SrcIP.To4()) != p.Source() ||
				binary.BigEndian.Uint32(ip.DstIP.To4()) != p.Destination() || ip.TOS != p.DSCP()<<2|p.ECN() || ip.TTL != 64 ||
				ip.Flags != layers.IPv4DontFragment {
				t.Errorf("seed %d: %v: IPv4 %+v", seed, kind, ip)
			}
			if udp.DstPort != wire.UETPort || uint16(udp.SrcPort) != p.SourcePort() || int(udp.Length) != int(ip.Length)-20 || udp.Checksum != 0 {
				t.Errorf("seed %d: %v: UDP %+v", seed, kind, udp)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	r, _ := random()
	p := build(r, wire.Data)
	addTag(r, p, 4)
	f := frame(r, p)
	var q wire.Packet
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Parse(f, format); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseRaw is what a frame of a program costs, and a stack of tags.
func BenchmarkParseRaw(b *testing.B) {
	r, _ := random()
	frames := rawFrames(b, r)
	for _, name := range []string{"TCP", "S-tag, C-tag", "ARP"} {
		b.Run(name, func(b *testing.B) {
			var q wire.Packet
			b.ReportAllocs()
			for b.Loop() {
				if err := q.ParseRaw(frames[name], open); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTag puts a tag on a packet and takes it off.
func BenchmarkTag(b *testing.B) {
	r, _ := random()
	p := build(r, wire.Data)
	b.ReportAllocs()
	for b.Loop() {
		binary.BigEndian.PutUint16(p.InsertTag(4), tpidCompact)
		p.StripTag()
	}
}

func BenchmarkHash(b *testing.B) {
	r, _ := random()
	p := build(r, wire.Data)
	var sum uint64
	for b.Loop() {
		sum += p.Hash(sum)
	}
}
