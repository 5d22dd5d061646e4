package conformance_test

import (
	"fmt"

	"github.com/csiglab/csiglab/conformance"
)

// routed adds a vector of one packet of the transport: the addresses of Ethernet change at the
// device, and its TTL is counted down.
func (g *generator) routed(id string, device change, s scene, in, out stack, dscpIn, dscpOut byte, payload int, cutIn, cutOut bool) {
	before := g.between(hostMAC(1), []byte{2, 0, 0, 9, 0, 1}, in, transported(1, 3, dscpIn, 64, 0, 5, payload, cutIn))
	after := g.between([]byte{2, 0, 0, 9, 0, 3}, hostMAC(3), out, transported(1, 3, dscpOut, 63, 0, 5, payload, cutOut))
	g.frames(id, device, s, before, after)
}

// DSCPs of data that may be trimmed, and of trimmed packets (docs/reference/wire.md).
const data, trimmed = 10, 11

// trim adds a vector of a packet of 1500 B that does not fit into the queue. It comes in within
// 1250 ns or so, behind which the device has a latency of 2000 ns: the delay is beyond 3000 ns and
// below 3500.
func (g *generator) trim(id string, device change, in, out stack) {
	s := idle()
	s.change = latency(2000)
	s.state.Delay += 2000
	g.routed(id, device, s, in, out, data, trimmed, 1500, false, true)
}

func (g *generator) trims() {
	g.begin("trim", "Packets that are trimmed", usual)
	force, measured, none := trims("force_local"), trims("measured"), trims("none")
	g.trim("CSIG-TRI-01/compact", none, stack{c(delay, 3, 4)}, stack{frozen(c(delay, 3, 4))})
	g.trim("CSIG-TRI-01/wide", none, stack{w(delay, 3, 4)}, stack{frozen(w(delay, 3, 4))})
	g.trim("CSIG-TRI-02/delay", force, stack{c(delay, 3, 4)}, stack{frozen(c(delay, 31, 13))})
	g.trim("CSIG-TRI-02/abw", force, stack{c(abw, 20, 4)}, stack{frozen(c(abw, 0, 13))})
	g.trim("CSIG-TRI-02/abw-c", force, stack{c(share, 20, 4)}, stack{frozen(c(share, 0, 13))})
	g.trim("CSIG-TRI-02/nqd", force, stack{c(nqd, 3, 4)}, stack{frozen(c(nqd, 31, 13))})
	g.trim("CSIG-TRI-02/wide-delay", force, stack{w(delay, 3, 4)}, stack{frozen(w(delay, ones, 10003))})
	g.trim("CSIG-TRI-02/wide-abw", force, stack{w(abw, 3, 4)}, stack{frozen(w(abw, 0, 10003))})
	g.trim("CSIG-TRI-03/worse", measured, stack{c(delay, 3, 4)}, stack{frozen(c(delay, 6, 13))})
	g.trim("CSIG-TRI-03/better", measured, stack{c(delay, 9, 4)}, stack{frozen(c(delay, 9, 4))})
	g.trim("CSIG-TRI-04/worse", none, stack{c(delay, 0, 4)}, stack{frozen(c(delay, 0, 4))})
	late := late(2000)
	g.routed("CSIG-TRI-05/compact", asUsual, late, stack{frozen(c(delay, 0, 4))}, stack{frozen(c(delay, 0, 4))}, trimmed, trimmed, 1500, true, true)
	g.routed("CSIG-TRI-05/wide", asUsual, late, stack{frozen(w(delay, 0, 4))}, stack{frozen(w(delay, 0, 4))}, trimmed, trimmed, 1500, true, true)
	g.trim("CSIG-TRI-06/compact", force, stack{frozen(c(delay, 3, 4))}, stack{frozen(c(delay, 3, 4))})
	g.trim("CSIG-TRI-06/wide", force, stack{frozen(w(abw, 3, 4))}, stack{frozen(w(abw, 3, 4))})
	g.trim("CSIG-TRI-07/pass", force.and(policy("pass", both)), stack{c(delay, 3, 4)}, stack{c(delay, 3, 4)})
}

func (g *generator) tunnels() {
	g.begin("tunnel", "Tunnels, IP hops and equal paths", usual)
	around := func(id string, device change, in, out stack, inner ...part) {
		inside := g.frame(5, 6, inner, plain(5, 6, 60))
		frame := func(s stack) conformance.Frame {
			f := g.frame(1, 3, s, tunnelled(1, 3, inside.Bytes))
			f.Tags = append(f.Tags, inside.Tags...)
			return f
		}
		g.frames(id, device, late(2000), frame(in), frame(out))
	}
	around("CSIG-TUN-01/compact", asUsual, stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)})
	around("CSIG-TUN-01/wide", asUsual, stack{w(delay, 0, 0)}, stack{w(delay, 126, 10003)}) // 34 octets more than others come in for 27 ns
	around("CSIG-TUN-01/inner", asUsual, stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)}, c(delay, 0, 0))
	around("CSIG-TUN-02/compact", asUsual, nil, nil, c(delay, 0, 0))
	around("CSIG-TUN-02/wide", asUsual, nil, nil, vlan(0x8100, 0x6064), w(delay, 0, 0))
	around("CSIG-TUN-03/both", policy("strip", both), stack{c(delay, 0, 0)}, nil, c(delay, 1, 2))
	around("CSIG-TUN-03/inner", policy("strip", both), nil, nil, c(delay, 1, 2))

	enter := func(id, tags string, in, outer, inner stack) {
		f := g.frame(1, 3, inner, plain(1, 3, 60))
		into := g.frame(self, other, outer, tunnelled(self, other, f.Bytes))
		into.Tags = append(into.Tags, f.Tags...)
		at := len(into.Bytes) - len(f.Bytes) - outerHeaders // of IPv4: identification and flags, TTL and checksums, source port
		into.Free = [][2]int{{at + 4, 5}, {at + 10, 2}, {at + 20, 2}, {at + 26, 2}}
		g.frames(id, end(tags, self, other), late(2000), g.frame(1, 3, in, plain(1, 3, 60)), into)
	}
	leave := func(id, tags string, outer, inner, out stack) {
		f := g.frame(1, 3, inner, plain(1, 3, 60))
		from := g.frame(other, self, outer, tunnelled(other, self, f.Bytes))
		from.Tags = append(from.Tags, f.Tags...)
		g.frames(id, end(tags, other, self), late(2000), from, g.frame(1, 3, out, plain(1, 3, 60)))
	}
	enter("CSIG-TUN-04/compact", "outer", stack{c(delay, 0, 0)}, stack{c(delay, 3, 13)}, nil) // shorter than others: 1984 ns
	enter("CSIG-TUN-04/wide", "outer", stack{w(delay, 0, 0)}, stack{w(delay, 124, 10003)}, nil)
	enter("CSIG-TUN-04/kept", "outer", stack{c(delay, 9, 5)}, stack{c(delay, 9, 5)}, nil)
	enter("CSIG-TUN-04/none", "outer", nil, nil, nil)
	leave("CSIG-TUN-05/compact", "outer", stack{c(delay, 0, 0)}, nil, stack{c(delay, 4, 13)})
	leave("CSIG-TUN-05/wide", "outer", stack{w(delay, 0, 0)}, nil, stack{w(delay, 126, 10003)})
	leave("CSIG-TUN-05/kept", "outer", stack{c(delay, 9, 5)}, nil, stack{c(delay, 9, 5)})
	leave("CSIG-TUN-05/none", "outer", nil, nil, nil)
	enter("CSIG-TUN-06/compact", "inner", stack{c(delay, 0, 0)}, nil, stack{c(delay, 0, 0)})
	enter("CSIG-TUN-06/wide", "inner", stack{w(delay, 0, 0)}, nil, stack{w(delay, 0, 0)})
	leave("CSIG-TUN-07/compact", "inner", nil, stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)})
	leave("CSIG-TUN-07/wide", "inner", nil, stack{w(delay, 0, 0)}, stack{w(delay, 126, 10003)})
	leave("CSIG-TUN-07/outer", "inner", stack{c(delay, 9, 5)}, nil, nil)

	hop := func(id string, s scene, in, out stack) {
		g.routed(id, asUsual, s, in, out, data, data, 100, false, false)
	}
	hop("CSIG-IPH-01/compact", late(2100), stack{c(delay, 0, 0)}, stack{c(delay, 4, 13)})
	hop("CSIG-IPH-01/wide", sent(625), stack{w(abw, ones, 0)}, stack{w(abw, 4768, 10003)})
	hop("CSIG-IPH-01/kept", late(2100), stack{c(delay, 9, 5)}, stack{c(delay, 9, 5)})
	hop("CSIG-IPH-01/vlan", late(2100), stack{vlan(0x8100, 0x6064), c(delay, 0, 0)}, stack{vlan(0x8100, 0x6064), c(delay, 4, 13)})
	hop("CSIG-IPH-02/untagged", late(2100), nil, nil)
	hop("CSIG-IPH-02/frozen", late(2100), stack{frozen(c(delay, 0, 0))}, stack{frozen(c(delay, 0, 0))})

	twoPaths := change{"two paths to host 3", func(d *conformance.Setup) { d.Ports[2].Hosts = []int{2, 3}; passAll(d) }}
	for _, x := range []struct {
		name string
		body []byte
	}{{"one-flow", plain(1, 3, 80)}, {"another-flow", ipv4(1, 3, 0, 64, 17, udp(40007, 9, counting(50)))}} {
		var in, out []conformance.Frame
		state := idle().state
		for i, s := range []stack{nil, {c(abw, 31, 0)}, {c(delay, 0, 0)}, {c(delay, 17, 42)}, {frozen(c(nqd, 31, 63))}, {w(abw, ones, 0)}, {w(share, 77, 0x5555)}, {w(delay, 0, 0)}} {
			f := g.frame(1, 3, s, x.body)
			f.At, f.Port, f.State = int64(1000+1000*i), 1, &state
			in = append(in, f)
			f.Port = 3
			out = append(out, f)
		}
		g.put("CSIG-HSH-01/"+x.name, twoPaths, in, out).OnePort = true
	}
}

// self and other are the numbers of ends of tunnels, and outerHeaders the octets of IPv4, UDP and VXLAN.
const (
	self, other  = 9, 10
	outerHeaders = 20 + 8 + 8
)

// end makes the switch an end of tunnels: of those that hosts 1 and 3 belong to, it is number 9.
func end(tags string, first, third int) change {
	return change{fmt.Sprintf("tunnels from %d to %d, tags %s", first, third, tags), func(d *conformance.Setup) {
		d.Tunnel = &conformance.Tunnel{VNI: 42, Self: self, Ends: []int{self, first, self, third}, Tags: tags}
	}}
}

// passAll has all ports pass tags.
func passAll(d *conformance.Setup) {
	for i := range d.Ports {
		d.Ports[i].Policies = map[string]map[string]string{}
		for f := range d.Formats {
			d.Ports[i].Policies[f] = map[string]string{"abw": "pass", "abw-c": "pass", "delay": "pass", "nqd": "pass"}
		}
	}
}

// receiver is host 0, which receives flow 7 from host 1.
var receiver = change{"receiver", func(d *conformance.Setup) {
	d.Role, d.Ports = conformance.RoleHost, []conformance.Port{{
		Rate: rate, Queue: queue, MAC: "02:00:00:00:00:00", Peer: "02:00:00:09:00:00", Hosts: []int{0}, Locators: map[string]int{},
	}}
}}

// reflects adds a vector of a packet that a host receives and of what it answers: an ACK, or a
// NACK if the packet is trimmed.
func (g *generator) reflects(id string, in stack, cut bool, echo []byte) {
	const ask = 1 // the sender wants an ACK at once
	dscp := byte(data)
	if cut {
		dscp = trimmed
	}
	f := g.between([]byte{2, 0, 0, 9, 0, 0}, hostMAC(0), in, transported(1, 0, dscp, 63, ask, 5, 64, cut))
	f.At = 1200
	// The answer, as far as the rules go: no tag, the addresses, the kind of packet, which flow and
	// PSN it is about, and the echo.
	kind, n, psn, at := byte(9), 48, 12, 39
	if cut {
		kind, n, psn, at = 10, 24, 4, 14
	}
	h := make([]byte, n)
	h[0], h[11], h[psn+3], h[at] = kind<<3, 7, 5, byte(len(echo))
	copy(h[at+1:], echo)
	answer := g.between(hostMAC(0), []byte{2, 0, 0, 9, 0, 0}, nil, ipv4(0, 1, 46<<2, 64, 17, udp(0, 4793, h)))
	const transport = 14 + 20 + 8
	rest := transport + at + 1 + len(echo)
	answer.Free = [][2]int{{24, 2}, {34, 2}, {40, 2}, {rest, transport + n - rest}}
	if cut {
		answer.Free = append(answer.Free, [2]int{transport + 1, 3}, [2]int{transport + 12, 2})
	} else {
		answer.Free = append(answer.Free, [2]int{transport + 1, 7}, [2]int{transport + 16, 23})
	}
	g.put(id, receiver, []conformance.Frame{f}, []conformance.Frame{answer})
}

func (g *generator) reflection() {
	g.begin("reflection", "Receivers that end tags and send them back, over csiglab's transport", usual)
	g.reflects("CSIG-REF-01/delay", stack{c(delay, 19, 0)}, false, []byte{0x49, 0x80})
	g.reflects("CSIG-REF-01/abw", stack{c(abw, 7, 0)}, false, []byte{0x03, 0x80})
	g.reflects("CSIG-REF-02/abw-c", stack{w(share, 125_000, 0)}, false, []byte{0, 0, 0x11, 0xe8, 0x48, 0})
	g.reflects("CSIG-REF-03/compact", stack{reserved(c(delay, 19, 41), 1)}, false, []byte{0x59, 0xd2})
	g.reflects("CSIG-REF-03/wide", stack{w(delay, 0x12345, 0x2aaa)}, false, []byte{0x55, 0x54, 0x21, 0x23, 0x45, 0})
	g.reflects("CSIG-REF-04/none", nil, false, nil)
	g.reflects("CSIG-REF-05/compact", stack{c(nqd, 17, 63)}, false, []byte{0x68, 0xfe})
	g.reflects("CSIG-REF-06/compact", stack{frozen(c(delay, 19, 41))}, true, []byte{0x49, 0xd3})
	g.reflects("CSIG-REF-06/wide", stack{frozen(w(nqd, ones, 0x7fff))}, true, []byte{0xff, 0xff, 0x3f, 0xff, 0xff, 0})
}
