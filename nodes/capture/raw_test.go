package capture_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// programFrames are frames as the kernel makes them for programs of host 3, for
// host 9: TCP over IPv4 without a load and with one, a ping, ARP, and TCP over
// IPv6.
func programFrames(t *testing.T) [][]byte {
	t.Helper()
	mac := func(h int) net.HardwareAddr { m := wire.MAC(h, 0); return m[:] }
	ip := func(h int) net.IP { return binary.BigEndian.AppendUint32(nil, wire.HostIP(h)) }
	ethernet := func(e layers.EthernetType) *layers.Ethernet {
		return &layers.Ethernet{SrcMAC: mac(3), DstMAC: mac(9), EthernetType: e}
	}
	v4 := func(p layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, TTL: 64, Protocol: p, SrcIP: ip(3), DstIP: ip(9), Flags: layers.IPv4DontFragment}
	}
	v6 := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: net.ParseIP("fd00::4"), DstIP: net.ParseIP("fd00::a")}
	tcp := func(l gopacket.NetworkLayer) *layers.TCP {
		s := &layers.TCP{SrcPort: 40000, DstPort: 5201, Seq: 7, Ack: 8, ACK: true, Window: 500, Options: []layers.TCPOption{
			{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop},
			{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: make([]byte, 8)},
		}}
		if err := s.SetNetworkLayerForChecksum(l); err != nil {
			t.Fatal(err)
		}
		return s
	}
	short, long := v4(layers.IPProtocolTCP), v4(layers.IPProtocolTCP)
	arp := &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: layers.ARPReply, SourceHwAddress: mac(3), SourceProtAddress: ip(3), DstHwAddress: mac(9), DstProtAddress: ip(9)}
	var frames [][]byte
	for _, l := range [][]gopacket.SerializableLayer{
		{ethernet(layers.EthernetTypeIPv4), short, tcp(short)},
		{ethernet(layers.EthernetTypeIPv4), long, tcp(long), gopacket.Payload(make([]byte, 1400))},
		{ethernet(layers.EthernetTypeIPv4), v4(layers.IPProtocolICMPv4),
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 1, Seq: 2}, gopacket.Payload("0123456789abcdef")},
		{ethernet(layers.EthernetTypeARP), arp},
		{ethernet(layers.EthernetTypeIPv6), v6, tcp(v6), gopacket.Payload(make([]byte, 300))},
	} {
		b := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, b.Bytes())
	}
	return frames
}

// Behind a tag in either format and dialect, what programs send is read on as what
// it is, with the trailer of real frames behind it or without.
func TestDissectorRawFrames(t *testing.T) {
	for _, profile := range profiles {
		domain := newDomain(t, profile.format, profile.dialect)
		tag, err := domain.AppendTag(nil, csig.Tag{Type: csig.Delay, Signal: 19, Locator: 41})
		if err != nil {
			t.Fatal(err)
		}
		format := formatOf(domain)
		format.Raw = true
		var frames [][]byte
		var want [][]string
		for i := range 4 {
			tagged, trailer := i%2 == 1, i/2 == 1
			signal, sequence := "", ""
			if tagged {
				signal = "19"
			}
			if trailer {
				sequence = "3"
			}
			want = append(want,
				[]string{"10.0.0.4", "", "5201", "0", "", "", signal, sequence},
				[]string{"10.0.0.4", "", "5201", "1400", "", "", signal, sequence},
				[]string{"10.0.0.4", "", "", "", "2", "", signal, sequence},
				[]string{"", "", "", "", "", "10.0.0.4", signal, sequence},
				[]string{"", "fd00::4", "5201", "300", "", "", signal, sequence})
			for _, f := range programFrames(t) {
				var p wire.Packet
				if err := p.Parse(f, format); err != nil || p.Kind() != wire.Raw {
					t.Fatalf("%x: kind %v, %v", f, p.Kind(), err)
				}
				if tagged {
					copy(p.InsertTag(len(tag)), tag)
				}
				f = append(bytes.Clone(p.Header()), p.Payload...)
				if trailer { // emu's
					f = append(f, 0xc5, 0x16, 0x1a, 0xb1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3)
				}
				frames = append(frames, f)
			}
		}
		file := write(t, capture.Config{Format: format, Domain: domain}, frames)
		options := []string{"-o", "csig.dialect:" + profile.dialect.String(), "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"}
		got := capturetest.Tshark(t, file, options, "ip.src", "ipv6.src", "tcp.dstport", "tcp.len", "icmp.seq", "arp.src.proto_ipv4", "csig.s", "csiglab_trailer.sequence")
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%v %v: got - want +:\n%s", profile.format, profile.dialect, diff)
		}
		bad := capturetest.Malformed + " || ip.checksum.status == 0 || tcp.checksum.status == 0"
		if rows := capturetest.Tshark(t, file, append(options, "-Y", bad), "frame.number"); len(rows) > 0 {
			t.Errorf("%v %v: %d frames are malformed or have wrong checksums: %q", profile.format, profile.dialect, len(rows), rows)
		}
	}
}

// The queue of what programs send is that of data.
func TestRawComments(t *testing.T) {
	domain := newDomain(t, csig.FormatCompact, csig.UEC050)
	format := formatOf(domain)
	format.Raw = true
	file := filepath.Join(t.TempDir(), "raw.pcapng")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w, err := capture.NewWriter(out, capture.Config{Ports: []capture.Port{tor}, Format: format, Domain: domain})
	if err != nil {
		t.Fatal(err)
	}
	var want [][]string
	for _, f := range programFrames(t) {
		w.Write(capture.Record{Sent: true, Frame: f, Queue: &spool.Queue{Ahead: 3000, Behind: 1500, Waited: units.Microsecond}})
		want = append(want, []string{"data queue: 3000 B at enqueue, 1500 B at dequeue, 1us in the switch"})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(capturetest.Tshark(t, file, nil, "frame.comment"), want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}
