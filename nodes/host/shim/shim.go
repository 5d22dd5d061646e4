// Package shim is what a host has below programs that run over the kernel's
// TCP/IP. It stands between the interface of these programs and the NIC, so that
// CSIG works below them: it puts tags into the frames that enter the fabric, and
// records and strips those of the frames that leave it. What the programs send and
// receive is otherwise untouched, byte for byte.
//
//	programs ── Application ──▶ tag ──▶ queue ──▶ NIC ──▶ fabric
//	programs ◀── Application ◀── record, strip ◀── NIC ◀── fabric
//
// The Edge is all of it but the ports. Shim is the machine of a host without our
// transport: an Edge and its ports. The machine of package host may have an Edge
// beside its flows.
//
// The fabric has neither broadcast nor multicast: the Edge itself answers who asks
// for the MAC address of another host (neighbour.go), and drops the rest.
//
// It is driven through package node and touches no network itself.
package shim

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Shim is the machine: a NIC and the Edge that it serves.
type Shim struct {
	edge *Edge
	sink metrics.Sink

	ready node.PortSet
	nic   units.Serialiser
	sizes wire.Sizes
	port  metrics.PortRecorder
	name  string
}

// New returns the machine of cfg, which draws packets from pool and emits its
// records into sink. An error names the part of the configuration that makes no
// sense.
func New(cfg Config, pool *wire.Pool, sink metrics.Sink) (*Shim, error) {
	s := &Shim{
		sink:  sink,
		ready: node.NewPortSet(Ports),
		nic:   units.NewSerialiser(cfg.Rate),
		sizes: cfg.Sizes,
		port:  metrics.NewPortRecorder(metrics.PortConfig{Node: cfg.Node, Port: NIC, Records: cfg.Records, Measure: cfg.Measure, Sink: sink}),
		name:  cfg.Name,
	}
	var err error
	s.edge, err = NewEdge(cfg.EdgeConfig, &s.port, pool, sink)
	if err != nil {
		return nil, fmt.Errorf("shim %s: %w", cfg.Name, err)
	}
	return s, nil
}

// Ready is the set of ports that may have something to send.
func (s *Shim) Ready() node.PortSet { return s.ready }

// Receive takes a frame of a program or of the fabric.
func (s *Shim) Receive(now units.Time, port int, p *wire.Packet) {
	if port == Application {
		s.edge.Send(now, p)
	} else {
		s.edge.Deliver(now, p)
	}
	if s.edge.Outbound() {
		s.ready.Add(NIC)
	}
	if s.edge.Inbound() {
		s.ready.Add(Application)
	}
}

// Transmit returns the next packet of a port. Towards the programs there is no
// link: packets leave at once.
func (s *Shim) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	if port == Application {
		p := s.edge.TakeInbound()
		if !s.edge.Inbound() {
			s.ready.Remove(Application)
		}
		return p, now, p != nil
	}
	p := s.edge.TakeOutbound(now)
	if !s.edge.Outbound() {
		s.ready.Remove(NIC)
	}
	if p == nil {
		return nil, now, false
	}
	departs := s.nic.Departure(now, s.sizes.OnLine(p))
	s.port.Transmit(now, departs, int64(p.Size), false)
	return p, departs, true
}

// NextTimeout is units.Never: the shim waits for nothing.
func (s *Shim) NextTimeout() units.Time { return units.Never }

// HandleTimeout does nothing.
func (s *Shim) HandleTimeout(units.Time) {}

// Profile returns that of the shim's CSIG domain.
func (s *Shim) Profile() uint32 { return s.edge.Profile() }

// Close closes all windows and emits the totals. The port of the programs has
// none: it is no link.
func (s *Shim) Close(end units.Time) {
	packets, bytes := s.edge.Queued()
	s.port.Close(end, packets, bytes)
	t := metrics.NodeTotals{Node: s.port.Totals.Node, Name: s.name, Ports: []metrics.PortTotals{s.port.Totals}}
	s.edge.Close(&t)
	s.sink.Emit(&t)
}

// SetRate gives the NIC another rate from now on.
func (s *Shim) SetRate(_ units.Time, port int, rate units.Rate) {
	if port == NIC {
		s.nic = units.NewSerialiser(rate)
	}
}
