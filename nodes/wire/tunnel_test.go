package wire_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/wire"
)

// The tunnels of tunnelTest: hosts 0 to 7 are on switch 20, others on switch 21.
var tunnelTest = func() wire.Format {
	f := open
	f.Tunnel = &wire.Tunnel{VNI: 0xabcdef, Ends: make([]int32, 16)}
	for h := range f.Tunnel.Ends {
		f.Tunnel.Ends[h] = int32(20 + h/8)
	}
	return f
}()

// between makes a packet of the transport one from host 3 to host 9.
func between(r *rand.Rand, kind wire.Kind) *wire.Packet {
	var p wire.Packet
	payload := 0
	if kind == wire.Data {
		payload = 1 + r.IntN(4000)
	}
	p.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(9), SourcePort: wire.EntropyBase + uint16(r.IntN(1000))}, kind, wire.Flags(r.IntN(1<<5)), wire.ECT0, payload)
	p.SetMACs(wire.MAC(20, 2), wire.MAC(3, 0))
	p.Payload = make([]byte, payload)
	p.Size = open.Of(&p)
	return &p
}

// whole returns the frame of a packet on a link.
func whole(p *wire.Packet) []byte {
	return append(bytes.Clone(p.HeaderOnWire(nil, tunnelTest.Tunnel)), p.Payload...)
}

// same reports whether two packets are the same to a machine, and on the wire.
func same(p, q *wire.Packet) bool {
	return bytes.Equal(wholeOf(p), wholeOf(q)) && bytes.Equal(whole(p), whole(q)) && p.Size == q.Size && p.PayloadLen == q.PayloadLen &&
		p.InTunnel() == q.InTunnel() && bytes.Equal(p.Tag(), q.Tag()) && bytes.Equal(p.HiddenTag(), q.HiddenTag())
}

// A packet goes through a tunnel: what switches do to it there is in the outer header, is in the
// packet that a node reads from a link, and has come to the inner packet at the far end.
func TestTunnel(t *testing.T) {
	r, seed := random()
	domain, err := csig.NewDomain(csig.Config{Format: csig.FormatWide, TPIDCompact: tpidCompact, TPIDWide: tpidWide})
	if err != nil {
		t.Fatal(err)
	}
	packets := map[string]*wire.Packet{}
	for _, kind := range kinds {
		packets[kind.String()] = between(r, kind)
	}
	for name, f := range rawFrames(t, r) {
		var p wire.Packet
		if err := p.Parse(f, tunnelTest); err != nil {
			t.Fatal(err)
		}
		packets[name] = &p
	}
	for name, given := range packets {
		for _, tagged := range []bool{false, true} {
			for _, moves := range []bool{false, true} {
				p := *given
				opaque := p.Kind() == wire.Raw && p.EtherType() == 0x88e5 // nothing is put on behind a SecTAG
				if opaque || name == "SecTAG" || name == "SecTAG with SCI, C-tag" || name == "VLAN tag cut short" || name == "CSIG tag cut short" || name == "nothing but 14 B" {
					if tagged {
						continue
					}
				}
				if tagged {
					domain.Init(p.InsertTag(8), csig.Delay)
				}
				before, tag := p, bytes.Clone(p.Tag())
				p.EnterTunnel(moves)
				p.Size = open.Of(&p)
				if p.Size != before.Size+wire.TunnelLen || tagged && moves != (p.Tag() != nil) || tagged && moves != (p.HiddenTag() == nil) {
					t.Fatalf("seed %d, %s: in the tunnel %v, was %v; tag %x, hidden %x", seed, name, p.Size, before.Size, p.Tag(), p.HiddenTag())
				}
				// A hop.
				if p.Kind() != wire.Raw {
					p.DecrementTTL()
					p.SetMACs(wire.MAC(21, 0), wire.MAC(20, 5))
				}
				marked := p.ECN() == wire.ECT0
				if marked {
					p.MarkCE()
				}
				if p.Tag() != nil {
					domain.Update(p.Tag(), 12345, 7)
				}
				f := whole(&p)
				checkOuter(t, name, f, &p, moves && tagged)
				var q wire.Packet
				if err := q.Parse(f, tunnelTest); err != nil {
					t.Fatalf("seed %d, %s: %v: %x", seed, name, err, f)
				}
				if name != "IPv6 TCP" && name != "IPv6 UDP" && name != "IPv6 extension" && !same(&p, &q) {
					t.Fatalf("seed %d, %s, tag %v, moves %v:\nsent %x\nread %x\nas %x\nand %x", seed, name, tagged, moves, wholeOf(&p), wholeOf(&q), whole(&p), whole(&q))
				}
				if lost := q.LeaveTunnel(moves); lost || q.InTunnel() {
					t.Errorf("%s: lost %v", name, lost)
				}
				q.Size = open.Of(&q)
				if q.Size != before.Size || marked != (q.ECN() == wire.CE) || tagged != (q.Tag() != nil) || tagged && moves == bytes.Equal(q.Tag(), tag) {
					t.Errorf("seed %d, %s: behind the tunnel %v, was %v; ECN %d, tag %x, was %x", seed, name, q.Size, before.Size, q.ECN(), q.Tag(), tag)
				}
			}
		}
	}
}

// checkOuter decodes a frame in a tunnel with another decoder.
func checkOuter(t *testing.T, name string, f []byte, p *wire.Packet, outside bool) {
	t.Helper()
	if outside {
		if binary.BigEndian.Uint16(f[12:]) != tpidWide {
			t.Fatalf("%s: no tag in front: %x", name, f[:30])
		}
		f = append(bytes.Clone(f[:12]), f[20:]...)
	}
	packet := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
	ip, _ := packet.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	vxlan, _ := packet.Layer(layers.LayerTypeVXLAN).(*layers.VXLAN)
	if ip == nil || vxlan == nil {
		t.Fatalf("%s: %v", name, packet)
	}
	sum := 0
	for i := 14; i < 34; i += 2 {
		sum += int(binary.BigEndian.Uint16(f[i:]))
	}
	if sum = sum>>16 + sum&0xffff; sum != 0xffff {
		t.Errorf("%s: the outer checksum is wrong by %04x", name, sum)
	}
	udp := packet.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if ip.SrcIP.String() != "10.0.0.21" || ip.DstIP.String() != "10.0.0.22" || udp.DstPort != 4789 || udp.SrcPort < 49152 || udp.Checksum != 0 ||
		int(ip.Length) != len(f)-14 || int(udp.Length) != len(f)-34 || vxlan.VNI != 0xabcdef || !vxlan.ValidIDFlag || ip.TOS&3 != p.ECN() || ip.TOS>>2 != p.DSCP() {
		t.Errorf("%s: %v: %v %v %v", name, len(f), ip, udp, vxlan)
	}
	if p.Kind() != wire.Raw && (ip.TTL != 63 || !bytes.Equal(vxlan.Payload[:12], []byte{2, 0, 0, 9, 0, 0, 2, 0, 0, 3, 0, 0})) {
		t.Errorf("%s: TTL %d, inner addresses %x", name, ip.TTL, vxlan.Payload[:12])
	}
	if p.Kind() != wire.Raw { // the inner header is as it was sent
		at := bytes.Index(vxlan.Payload, []byte{0x08, 0x00, 0x45})
		if tos, ttl := vxlan.Payload[at+3], vxlan.Payload[at+10]; ttl != 64 || tos&3 != wire.ECT0 {
			t.Errorf("%s: inner TTL %d, TOS %x", name, ttl, tos)
		}
	}
}

// An end that does not move tags loses one of the outer header; a trimmed packet stays one.
func TestTunnelEnds(t *testing.T) {
	r, _ := random()
	domain, err := csig.NewDomain(csig.Config{Format: csig.FormatWide, TPIDCompact: tpidCompact, TPIDWide: tpidWide})
	if err != nil {
		t.Fatal(err)
	}
	p := between(r, wire.Data)
	domain.Init(p.InsertTag(8), csig.Delay)
	p.EnterTunnel(true)
	p.Trim(open.Sizes, false)
	if p.Size != 64+wire.TunnelLen {
		t.Errorf("trimmed in a tunnel it has %v", p.Size)
	}
	var q wire.Packet
	if err := q.Parse(whole(p), tunnelTest); err != nil || !same(p, &q) || !q.Trimmed() {
		t.Errorf("%v: %x is read as %x", err, whole(p), whole(&q))
	}
	if !q.LeaveTunnel(false) || q.Tag() != nil || !q.Trimmed() {
		t.Errorf("tag %x is left, trimmed %v", q.Tag(), q.Trimmed())
	}
}

// A program's own VXLAN frame is none of the fabric's tunnels, nor is a frame of another network.
func TestTunnelsOfOthers(t *testing.T) {
	r, _ := random()
	p := between(r, wire.Data)
	p.EnterTunnel(true)
	f := whole(p)
	for name, change := range map[string]func(f []byte){
		"to a host":    func(f []byte) { f[33], f[25] = 10, f[25]+12 },
		"another VNI":  func(f []byte) { f[14+20+8+4]++ },
		"another port": func(f []byte) { f[14+20+3]++ },
		"no VNI":       func(f []byte) { f[14+20+8] = 0 },
		"damaged":      func(f []byte) { f[14+9+1]++ },
	} {
		other := bytes.Clone(f)
		change(other)
		var q wire.Packet
		if err := q.Parse(other, tunnelTest); err != nil || q.InTunnel() || q.Kind() != wire.Raw {
			t.Errorf("%s: %v, in a tunnel %v, %v", name, err, q.InTunnel(), q.Kind())
		}
	}
}

// Whatever comes in, what is read as a packet in a tunnel is a frame that is read as the same one.
func FuzzTunnel(f *testing.F) {
	r, _ := random()
	for _, kind := range kinds {
		p := between(r, kind)
		p.EnterTunnel(true)
		f.Add(whole(p)[:min(len(whole(p)), 300)])
	}
	for _, b := range rawFrames(f, r) {
		var p wire.Packet
		if err := p.Parse(b, tunnelTest); err != nil {
			f.Fatal(err)
		}
		p.EnterTunnel(false)
		f.Add(whole(&p)[:min(len(whole(&p)), 300)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, q wire.Packet
		if p.Parse(b, tunnelTest) != nil || !p.InTunnel() || p.SourceHost() < 0 || p.SourceHost() > 15 || p.DestinationHost() < 0 || p.DestinationHost() > 15 {
			return
		}
		if err := q.Parse(whole(&p), tunnelTest); err != nil || !q.InTunnel() || !bytes.Equal(wholeOf(&p), wholeOf(&q)) {
			t.Fatalf("%v: %x\nis read as   %x\nand as       %x", err, b, wholeOf(&p), wholeOf(&q))
		}
	})
}
