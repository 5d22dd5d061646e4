package dataplane_test

import (
	"bytes"
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
)

// nanoseconds is the configuration of a switch that writes delays into wide tags in
// steps of 1 ns. Its first ports have the given rates.
func nanoseconds(rates ...units.Rate) dataplane.Config {
	cfg := withCSIG(config(), csig.FormatWide)
	cfg.CSIG.Domain.Quantisers[csig.Delay].Name = "linear(1ns)"
	for i, r := range rates {
		cfg.Ports[i].Rate = r
	}
	return cfg
}

// delayOf returns the delay that a packet's tag says, in ns.
func (r *rig) delayOf(d int) uint32 {
	r.t.Helper()
	tag, err := r.domain.ParseTag(r.Sent[d].Packet.Tag())
	if err != nil || tag.Type != csig.Delay {
		r.t.Fatalf("tag %x: %+v, %v", r.Sent[d].Packet.Tag(), tag, err)
	}
	return tag.Signal
}

// Residence is first bit in to first bit out. The first bit of a packet comes in one
// serialisation at the ingress port's rate before its last: 332 ns of 4150 B at
// 100 Gb/s, 83 ns at 400 Gb/s, whatever the rate at which it leaves.
func TestResidenceBetweenUnequalRates(t *testing.T) {
	const g100, g400 = 100 * units.Gbps, 400 * units.Gbps
	for _, c := range []struct {
		in, out  units.Rate
		overhead units.Size
		own      units.Duration // the switch's delay
		idle     units.Duration // residence without waiting
	}{
		{g100, g100, 0, 0, 332_000},
		{g100, g400, 0, 0, 332_000},
		{g400, g100, 0, 0, 83_000},
		{g400, g400, 0, 0, 83_000},
		{g400, g100, 0, 1_000_000, 1_083_000},
		{g100, g400, 24, 0, 333_920},
		{g400, g100, 24, 500_500, 583_980},
		{3 * units.Gbps, g400, 0, 0, 11_066_666},
	} {
		for _, mode := range []dataplane.DelayMode{dataplane.Residence, dataplane.Wait} {
			// A packet occupies the egress port until the one that is measured has waited
			// for exactly this long. The tag counts whole nanoseconds: over a thousand
			// waits of 1 ps more each, the edge shows the residence to the picosecond.
			occupied := c.out.Serialisation(4150 + c.overhead)
			for wait := units.Duration(0); wait < 2*units.Nanosecond; wait += 1 + units.Duration(wait%7) {
				cfg := nanoseconds(c.out, c.out, c.out, c.in)
				cfg.CSIG.Delay, cfg.Delay, cfg.Sizes.Overhead = mode, c.own, c.overhead
				r := newRig(t, cfg)
				r.receive(1_000_000, 3, r.data(1, 4150))
				r.receive(units.Time(1_000_000+occupied-wait), 3, r.tagged(1, 4150, csig.Delay))
				r.Run(forever)
				want := wait
				if mode == dataplane.Residence {
					want += c.idle
				}
				if got := r.delayOf(1); got != uint32(want/units.Nanosecond) {
					t.Fatalf("%+v, mode %d, waited %d ps: the tag says %d ns, want %d ps", c, mode, wait, got, want)
				}
			}
		}
	}
}

// With equal rates the residence is what it was by the egress alone: waiting, own
// serialisation and the switch's delay (docs/reference/references.md#per-hop-delay).
func TestResidenceBetweenEqualRates(t *testing.T) {
	rnd, seed := random()
	for _, rate := range []units.Rate{units.Gbps, 100 * units.Gbps, 800 * units.Gbps} {
		cfg := nanoseconds(rate, rate, rate, rate)
		dataLimit(&cfg, units.GB)
		r := newRig(t, cfg)
		type arrival struct {
			at   units.Time
			size units.Size
		}
		var arrivals []arrival
		now := units.Time(0)
		for range 300 {
			now += units.Time(rnd.Int64N(int64(rate.Serialisation(8000))))
			a := arrival{now, units.Size(64 + rnd.IntN(4087))}
			arrivals = append(arrivals, a)
			r.receive(now, 3, r.tagged(1, int(a.size), csig.Delay))
		}
		r.Run(forever)
		for i, a := range arrivals {
			want := r.Sent[i].Departs.Sub(a.at) / units.Nanosecond
			if got := r.delayOf(i); got != uint32(want) {
				t.Fatalf("seed %d, %v, packet %d: the tag says %d ns, want %d", seed, rate, i, got, want)
			}
		}
	}
}

// Overhead takes time on the line, and is in no size, queue or rate.
func TestOverhead(t *testing.T) {
	cfg := config()
	cfg.Sizes.Overhead = 24
	r := newRig(t, cfg)
	r.receive(0, 3, r.data(1, 4150), r.data(1, 4150), r.data(1, 64))
	r.Run(forever)
	var at units.Time
	for i, size := range []units.Size{4150, 4150, 64} {
		departs := at.Add(units.Duration(size+24) * 80)
		if d := r.Sent[i]; d.At != at || d.Departs != departs || d.Packet.Size != size {
			t.Errorf("packet %d of %v leaves from %v to %v, want %v from %v to %v", i, d.Packet.Size, d.At, d.Departs, size, at, departs)
		}
		at = departs
	}
	if got := r.port(1); got.TxBytes != 2*4150+64 || got.QueueMax != 4150+64 {
		t.Errorf("%d B sent, %d B in the queue; want %d and %d", got.TxBytes, got.QueueMax, 2*4150+64, 4150+64)
	}
}

// Trim rule measured: the value that the packet would have met. A queue of two full
// packets takes 664 ns to drain at 100 Gb/s, 667.84 ns with an overhead of 24 B each.
func TestTrimRuleMeasured(t *testing.T) {
	for _, mode := range []dataplane.DelayMode{dataplane.Residence, dataplane.Wait} {
		for _, overhead := range []units.Size{0, 24} {
			for _, own := range []units.Duration{0, 500 * units.Nanosecond} {
				for seed := range uint64(8) {
					cfg := nanoseconds()
					cfg.Ports[3].Rate = 400 * units.Gbps
					cfg.CSIG.Domain.TrimRule = csig.TrimMeasured
					cfg.CSIG.Delay, cfg.Delay, cfg.Sizes.Overhead, cfg.Seed = mode, own, overhead, seed
					dataLimit(&cfg, 3*4150)
					r := newRig(t, cfg)
					// One leaves, three queue; 100 ns later one comes that does not fit.
					tail, late := r.tagged(1, 4150, csig.Delay), r.tagged(1, 4150, csig.Delay)
					r.receive(900_000, 3, r.data(1, 4150))
					r.receive(1_000_000, 3, r.data(1, 4150), r.data(1, 4150), tail)
					r.receive(1_100_000, 3, late)
					r.Run(forever)
					trimmed, want := late, 3*units.Duration(4150+overhead)*80
					if tail.Trimmed() {
						trimmed, want = tail, 100_000+2*units.Duration(4150+overhead)*80
					}
					if mode == dataplane.Residence {
						want += own + units.Duration(4150+overhead)*20
					}
					tag, err := r.domain.ParseTag(trimmed.Tag())
					if err != nil || !trimmed.Trimmed() || !tag.DoNotUpdate || tag.Locator != 11 || tag.Signal != uint32(want/units.Nanosecond) {
						t.Errorf("mode %d, overhead %v, switch delay %v, tail %v: %+v, %v; want %v by locator 11", mode, overhead, own, tail.Trimmed(), tag, err, want)
					}
				}
			}
		}
	}
}

// Other types have their own value with the rule measured: queue depth that of the
// full queue, available bandwidth that of the port.
func TestTrimRuleMeasuredOfOtherTypes(t *testing.T) {
	for typ, want := range map[csig.Type]uint64{csig.NQD: 1_000_000, csig.ABWC: 1_000_000 - 259_375} {
		for seed := range uint64(8) {
			cfg := withCSIG(config(), csig.FormatWide)
			cfg.CSIG.Domain.TrimRule, cfg.CSIG.Phase, cfg.Seed = csig.TrimMeasured, meter.Aligned, seed
			dataLimit(&cfg, 2*4150)
			r := newRig(t, cfg)
			for i := range 100 { // 415000 B of 1600000 B in the first window
				r.receive(units.Time(i)*units.Time(units.Microsecond), 3, r.data(1, 4150))
			}
			now := units.Time(129 * units.Microsecond)
			tail, late := r.tagged(1, 4150, typ), r.tagged(1, 4150, typ)
			r.receive(now, 3, r.data(1, 4150), r.data(1, 4150), tail, late)
			trimmed, raw := late, want
			if tail.Trimmed() {
				if trimmed = tail; typ == csig.NQD {
					raw = 500_000 // without itself
				}
			}
			tag := make([]byte, csig.FormatWide.Size())
			r.domain.Init(tag, typ)
			r.domain.Trim(tag, raw, 11)
			if !bytes.Equal(trimmed.Tag(), tag) {
				t.Errorf("%v, seed %d: tag %x, want %x for %d ppm", typ, seed, trimmed.Tag(), tag, raw)
			}
			r.Run(forever)
		}
	}
}

// Each port marks, queues and measures by its own limits.
func TestPortsHaveTheirOwnLimits(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatWide)
	marking(&cfg, 0, 0)
	cfg.Trim = false
	for i, packets := range []units.Size{2, 8} {
		p := &cfg.Ports[i]
		p.Buffer.Data = packets * 4150
		p.ECN.Low, p.ECN.High = packets/2*4150, packets/2*4150 // marks from half of the queue
	}
	r := newRig(t, cfg)
	for port := range 2 {
		for range 9 {
			r.receive(0, 3, r.tagged(port, 4150, csig.NQD))
		}
	}
	r.Run(forever)
	for port, want := range []struct{ sent, marked int64 }{{3, 1}, {9, 4}} {
		got := r.port(port)
		if got.TxPackets != want.sent || got.MarkedPackets != want.marked {
			t.Errorf("port %d: %d sent, %d marked, want %+v", port, got.TxPackets, got.MarkedPackets, want)
		}
		// The second packet leaves behind all of its queue but itself.
		for _, d := range r.Sent {
			if d.Port == port && d.At > 0 {
				limit := int64(cfg.Ports[port].Buffer.Data)
				tag, err := r.domain.ParseTag(d.Packet.Tag())
				if want := uint32((limit - 4150) * 1_000_000 / limit); err != nil || tag.Signal != want {
					t.Errorf("port %d: occupancy %d ppm, %v, want %d", port, tag.Signal, err, want)
				}
				break
			}
		}
	}
}
