// Package own runs conformance vectors through csiglab's own machines: the switch of
// nodes/switch/dataplane and the host of nodes/host, in model time. It ignores the state that a
// vector gives: the machines measure it.
package own

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// sizes charge the bytes of a frame of data with its tag and its check sequence.
var sizes = wire.Sizes{Header: wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.DataLen + 4, CountTag: true}

// control is the limit of the queue of trimmed packets and ACKs, which no vector fills.
const control = 100 * units.KB

// Device is a conformance.Device. The zero value is ready.
type Device struct{}

// Close implements conformance.Device.
func (Device) Close() error { return nil }

// Run implements conformance.Device.
func (Device) Run(_ context.Context, r *conformance.Request) ([]conformance.Frame, error) {
	domain, err := domainOf(r.Device)
	if err != nil {
		return nil, err
	}
	format := formatOf(domain, r.Device)
	pool, sink := new(wire.Pool), metrics.Discard
	var m node.Machine
	ports := len(r.Device.Ports)
	switch r.Device.Role {
	case conformance.RoleSwitch:
		var c dataplane.Config
		if c, err = switchConfig(r.Device, domain); err == nil {
			m, err = dataplane.New(c, pool, sink)
		}
	case conformance.RoleHost:
		var c host.Config
		if c, err = hostConfig(r.Device, domain); err == nil {
			ports = c.Ports()
			m, err = host.New(&c, pool, sink)
		}
	default:
		err = fmt.Errorf("unknown role %q", r.Device.Role)
	}
	if err != nil {
		return nil, err
	}
	return drive(node.NewStepper(m, ports, sink), pool, format, r.Frames)
}

// settled is how long a device gets for what is queued when the last frame has come in.
const settled = 100 * units.Millisecond

// drive gives a machine the frames at their times, in the order of package node, and returns
// what leaves.
func drive(s *node.Stepper, pool *wire.Pool, format wire.Format, in []conformance.Frame) (out []conformance.Frame, err error) {
	busy := map[int]units.Time{} // until PortFree
	take := func() {
		for _, d := range s.Departures {
			frame := append(slices.Clone(d.Packet.HeaderOnWire(nil, format.Tunnel)), d.Packet.Payload...)
			out = append(out, conformance.Frame{Port: d.Port, Bytes: frame})
			pool.Put(d.Packet)
		}
		for _, port := range s.Frees {
			busy[port] = s.FreeAt(port)
		}
	}
	var now, end units.Time
	for {
		next, port := units.Never, -1
		for p, at := range busy {
			if at < next || at == next && p < port {
				next, port = at, p
			}
		}
		arrival := units.Never
		if len(in) > 0 {
			arrival = units.Time(in[0].At) * units.Time(units.Nanosecond)
			end = arrival.Add(settled)
		}
		switch timeout := s.NextTimeout(); {
		case min(next, arrival, timeout) > end:
			return out, nil
		case next <= arrival && next <= timeout:
			now = next
			delete(busy, port)
			s.PortFree(now, port)
		case arrival <= timeout:
			now = arrival
			p := pool.Get()
			if err := p.Parse(slices.Clone(in[0].Bytes), format); err != nil {
				pool.Put(p) // nodes drop and count it
				in = in[1:]
				continue
			}
			s.Receive(now, in[0].Port, p)
			in = in[1:]
		default:
			now = timeout
			s.Timeout(now)
		}
		take()
	}
}

// domainOf returns the domain of a setup.
func domainOf(d *conformance.Setup) (c csig.Config, err error) {
	if err := c.Dialect.UnmarshalText([]byte(d.Dialect)); err != nil {
		return c, err
	}
	c.Interval = units.Duration(d.Interval) * units.Nanosecond
	if d.Trim != "" {
		if err := c.TrimRule.UnmarshalText([]byte(d.Trim)); err != nil {
			return c, err
		}
	}
	for _, name := range d.OverrideD {
		t, err := csig.ParseType(name)
		if err != nil {
			return c, err
		}
		c.OverrideD[t] = true
	}
	for _, f := range []csig.Format{csig.FormatCompact, csig.FormatWide} {
		spec, ok := d.Formats[f.String()]
		if !ok {
			continue
		}
		tpid, err := strconv.ParseUint(spec.TPID, 0, 16)
		if err != nil {
			return c, err
		}
		var quantisers [csig.Types]csig.Quantiser
		for name, q := range spec.Quantisers {
			t, err := csig.ParseType(name)
			if err != nil {
				return c, err
			}
			quantisers[t] = csig.Quantiser{Edges: q.Edges, Step: q.Step, Base: q.Base}
			for _, code := range q.Codes {
				quantisers[t].Bands = append(quantisers[t].Bands, uint8(code))
			}
		}
		if f == csig.FormatCompact {
			c.TPIDCompact = uint16(tpid)
		} else {
			c.TPIDWide = uint16(tpid)
		}
		if c.Format == csig.FormatNone {
			c.Format, c.Quantisers = f, quantisers
		} else {
			c.Second = &csig.SecondFormat{Quantisers: quantisers}
		}
	}
	// The TPID of a format that the domain does not have stays its default, as in a lab.
	filled, err := csig.NewDomain(c)
	if err != nil {
		return c, err
	}
	return filled.Config(), nil
}

func formatOf(domain csig.Config, d *conformance.Setup) wire.Format {
	f := wire.Format{Sizes: sizes, TPIDCompact: domain.TPIDCompact, TPIDWide: domain.TPIDWide, Raw: d.Role == conformance.RoleSwitch}
	if t := d.Tunnel; t != nil {
		f.Tunnel = &wire.Tunnel{VNI: uint32(t.VNI), Ends: endsOf(t)}
	}
	return f
}

func endsOf(t *conformance.Tunnel) (ends []int32) {
	for _, end := range t.Ends {
		ends = append(ends, int32(end))
	}
	return ends
}

// Switch returns what csiglab's switch is built from for a setup, and the format of its frames.
func Switch(d *conformance.Setup) (c dataplane.Config, f wire.Format, err error) {
	domain, err := domainOf(d)
	if err == nil {
		c, err = switchConfig(d, domain)
	}
	return c, formatOf(domain, d), err
}

func switchConfig(d *conformance.Setup, domain csig.Config) (c dataplane.Config, err error) {
	c = dataplane.Config{
		Node: 9, Name: "switch", Delay: units.Duration(d.Latency) * units.Nanosecond, Sizes: sizes, Trim: d.Trim != "",
		AQM: algorithm.Choice{Name: "none"}, Seed: 1, Records: units.Second,
		CSIG: &dataplane.CSIG{Domain: domain, Phase: meter.Aligned, CountTrimmed: true},
	}
	var routes [][]uint16
	for i := range d.Ports {
		p, err := port(&d.Ports[i], domain.Format)
		if err != nil {
			return c, fmt.Errorf("port %d: %w", i, err)
		}
		c.Ports = append(c.Ports, p)
		for _, h := range d.Ports[i].Hosts {
			for len(routes) <= h {
				routes = append(routes, nil)
			}
			routes[h] = append(routes[h], uint16(i))
		}
	}
	c.Forward = forward.Config{Routes: topologies.NewRoutes(routes...)}
	if t := d.Tunnel; t != nil {
		c.Node, c.Tunnel = t.Self, &dataplane.Tunnel{Ends: endsOf(t), Moves: t.Tags == "outer"}
		for i := range d.Ports {
			for _, h := range d.Ports[i].Hosts {
				c.Ports[i].LastHop = h < len(t.Ends) && t.Ends[h] == t.Self
			}
		}
	}
	return c, nil
}

// port returns the configuration of a port of a domain whose first format is given.
func port(p *conformance.Port, first csig.Format) (out dataplane.Port, err error) {
	out = dataplane.Port{
		Rate: units.Rate(p.Rate), Buffer: buffer.Limits{Data: units.Size(p.Queue), Control: control},
		Ingress: dataplane.Ingress{Outside: p.Outside},
	}
	if out.MAC, err = address(p.MAC); err != nil {
		return out, err
	}
	if out.PeerMAC, err = address(p.Peer); err != nil {
		return out, err
	}
	out.Locator = uint16(p.Locators[first.String()])
	if out.Policies, err = policies(p.Policies[first.String()]); err != nil {
		return out, err
	}
	second := first.Other().String()
	out.Second = &dataplane.SecondFormat{Locator: uint16(p.Locators[second])}
	if out.Second.Policies, err = policies(p.Policies[second]); err != nil {
		return out, err
	}
	if p.Init == nil {
		return out, nil
	}
	out.Ingress.Init = csig.All
	if err := out.Ingress.Format.UnmarshalText([]byte(p.Init.Format)); err != nil {
		return out, err
	}
	for _, name := range p.Init.Types {
		t, err := csig.ParseType(name)
		if err != nil {
			return out, err
		}
		out.Ingress.Signals = append(out.Ingress.Signals, t)
	}
	return out, nil
}

// policies reads policies by type. A type without one is updated.
func policies(of map[string]string) (list [csig.Types]dataplane.Policy, err error) {
	for name, text := range of {
		t, err := csig.ParseType(name)
		if err != nil {
			return list, err
		}
		if list[t], err = dataplane.ParsePolicy(text); err != nil {
			return list, err
		}
	}
	return list, nil
}

func address(text string) (mac [6]byte, err error) {
	a, err := net.ParseMAC(text)
	if err != nil {
		return mac, err
	}
	if copy(mac[:], a) != len(a) {
		return mac, fmt.Errorf("%q is no MAC address of Ethernet", text)
	}
	return mac, nil
}

// flow and peer are those of the packets of the vectors for hosts.
const (
	flow = 7
	peer = 1
)

// hostConfig returns host i, which the setup has at its port, and which receives one transfer.
func hostConfig(d *conformance.Setup, domain csig.Config) (c host.Config, err error) {
	if len(d.Ports) != 1 || len(d.Ports[0].Hosts) != 1 {
		return c, errors.New("a host has one port with its own number")
	}
	p := &d.Ports[0]
	const mtu, rtt = 4150, 10 * units.Microsecond
	c = host.Config{
		Node: p.Hosts[0], Name: "host", IP: wire.HostIP(p.Hosts[0]), Rate: units.Rate(p.Rate), Control: 1,
		MTU: mtu, Sizes: sizes, RTO: units.Second, AckEvery: 1,
		CC: algorithm.Choice{Name: "nscc"}, LB: algorithm.Choice{Name: "mixed"},
		Path: congestion.Path{LinkRate: units.Rate(p.Rate), NetworkRTT: rtt, MTU: mtu, Header: sizes.Header, Trim: true},
		CSIG: &domain, Seed: 1, Measure: metrics.Span{To: units.Never}, Records: units.Second,
		Receives: []host.End{{ID: flow, Peer: wire.HostIP(peer), Size: units.MB}},
	}
	if c.MAC, err = address(p.MAC); err != nil {
		return c, err
	}
	c.NextHopMAC, err = address(p.Peer)
	return c, err
}
