package shim_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/wire"
)

func serialise(t testing.TB, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

func mac(host int) net.HardwareAddr { a := wire.MAC(host, 0); return a[:] }
func ip4(host int) net.IP           { return binary.BigEndian.AppendUint32(nil, wire.HostIP(host)) }
func ip6(host int) net.IP           { a := wire.HostIPv6(host); return a[:] }

var everyone = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// arp returns host 3's ARP packet that asks for the address of a host.
func arp(t testing.TB, destination net.HardwareAddr, operation uint16, target net.IP) []byte {
	return serialise(t, &layers.Ethernet{SrcMAC: mac(3), DstMAC: destination, EthernetType: layers.EthernetTypeARP}, &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: operation,
		SourceHwAddress: mac(3), SourceProtAddress: ip4(3), DstHwAddress: make([]byte, 6), DstProtAddress: target,
	})
}

// An ARP request for another host with programs is answered as RFC 826 says, as
// that host would; no other is.
func TestARP(t *testing.T) {
	for name, f := range map[string][]byte{
		"broadcast": arp(t, everyone, layers.ARPRequest, ip4(9)),
		"unicast":   arp(t, mac(9), layers.ARPRequest, ip4(9)),
		"padded":    append(arp(t, everyone, layers.ARPRequest, ip4(9)), make([]byte, 18)...),
	} {
		r := newRig(t, config())
		r.receive(0, shim.Application, f)
		counts(t, r.result(1).Programs, map[string]int64{"arp_answered": 1})
		if len(r.out[shim.Application]) != 1 || len(r.out[shim.NIC]) != 0 {
			t.Fatalf("%s: %d answers, %d frames to the fabric", name, len(r.out[shim.Application]), len(r.out[shim.NIC]))
		}
		p := gopacket.NewPacket(r.out[shim.Application][0], layers.LayerTypeEthernet, gopacket.Default)
		eth, _ := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		a, _ := p.Layer(layers.LayerTypeARP).(*layers.ARP)
		if a == nil || a.Operation != layers.ARPReply || !bytes.Equal(a.SourceHwAddress, mac(9)) || !bytes.Equal(a.SourceProtAddress, ip4(9)) ||
			!bytes.Equal(a.DstHwAddress, mac(3)) || !bytes.Equal(a.DstProtAddress, ip4(3)) ||
			!bytes.Equal(eth.SrcMAC, mac(9)) || !bytes.Equal(eth.DstMAC, mac(3)) {
			t.Errorf("%s: answered %v", name, p)
		}
	}
	request := arp(t, everyone, layers.ARPRequest, ip4(9))
	edited := func(at int, v byte) []byte {
		f := bytes.Clone(request)
		f[at] = v
		return f
	}
	for name, f := range map[string][]byte{
		"for itself":              arp(t, everyone, layers.ARPRequest, ip4(3)),
		"for no host of ours":     arp(t, everyone, layers.ARPRequest, net.IP{192, 168, 0, 1}),
		"for a host without":      arp(t, everyone, layers.ARPRequest, ip4(4)),
		"an answer":               arp(t, everyone, layers.ARPReply, ip4(9)),
		"cut short":               request[:14+27],
		"another hardware":        edited(14+1, 6),
		"another protocol":        edited(14+2, 9),
		"another address length":  edited(14+5, 16),
		"behind a VLAN tag":       vlan(request, 0x8100),
		"another EtherType":       edited(13, 0x35),
		"longer than the headers": append(bytes.Clone(request), make([]byte, 200)...),
	} {
		r := newRig(t, config())
		r.receive(0, shim.Application, f)
		if len(r.out[shim.Application])+len(r.out[shim.NIC]) != 0 {
			t.Errorf("%s: answered %x", name, r.out)
		}
		counts(t, r.result(1).Programs, map[string]int64{"multicast": 1})
	}
}

// solicit returns a neighbour solicitation of host 3.
func solicit(t testing.TB, source, target net.IP, hopLimit uint8, option bool) []byte {
	group := net.ParseIP("ff02::1:ff00:0")
	copy(group[13:], target[13:])
	ip := &layers.IPv6{Version: 6, HopLimit: hopLimit, NextHeader: layers.IPProtocolICMPv6, SrcIP: source, DstIP: group}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborSolicitation, 0)}
	icmp.SetNetworkLayerForChecksum(ip) //nolint:errcheck // it is IP
	ns := &layers.ICMPv6NeighborSolicitation{TargetAddress: target}
	if option {
		ns.Options = layers.ICMPv6Options{{Type: layers.ICMPv6OptSourceAddress, Data: mac(3)}}
	}
	return serialise(t, &layers.Ethernet{
		SrcMAC: mac(3), DstMAC: slices.Concat(net.HardwareAddr{0x33, 0x33}, net.HardwareAddr(group[12:])), EthernetType: layers.EthernetTypeIPv6,
	}, ip, icmp, ns)
}

// A valid solicitation (RFC 4861 §7.1.1) for another host with programs is answered
// as §7.2.4 says.
func TestNeighbourAdvertisement(t *testing.T) {
	allNodes := net.ParseIP("ff02::1")
	for name, tc := range map[string]struct {
		frame       []byte
		destination net.IP
		flags       uint8
	}{
		"with the sender's MAC":    {solicit(t, ip6(3), ip6(9), 255, true), ip6(3), 0x60},
		"without":                  {solicit(t, ip6(3), ip6(9), 255, false), ip6(3), 0x60},
		"is the address free?":     {solicit(t, net.IPv6unspecified, ip6(9), 255, false), allNodes, 0x20},
		"from another address":     {solicit(t, net.ParseIP("fe80::1"), ip6(5), 255, true), net.ParseIP("fe80::1"), 0x60},
		"with bytes behind the IP": {append(solicit(t, ip6(3), ip6(9), 255, true), 1, 2, 3), ip6(3), 0x60},
	} {
		r := newRig(t, config())
		r.receive(0, shim.Application, tc.frame)
		counts(t, r.result(1).Programs, map[string]int64{"nd_answered": 1})
		if len(r.out[shim.Application]) != 1 || len(r.out[shim.NIC]) != 0 {
			t.Fatalf("%s: %d answers, %d frames to the fabric", name, len(r.out[shim.Application]), len(r.out[shim.NIC]))
		}
		f := r.out[shim.Application][0]
		p := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
		eth, _ := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		ip, _ := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
		icmp, _ := p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
		na, _ := p.Layer(layers.LayerTypeICMPv6NeighborAdvertisement).(*layers.ICMPv6NeighborAdvertisement)
		if na == nil || p.ErrorLayer() != nil {
			t.Fatalf("%s: answered %v", name, p)
		}
		target := ip6(9)
		if name == "from another address" {
			target = ip6(5)
		}
		host := wire.HostOfIPv6(target)
		if !na.TargetAddress.Equal(target) || na.Flags != tc.flags || !ip.SrcIP.Equal(target) || !ip.DstIP.Equal(tc.destination) || ip.HopLimit != 255 ||
			!bytes.Equal(eth.SrcMAC, mac(host)) || !bytes.Equal(eth.DstMAC, mac(3)) ||
			len(na.Options) != 1 || na.Options[0].Type != layers.ICMPv6OptTargetAddress || !bytes.Equal(na.Options[0].Data, mac(host)) {
			t.Errorf("%s: answered %v", name, p)
		}
		// The checksum, by somebody else.
		icmp.SetNetworkLayerForChecksum(ip) //nolint:errcheck // it is IP
		if want := serialise(t, eth, ip, icmp, na); !bytes.Equal(f, want) {
			t.Errorf("%s: answered\n%x, want\n%x", name, f, want)
		}
	}
	valid := solicit(t, ip6(3), ip6(9), 255, true)
	broken := bytes.Clone(valid)
	broken[len(broken)-1] ^= 1
	code := bytes.Clone(valid)
	code[14+40+1] = 1
	for name, f := range map[string][]byte{
		"for itself":          solicit(t, ip6(3), ip6(3), 255, true),
		"for a host without":  solicit(t, ip6(3), ip6(4), 255, true),
		"for a stranger":      solicit(t, ip6(3), net.ParseIP("2001:db8::9"), 255, true),
		"passed on by others": solicit(t, ip6(3), ip6(9), 254, true),
		"wrong checksum":      broken,
		"another code":        code,
		"cut short":           valid[:len(valid)-1],
	} {
		r := newRig(t, config())
		r.receive(0, shim.Application, f)
		if len(r.out[shim.Application])+len(r.out[shim.NIC]) != 0 {
			t.Errorf("%s: answered %x", name, r.out)
		}
		counts(t, r.result(1).Programs, map[string]int64{"multicast": 1})
	}
}

// No frame of a program makes the shim panic, lose a packet, or send one that is
// not the program's, unless it is an answer.
func FuzzPrograms(f *testing.F) {
	f.Add(arp(f, everyone, layers.ARPRequest, ip4(9)))
	f.Add(solicit(f, ip6(3), ip6(9), 255, true))
	f.Add(solicit(f, net.IPv6unspecified, ip6(9), 255, false))
	f.Add(frame(3, 9, 100))
	f.Add(vlan(vlan(frame(3, 9, 20), 0x8100), 0x88a8))
	var ours wire.Packet
	ours.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(9)}, wire.Ack, 0, 0, 0)
	ours.SetMACs(wire.MAC(9, 0), wire.MAC(3, 0))
	f.Add(bytes.Clone(ours.Header()))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(t, config())
		p := r.pool.Get()
		if p.ParseRaw(b, r.format) != nil {
			if len(b) >= wire.EthernetLen {
				t.Fatalf("%x: refused", b)
			}
			return
		}
		r.Receive(0, 0, shim.Application, p)
		if r.pool.Out() != 0 {
			t.Fatalf("%x: a packet is lost", b)
		}
		for _, got := range r.out[shim.NIC] {
			var q wire.Packet
			if err := q.Parse(got, r.format); err != nil || q.Kind() != wire.Raw || q.Tag() == nil {
				t.Fatalf("%x: sent %x: %v", b, got, err)
			}
			if q.StripTag(); !bytes.Equal(slices.Concat(q.Header(), q.Payload), b) {
				t.Fatalf("%x: sent %x", b, got)
			}
		}
	})
}
