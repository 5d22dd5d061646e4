package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// open is the format of a fabric with programs on its hosts.
var open = func() wire.Format {
	f := format
	f.Raw = true
	return f
}()

func mac(host int) net.HardwareAddr {
	a := wire.MAC(host, 0)
	return a[:]
}

func serialise(t testing.TB, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

// rawFrames are frames of other protocols, from host 3 to host 9, ECT(0) where
// they can be.
func rawFrames(t testing.TB, r *rand.Rand) map[string][]byte {
	load := make([]byte, 200+r.IntN(1200))
	for i := range load {
		load[i] = byte(r.Uint32())
	}
	eth := func(etherType layers.EthernetType) *layers.Ethernet {
		return &layers.Ethernet{SrcMAC: mac(3), DstMAC: mac(9), EthernetType: etherType}
	}
	ip4 := func(p layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, TTL: uint8(1 + r.IntN(255)), TOS: wire.ECT0, Id: uint16(r.Uint32()), Protocol: p,
			SrcIP: net.IPv4(10, 0, 0, 4), DstIP: net.IPv4(10, 0, 0, 10)}
	}
	ip6 := func(next layers.IPProtocol) *layers.IPv6 {
		return &layers.IPv6{Version: 6, HopLimit: 64, TrafficClass: wire.ECT0, FlowLabel: r.Uint32() >> 12, NextHeader: next,
			SrcIP: net.ParseIP("fd00:c51c::a00:4"), DstIP: net.ParseIP("fd00:c51c::a00:a")}
	}
	tcp := func(ip gopacket.NetworkLayer) *layers.TCP {
		l := &layers.TCP{SrcPort: layers.TCPPort(r.Uint32()), DstPort: 5201, Seq: r.Uint32(), ACK: true, Window: 500}
		l.SetNetworkLayerForChecksum(ip) //nolint:errcheck // it is IP
		return l
	}
	udp := func(ip gopacket.NetworkLayer, to layers.UDPPort) *layers.UDP {
		l := &layers.UDP{SrcPort: layers.UDPPort(r.Uint32()), DstPort: to}
		l.SetNetworkLayerForChecksum(ip) //nolint:errcheck // it is IP
		return l
	}
	v4, v4udp, v6, v6udp := ip4(layers.IPProtocolTCP), ip4(layers.IPProtocolUDP), ip6(layers.IPProtocolTCP), ip6(layers.IPProtocolUDP)
	options := ip4(layers.IPProtocolTCP)
	options.Options = []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
	first, later := ip4(layers.IPProtocolUDP), ip4(layers.IPProtocolUDP)
	first.Flags, later.FragOffset = layers.IPv4MoreFragments, 185
	hop := &layers.IPv6HopByHop{Options: []*layers.IPv6HopByHopOption{{OptionType: 1, OptionLength: 4, OptionData: make([]byte, 4)}}}
	hop.NextHeader = layers.IPProtocolTCP
	payload := gopacket.Payload(load)
	frames := map[string][]byte{
		"TCP":                serialise(t, eth(layers.EthernetTypeIPv4), v4, tcp(v4), payload),
		"TCP ACK":            serialise(t, eth(layers.EthernetTypeIPv4), v4, tcp(v4)),
		"UDP":                serialise(t, eth(layers.EthernetTypeIPv4), v4udp, udp(v4udp, 5001), payload),
		"UDP without load":   serialise(t, eth(layers.EthernetTypeIPv4), v4udp, udp(v4udp, 5001)),
		"ICMP":               serialise(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: 8 << 8}, payload),
		"IPv4 options":       serialise(t, eth(layers.EthernetTypeIPv4), options, tcp(options), payload),
		"first fragment":     serialise(t, eth(layers.EthernetTypeIPv4), first, udp(first, wire.UETPort), payload),
		"later fragment":     serialise(t, eth(layers.EthernetTypeIPv4), later, payload),
		"IPv6 TCP":           serialise(t, eth(layers.EthernetTypeIPv6), v6, tcp(v6), payload),
		"IPv6 UDP":           serialise(t, eth(layers.EthernetTypeIPv6), v6udp, udp(v6udp, 5001)),
		"IPv6 extension":     serialise(t, eth(layers.EthernetTypeIPv6), ip6(layers.IPProtocolIPv6HopByHop), hop, tcp(v6), payload),
		"ARP":                append(serialise(t, eth(layers.EthernetTypeARP)), make([]byte, 28)...),
		"another EtherType":  append(serialise(t, eth(0x9000)), load...),
		"LLC":                append(serialise(t, eth(layers.EthernetTypeLLC))[:12], 0, 3, 0x42, 0x42, 3),
		"nothing but 14 B":   serialise(t, eth(0x9000)),
		"IPv4 cut short":     serialise(t, eth(layers.EthernetTypeIPv4), v4)[:14+19],
		"IPv6 cut short":     serialise(t, eth(layers.EthernetTypeIPv6), v6)[:14+39],
		"ports cut off":      serialise(t, eth(layers.EthernetTypeIPv4), v4)[:14+20],
		"version 5 for IPv4": append(serialise(t, eth(layers.EthernetTypeIPv4)), append([]byte{0x55}, load...)...),
	}
	bad := bytes.Clone(frames["UDP"])
	bad[14+10] ^= 1
	frames["wrong IPv4 checksum"] = bad
	tcpFrame := frames["TCP"]
	frames["C-tag"] = vlan(tcpFrame, 12, 0x8100)
	frames["S-tag, C-tag"] = vlan(vlan(tcpFrame, 12, 0x8100), 12, 0x88a8)
	frames["three VLAN tags"] = vlans(tcpFrame, 3)
	frames["eight VLAN tags"] = vlans(tcpFrame, 8)
	frames["nine VLAN tags"] = vlans(tcpFrame, 9)
	frames["SecTAG"] = secTag(tcpFrame, 12, 0)
	frames["SecTAG with SCI, C-tag"] = secTag(vlan(frames["IPv6 TCP"], 12, 0x8100), 12, 0x20)
	frames["ciphertext"] = secTag(tcpFrame, 12, 0x2c)
	frames["SecTAG cut short"] = secTag(tcpFrame, 12, 0x20)[:27]
	frames["VLAN tag cut short"] = vlan(tcpFrame, 12, 0x8100)[:17]
	frames["CSIG tag cut short"] = append(bytes.Clone(tcpFrame[:12]), 0x88, 0xb6, 1, 2, 3)
	return frames
}

// wholeOf is the frame that a packet stands for.
func wholeOf(p *wire.Packet) []byte { return append(bytes.Clone(p.Header()), p.Payload...) }

// What a raw frame holds is carried as it is, whatever is done to its tag, and
// the tag changes neither its size nor its way.
func TestRawFramesAreCarriedAsTheyAre(t *testing.T) {
	r, seed := random()
	counted := open
	counted.CountTag = true
	for name, f := range rawFrames(t, r) {
		var p, q wire.Packet
		if err := p.Parse(f, format); err == nil {
			t.Errorf("%s: accepted in a fabric of our transport alone", name)
		}
		if err := p.Parse(f, open); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Kind() != wire.Raw || !p.Queues() || p.SourceHost() != 3 || p.DestinationHost() != 9 || p.Tag() != nil {
			t.Errorf("%s: %v, queues %v, from %d to %d", name, p.Kind(), p.Queues(), p.SourceHost(), p.DestinationHost())
		}
		if got := wholeOf(&p); !bytes.Equal(got, f) {
			t.Fatalf("seed %d: %s: %x became %x", seed, name, f, got)
		}
		if want := units.Size(len(f) + 4); p.Size != want || p.PayloadLen != len(p.Payload) {
			t.Errorf("%s: %v on the wire, %d B of payload, want %v, %d", name, p.Size, p.PayloadLen, want, len(p.Payload))
		}
		if s := p.String(); !strings.Contains(s, "raw frame") {
			t.Errorf("%s: %q", name, s)
		}
		hash := p.Hash(seed)
		for _, n := range []int{4, 8} {
			addTag(r, &p, n)
			tagged := wholeOf(&p)
			if err := q.Parse(tagged, counted); err != nil {
				t.Fatalf("%s with a tag of %d: %v", name, n, err)
			}
			if !bytes.Equal(q.Tag(), p.Tag()) || q.Kind() != wire.Raw || q.Hash(seed) != hash || p.Hash(seed) != hash {
				t.Errorf("%s: tag %x became %x; hash %x, %x, untagged %x", name, p.Tag(), q.Tag(), p.Hash(seed), q.Hash(seed), hash)
			}
			if want := units.Size(len(f) + 4); open.Of(&q) != want || q.Size != want+units.Size(n) {
				t.Errorf("%s with a tag of %d: %v, counted %v", name, n, open.Of(&q), q.Size)
			}
			q.StripTag()
			if got := wholeOf(&q); !bytes.Equal(got, f) {
				t.Fatalf("seed %d: %s: tagged and stripped %x became %x", seed, name, f, got)
			}
			p.StripTag()
		}
	}
}

// The codepoint is where RFC 3168 §5 has it, in both IPs, and a mark keeps the
// header checksum of IPv4 right (RFC 1624). Nothing else has one.
func TestRawECN(t *testing.T) {
	r, seed := random()
	for name, f := range rawFrames(t, r) {
		var p wire.Packet
		if err := p.Parse(f, open); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := uint8(wire.NotECT)
		decoded := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.NoCopy)
		v4, _ := decoded.NetworkLayer().(*layers.IPv4)
		v6, _ := decoded.NetworkLayer().(*layers.IPv6)
		if (v4 != nil && v4.Version == 4 || v6 != nil) && decoded.ErrorLayer() == nil && name != "nine VLAN tags" {
			want = wire.ECT0
		}
		if got := p.ECN(); got != want {
			t.Errorf("%s: ECN %d, want %d", name, got, want)
		}
		p.MarkCE()
		marked := gopacket.NewPacket(wholeOf(&p), layers.LayerTypeEthernet, gopacket.NoCopy)
		if want == wire.NotECT {
			if !bytes.Equal(wholeOf(&p), f) {
				t.Errorf("%s: marked %x to %x", name, f, wholeOf(&p))
			}
			continue
		}
		if p.ECN() != wire.CE {
			t.Errorf("%s: ECN %d after a mark", name, p.ECN())
		}
		switch ip := marked.NetworkLayer().(type) {
		case *layers.IPv4:
			if ip.TOS != wire.CE || len(ip.Contents) == 20 && (slowChecksum(ip.Contents) == 0) != (slowChecksum(v4.Contents) == 0) {
				t.Errorf("seed %d: %s: TOS %x, checksum right before %v, after %v", seed, name, ip.TOS, slowChecksum(v4.Contents) == 0, slowChecksum(ip.Contents) == 0)
			}
		case *layers.IPv6:
			if ip.TrafficClass != wire.CE || ip.FlowLabel != v6.FlowLabel {
				t.Errorf("%s: traffic class %x, flow label %x, want %x, %x", name, ip.TrafficClass, ip.FlowLabel, wire.CE, v6.FlowLabel)
			}
		default:
			t.Errorf("%s: marked to what is no IP: %v", name, marked)
		}
	}
}

// ECMP goes by the 5-tuple where a packet has one, by the addresses where it is a
// fragment or has extension headers, and by nothing else.
func TestRawHash(t *testing.T) {
	r, seed := random()
	frames := rawFrames(t, r)
	hash := func(f []byte) uint64 {
		var p wire.Packet
		if err := p.Parse(f, open); err != nil {
			t.Fatal(err)
		}
		return p.Hash(seed)
	}
	const ip = wire.EthernetLen
	for _, tc := range []struct {
		frame        string
		moves, stays []int // offsets that must change the hash, and that must not
	}{
		{"TCP", []int{ip + 12, ip + 15, ip + 16, ip + 19, ip + 9, ip + 20, ip + 21, ip + 22, ip + 23}, []int{0, 6, ip + 1, ip + 4, ip + 8, ip + 10, ip + 24, ip + 40, 120}},
		{"UDP without load", []int{ip + 20, ip + 23}, []int{ip + 8, ip + 24}},
		{"IPv4 options", []int{ip + 12, ip + 19, ip + 24, ip + 27}, []int{ip + 20, ip + 23, ip + 28}},
		{"first fragment", []int{ip + 12, ip + 19}, []int{ip + 20, ip + 23, ip + 4, ip + 7}},
		{"later fragment", []int{ip + 12, ip + 19}, []int{ip + 20, ip + 7}},
		{"ICMP", []int{ip + 12, ip + 19}, []int{ip + 20, ip + 24}},
		{"IPv6 TCP", []int{ip + 8, ip + 15, ip + 16, ip + 23, ip + 24, ip + 31, ip + 32, ip + 39, ip + 40, ip + 43}, []int{0, ip + 1, ip + 2, ip + 7, ip + 44}},
		{"IPv6 extension", []int{ip + 8, ip + 39}, []int{ip + 40, ip + 44, ip + 48, ip + 50}},
		{"another EtherType", []int{0, 5, 6, 11, 13}, []int{ip, ip + 20}},
	} {
		f := frames[tc.frame]
		want := hash(f)
		for i, at := range append(tc.moves, tc.stays...) {
			changed := bytes.Clone(f)
			changed[at] ^= 0x10
			if got := hash(changed); (got == want) != (i >= len(tc.moves)) {
				t.Errorf("seed %d: %s: hash %x, with byte %d changed %x", seed, tc.frame, want, at, got)
			}
		}
	}
}

// What is for the transport's port is the transport's, and refused if it is broken,
// in a fabric with programs as well.
func TestRawIsNotBrokenTransport(t *testing.T) {
	r, _ := random()
	p := build(r, wire.Data)
	valid := frame(r, p)
	var q wire.Packet
	if err := q.Parse(valid, open); err != nil || q.Kind() != wire.Data {
		t.Errorf("our own packet: %v, %v", q.Kind(), err)
	}
	for name, edit := range map[string]func(b []byte) []byte{
		"checksum":                    func(b []byte) []byte { b[14+10] ^= 1; return b },
		"cut in the transport header": func(b []byte) []byte { return b[:14+28+3] },
		"cut behind the UDP header":   func(b []byte) []byte { return b[:14+28] },
		"UDP length":                  func(b []byte) []byte { b[14+25] ^= 1; return b },
		"kind that there is not":      func(b []byte) []byte { b[14+28] = 'A'; return b },
		"behind a VLAN tag, checksum": func(b []byte) []byte { b[14+10] ^= 1; return vlan(b, 12, 0x8100) },
	} {
		f := edit(bytes.Clone(valid))
		if err := q.Parse(f, open); err == nil {
			t.Errorf("%s: accepted as %v", name, q.Kind())
		}
		// A program's is a raw frame, so that whoever drops it can say why.
		if err := q.ParseRaw(f, open); err != nil || q.Kind() != wire.Raw || !q.ForTransport() || !bytes.Equal(wholeOf(&q), f) {
			t.Errorf("%s from a program: %v, %v, for the transport %v", name, err, q.Kind(), q.ForTransport())
		}
	}
	if err := q.ParseRaw(valid, open); err != nil || q.Kind() != wire.Raw || !q.ForTransport() {
		t.Errorf("a program's like ours: %v, %v, for the transport %v", err, q.Kind(), q.ForTransport())
	}
	for _, f := range [][]byte{nil, valid[:13]} {
		if err := q.ParseRaw(f, open); !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("%d B: ParseRaw = %v, want %v", len(f), err, wire.ErrTruncated)
		}
	}
	if err := q.ParseRaw(valid, format); !errors.Is(err, wire.ErrNotTransport) {
		t.Errorf("ParseRaw in a fabric of our transport alone = %v, want %v", err, wire.ErrNotTransport)
	}
	// A raw frame leaves nothing behind in a packet that is used again.
	if err := q.Parse(rawFrames(t, r)["IPv6 TCP"], open); err != nil {
		t.Fatal(err)
	}
	var c wire.Packet
	c.CopyHeader(&q)
	if c.Kind() != wire.Raw || c.ECN() != wire.ECT0 || c.Hash(1) != q.Hash(1) {
		t.Errorf("copied header: %v, ECN %d", c.Kind(), c.ECN())
	}
	q.Build(wire.Addresses{}, wire.Ack, 0, wire.NotECT, 0)
	if q.Kind() != wire.Ack || q.ECN() != wire.NotECT || open.Of(&q) != 64 {
		t.Errorf("built over a raw frame: %v, ECN %d, %v", q.Kind(), q.ECN(), open.Of(&q))
	}
}

// Behind a SecTAG that leaves the frame readable, a tag goes where
// TestInsertAndStrip of package csig has it; in front of one that does not. What is
// protected is neither marked nor hashed.
func TestTagOfProtectedFrames(t *testing.T) {
	r, seed := random()
	frames := rawFrames(t, r)
	for name, at := range map[string]int{"SecTAG": 20, "SecTAG with SCI, C-tag": 32, "ciphertext": 12, "SecTAG cut short": 12} {
		f := frames[name]
		var p, q wire.Packet
		if err := p.Parse(f, open); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		addTag(r, &p, 4)
		want := append(append(bytes.Clone(f[:at]), p.Tag()...), f[at:]...)
		if got := wholeOf(&p); !bytes.Equal(got, want) {
			t.Errorf("seed %d: %s: tagged %x, want %x", seed, name, got, want)
		}
		if err := q.Parse(want, open); err != nil || !bytes.Equal(q.Tag(), p.Tag()) {
			t.Errorf("%s: tag %x, %v, want %x", name, q.Tag(), err, p.Tag())
		}
		hash := q.Hash(seed)
		if q.MarkCE(); !bytes.Equal(wholeOf(&q), want) {
			t.Errorf("%s: marked %x, want %x", name, wholeOf(&q), want)
		}
		for i := at + 22; i < len(want); i++ { // from within the addresses of IP
			want[i] ^= 1
		}
		if err := q.Parse(want, open); err != nil || q.Hash(seed) != hash {
			t.Errorf("%s: %v, hash %x, of other IP addresses %x", name, err, hash, q.Hash(seed))
		}
	}
}

func TestHostOfMAC(t *testing.T) {
	for _, tc := range []struct {
		mac  [6]byte
		want int
	}{
		{wire.MAC(0, 0), 0}, {wire.MAC(1<<24-1, 0), 1<<24 - 1}, {wire.MAC(70000, 0), 70000},
		{wire.MAC(5, 1), -1}, {wire.MAC(5, 256), -1}, {[6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -1}, {[6]byte{}, -1},
	} {
		if got := wire.HostOfMAC(tc.mac); got != tc.want {
			t.Errorf("HostOfMAC(%x) = %d, want %d", tc.mac, got, tc.want)
		}
	}
}

// No frame makes a node panic; a raw one is carried byte for byte, its tag put
// on and taken off.
func FuzzRaw(f *testing.F) {
	r, _ := random()
	for _, frame := range rawFrames(f, r) {
		f.Add(frame, true)
		f.Add(append(append(bytes.Clone(frame[:12]), 0x88, 0xb5, 1, 2), frame[12:]...), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, wide bool) {
		var p, q wire.Packet
		if err := p.Parse(b, open); err != nil {
			if len(b) >= wire.EthernetLen && !bytes.Contains(b, binary.BigEndian.AppendUint16(nil, wire.UETPort)) {
				t.Fatalf("%x: %v, but it is nothing of the transport's", b, err)
			}
			if q.ParseRaw(b, open) == nil && !q.ForTransport() {
				t.Fatalf("%x: %v, but a program may send it", b, err)
			}
			return
		}
		if p.Kind() != wire.Raw {
			return
		}
		if err := q.ParseRaw(b, open); err != nil || q.ForTransport() || p.ForTransport() || q.Hash(7) != p.Hash(7) || !bytes.Equal(q.Tag(), p.Tag()) {
			t.Fatalf("%x: from a program %v, for the transport %v, %v", b, err, q.ForTransport(), p.ForTransport())
		}
		if !bytes.Equal(wholeOf(&p), b) || !bytes.Equal(wholeOf(&q), b) {
			t.Fatalf("%x became %x, from a program %x", b, wholeOf(&p), wholeOf(&q))
		}
		hash := p.Hash(7)
		p.StripTag()
		plain := wholeOf(&p)
		if q.Parse(plain, open); p.Hash(7) != hash {
			t.Fatalf("%x: the tag is in the hash", b)
		}
		if q.Tag() != nil || q.Kind() != wire.Raw {
			return // what was behind the tag is a second one, or the transport's
		}
		n, tpid := 4, uint16(tpidCompact)
		if wide {
			n, tpid = 8, tpidWide
		}
		binary.BigEndian.PutUint16(q.InsertTag(n), tpid)
		p.Parse(wholeOf(&q), open)
		if p.Kind() != wire.Raw || len(p.Tag()) != n {
			t.Fatalf("%x, tagged %x, has tag %x", plain, wholeOf(&q), p.Tag())
		}
		p.MarkCE()
		q.MarkCE()
		p.StripTag()
		q.StripTag()
		if !bytes.Equal(wholeOf(&p), wholeOf(&q)) {
			t.Fatalf("%x: marked through the fabric %x, at once %x", plain, wholeOf(&p), wholeOf(&q))
		}
		_ = p.String()
	})
}
