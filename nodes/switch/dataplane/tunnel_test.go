package dataplane_test

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// tunnelEnd is a switch with host 3; hosts 0 and 1 are elsewhere, behind ports 0 and 1, and host 2
// is here too.
func tunnelEnd(moves bool) dataplane.Config {
	cfg := withCSIG(config(), csig.FormatWide)
	cfg.Node = 20
	cfg.Ports[2].LastHop, cfg.Ports[3].LastHop = true, true
	cfg.Tunnel = &dataplane.Tunnel{Ends: []int32{21, 21, 20, 20}, Moves: moves}
	return cfg
}

// What a host sends elsewhere enters a tunnel with its tag outside or inside; what it sends to a
// host of the same switch does not. The delay is that of the packet as it came in, 4150 B at 100
// Gb/s, and the port is charged for 50 B more.
func TestTunnelBegins(t *testing.T) {
	for _, moves := range []bool{true, false} {
		r := newRig(t, tunnelEnd(moves))
		r.receive(0, 3, r.tagged(1, 4150, csig.Delay), r.tagged(2, 4150, csig.Delay))
		r.Run(forever)
		away, here := r.Sent[0], r.Sent[1]
		if away.Port != 1 || !away.Packet.InTunnel() || away.Packet.Size != 4150+wire.TunnelLen || away.Departs != units.Time(336*units.Nanosecond) {
			t.Errorf("moves %v: sent to port %d, in a tunnel %v, %v, gone at %v", moves, away.Port, away.Packet.InTunnel(), away.Packet.Size, away.Departs)
		}
		if here.Port != 2 || here.Packet.InTunnel() || here.Packet.Size != 4150 {
			t.Errorf("moves %v: what stays here: port %d, in a tunnel %v, %v", moves, here.Port, here.Packet.InTunnel(), here.Packet.Size)
		}
		tag, count := away.Packet.Tag(), map[string]int64{"updated": 2}
		if !moves {
			if tag != nil {
				t.Errorf("tag %x is to be seen", tag)
			}
			tag, count = away.Packet.HiddenTag(), map[string]int64{"passed": 1, "updated": 1}
		}
		if got, err := r.domain.ParseTag(tag); err != nil || moves != (got.Locator == 11) || moves && got.Signal != 332/16 || !moves && got.Signal != 0 {
			t.Errorf("moves %v: tag %+v, %v", moves, got, err)
		}
		r.wants(nil, count)
	}
}

// At the far end the packet leaves its tunnel, and its tag is updated by the last hop, unless it
// was outside and this switch does not move it. Its delay is that of the longer packet that came in.
func TestTunnelEnds(t *testing.T) {
	for _, c := range []struct {
		outside, moves bool
		tags           map[string]int64
	}{
		{true, true, map[string]int64{"updated": 1}},
		{false, true, map[string]int64{"updated": 1}},
		{false, false, map[string]int64{"updated": 1}},
		{true, false, map[string]int64{"stripped": 1}},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			r := newRig(t, tunnelEnd(c.moves))
			p := r.tagged(3, 4150, csig.Delay)
			p.Build(wire.Addresses{Source: wire.HostIP(0), Destination: wire.HostIP(3), SourcePort: wire.EntropyBase}, wire.Data, 0, wire.ECT0, 4150-64)
			r.domain.Init(p.InsertTag(8), csig.Delay)
			p.EnterTunnel(c.outside)
			p.Size = sizes.Of(p)
			r.receive(0, 0, p)
			r.Run(forever)
			got := r.Sent[0].Packet
			if got.InTunnel() || got.Size != 4150 || c.tags["updated"] == 1 != (got.Tag() != nil) {
				t.Errorf("in a tunnel %v, %v, tag %x", got.InTunnel(), got.Size, got.Tag())
			}
			if tag, err := r.domain.ParseTag(got.Tag()); err == nil && (tag.Signal != 336/16 || tag.Locator != 13) {
				t.Errorf("tag %+v", tag)
			}
			r.wants(nil, c.tags)
		})
	}
}

// Within a tunnel nobody but its ends removes or puts on tags that are inside.
func TestHiddenTagsStay(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatWide)
	cfg.Ports[0].Ingress = dataplane.Ingress{Outside: true, Init: csig.All, Signals: []csig.Type{csig.Delay}}
	r := newRig(t, cfg)
	p := r.tagged(1, 4150, csig.Delay)
	p.EnterTunnel(false)
	r.receive(0, 0, p)
	r.Run(forever)
	if got := r.Sent[0].Packet; got.Tag() != nil || got.HiddenTag() == nil {
		t.Errorf("tag %x, hidden %x", got.Tag(), got.HiddenTag())
	}
	r.wants(nil, map[string]int64{"passed": 1})
}
