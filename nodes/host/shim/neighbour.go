package shim

import (
	"encoding/binary"

	"github.com/csiglab/csiglab/nodes/wire"
)

// ARP (RFC 826) of IPv4 over Ethernet: hardware and protocol type, lengths of
// their addresses, operation, then the sender's and the target's addresses.
const (
	arpLen       = 28
	arpOperation = 6
	arpSender    = 8 // MAC address, then IP address
	arpTarget    = 18
	arpPair      = 10 // length of MAC and IP address

	arpRequest = 1
	arpReply   = 2
)

// arpKind is how an ARP packet of IPv4 over Ethernet begins.
const arpKind = 0x0001_0800_0604 // 1, 0x0800, 6, 4

// Neighbour discovery (RFC 4861 §4.3, §4.4, §4.6.1): ICMPv6 of type, code, checksum,
// 4 B of flags, the target's address and options, of which those with a MAC address
// are 8 B long.
const (
	ipv6Len        = 40
	ipv6PayloadLen = 4
	ipv6NextHeader = 6
	ipv6HopLimit   = 7
	ipv6Source     = 8
	ipv6Dest       = 24

	protocolICMPv6 = 58

	icmpChecksum = 2
	ndFlags      = 4
	ndTarget     = 8
	ndOptions    = 24
	ndAdvertised = ndOptions + 8 // an advertisement with its option

	neighbourSolicitation  = 135
	neighbourAdvertisement = 136

	solicited = 0x40 // flag S: in answer to a solicitation
	override  = 0x20 // flag O: what is known of the address is out of date

	optionTargetMAC = 2

	// hopLimitND shows that no router has passed the packet on (RFC 4861 §7.1.1).
	hopLimitND = 255
)

// answer makes of a program's question for the MAC address of another host's
// programs its answer, in place. Questions for other addresses, also for the
// host's own, are left alone: nobody answers them.
func (e *Edge) answer(p *wire.Packet) (event programEvent, answered bool) {
	frame := p.Header()
	// Both fit into the header bytes; one behind a VLAN tag is none of ours.
	if p.PayloadLen > 0 || len(frame)-len(p.L3()) != wire.EthernetLen {
		return 0, false
	}
	switch p.EtherType() {
	case wire.EtherTypeARP:
		return programARP, e.answerARP(frame, p.L3())
	case wire.EtherTypeIPv6:
		reply, ok := e.advertise(frame, p.L3())
		if ok {
			// It is no longer than a frame whose bytes are all header bytes.
			if err := p.Parse(reply, wire.Format{Sizes: e.cfg.Sizes, Raw: true}); err != nil {
				panic("shim: neighbour advertisement: " + err.Error())
			}
		}
		return programNeighbour, ok
	}
	return 0, false
}

// answerARP is the reply of RFC 826, Packet Reception: sender and target change
// places, and the target's address is filled in.
func (e *Edge) answerARP(frame, arp []byte) bool {
	if len(arp) < arpLen || binary.BigEndian.Uint64(arp)>>16 != arpKind ||
		binary.BigEndian.Uint16(arp[arpOperation:]) != arpRequest {
		return false
	}
	mac, ok := e.neighbour(wire.HostOf(binary.BigEndian.Uint32(arp[arpTarget+6:])))
	if !ok {
		return false
	}
	var asked [arpPair]byte
	copy(asked[:], arp[arpTarget:])
	copy(asked[:], mac[:])
	copy(arp[arpTarget:], arp[arpSender:arpSender+arpPair])
	copy(arp[arpSender:], asked[:])
	binary.BigEndian.PutUint16(arp[arpOperation:], arpReply)
	turn(frame, mac)
	return true
}

// advertise returns the frame of the neighbour advertisement that answers a
// solicitation (RFC 4861 §7.2.4) whose hop limit, lengths, code and checksum are
// right (§7.1.1). It does not look into options.
func (e *Edge) advertise(frame, ip []byte) ([]byte, bool) {
	if len(ip) < ipv6Len+ndOptions || ip[0]>>4 != 6 || ip[ipv6NextHeader] != protocolICMPv6 || ip[ipv6HopLimit] != hopLimitND {
		return nil, false
	}
	length := int(binary.BigEndian.Uint16(ip[ipv6PayloadLen:]))
	if length < ndOptions || ipv6Len+length > len(ip) {
		return nil, false
	}
	icmp := ip[ipv6Len : ipv6Len+length]
	if icmp[0] != neighbourSolicitation || icmp[1] != 0 || checksumICMPv6(ip, icmp) != 0 {
		return nil, false
	}
	target := icmp[ndTarget : ndTarget+16]
	mac, ok := e.neighbour(wire.HostOfIPv6(target))
	if !ok {
		return nil, false
	}
	reply := make([]byte, wire.EthernetLen+ipv6Len+ndAdvertised)
	copy(reply, frame[:wire.EthernetLen])
	turn(reply, mac)
	answer := reply[wire.EthernetLen:]
	answer[0] = 6 << 4
	binary.BigEndian.PutUint16(answer[ipv6PayloadLen:], ndAdvertised)
	answer[ipv6NextHeader], answer[ipv6HopLimit] = protocolICMPv6, hopLimitND
	copy(answer[ipv6Source:], target)
	nd := answer[ipv6Len:]
	nd[0], nd[ndFlags] = neighbourAdvertisement, solicited|override
	copy(answer[ipv6Dest:], ip[ipv6Source:ipv6Source+16])
	if [16]byte(ip[ipv6Source:ipv6Source+16]) == ([16]byte{}) {
		// An interface that looks whether the address is free: to all nodes, not
		// solicited (RFC 4861 §7.2.4).
		answer[ipv6Dest], answer[ipv6Dest+1], answer[ipv6Dest+15] = 0xff, 0x02, 1
		nd[ndFlags] = override
	}
	copy(nd[ndTarget:], target)
	nd[ndOptions], nd[ndOptions+1] = optionTargetMAC, 1 // in units of 8 B
	copy(nd[ndOptions+2:], mac[:])
	binary.BigEndian.PutUint16(nd[icmpChecksum:], checksumICMPv6(answer, nd))
	return reply, true
}

// neighbour returns the MAC address of a host to which programs may send.
func (e *Edge) neighbour(host int) (mac [6]byte, ok bool) {
	return wire.MAC(host, 0), host >= 0 && e.outgoing[host] != nil
}

// turn addresses a frame to its sender, from mac.
func turn(frame []byte, mac [6]byte) {
	copy(frame[0:6], frame[6:12])
	copy(frame[6:12], mac[:])
}

// checksumICMPv6 returns the checksum over message and the pseudo-header of ip (RFC
// 8200 §8.1): 0 if message holds a right one.
func checksumICMPv6(ip, message []byte) uint16 {
	sum := uint32(len(message)) + protocolICMPv6
	for _, part := range [][]byte{ip[ipv6Source : ipv6Dest+16], message} {
		for len(part) >= 2 {
			sum += uint32(binary.BigEndian.Uint16(part))
			part = part[2:]
		}
		if len(part) == 1 {
			sum += uint32(part[0]) << 8
		}
	}
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	return ^uint16(sum)
}
