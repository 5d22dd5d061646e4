package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// BenchmarkPacket is the way of a packet through a switch: it comes in, leaves the pipeline,
// and is sent. "control" is an ACK, and "tagged" a data packet whose tag asks for available
// bandwidth.
func BenchmarkPacket(b *testing.B) {
	data := func(*csig.Domain) *wire.Packet { return nodetest.Data(nil, 3, 1, 1, 0, 4150) }
	control := func(*csig.Domain) *wire.Packet {
		p := nodetest.Data(nil, 3, 1, 1, 0, 64)
		p.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(1), SourcePort: wire.EntropyBase}, wire.Ack, 0, wire.NotECT, 0)
		return p
	}
	tagged := func(domain *csig.Domain) *wire.Packet {
		p := data(domain)
		domain.Init(p.InsertTag(domain.Format().Size()), csig.ABW)
		p.Size = sizes.Of(p)
		return p
	}
	withTags := withCSIG(config(), csig.FormatCompact)
	b.Run("data", func(b *testing.B) { benchPacket(b, config(), data) })
	b.Run("control", func(b *testing.B) { benchPacket(b, config(), control) })
	b.Run("tagged", func(b *testing.B) { benchPacket(b, withTags, tagged) })
	b.Run("classes", func(b *testing.B) { benchPacket(b, withClasses(config()), data) })
	b.Run("classes-tagged", func(b *testing.B) { benchPacket(b, withClasses(withTags), tagged) })
}

func benchPacket(b *testing.B, cfg dataplane.Config, packet func(*csig.Domain) *wire.Packet) {
	const egress, burst = 1, 4
	cfg.Delay = 500 * units.Nanosecond
	pool := new(wire.Pool)
	sw, err := dataplane.New(cfg, pool, metrics.Discard)
	if err != nil {
		b.Fatal(err)
	}
	var domain *csig.Domain
	if cfg.CSIG != nil {
		if domain, err = csig.NewDomain(cfg.CSIG.Domain); err != nil {
			b.Fatal(err)
		}
	}
	fresh := packet(domain)
	var packets [burst]wire.Packet
	now, n := units.Time(0), 0
	for b.Loop() {
		p := &packets[n]
		*p = *fresh
		sw.Receive(now, 3, p)
		if n++; n < burst {
			continue
		}
		n = 0
		sw.HandleTimeout(sw.NextTimeout())
		now = now.Add(cfg.Delay)
		for range burst {
			p, departs, ok := sw.Transmit(now, egress)
			if !ok || p.Kind() != fresh.Kind() {
				b.Fatal("the packet was not sent")
			}
			now = departs
		}
	}
}
