package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// shareRig is a switch whose port 1 packets share with flows of a fluid.
func shareRig(t *testing.T, limit units.Size) (r *rig, taken func(now units.Time, rate units.Rate)) {
	cfg := withCSIG(config(), csig.FormatWide)
	cfg.Fluid = &fluid.Lending{Packet: 4150}
	dataLimit(&cfg, limit)
	r = newRig(t, cfg)
	return r, func(now units.Time, rate units.Rate) {
		p := r.data(1, 64)
		p.Build(wire.Addresses{}, wire.Control, 0, wire.NotECT, 0)
		p.SetControl(1<<31|1, uint32(rate/units.Mbps))
		r.receive(now, len(cfg.Ports), p)
	}
}

// Packets and a fluid share one queue. What comes at once leaves at the port's rate, and what comes
// later waits behind the fluid that came in between. Available bandwidth is what neither takes.
func TestFluidTakesAPart(t *testing.T) {
	full := (100 * units.Gbps).Serialisation(4150)
	for rate, want := range map[units.Rate]struct {
		later float64 // when the third packet starts, in times of a packet after the first two came
		free  uint64  // byte/s
	}{0: {2, 12_500_000_000}, 60 * units.Gbps: {3.2, 5_000_000_000}, 100 * units.Gbps: {4 - 2.0/32, 390_625_000}} {
		r, taken := shareRig(t, units.MB)
		taken(0, rate)
		first := units.Time(50 * units.Microsecond)
		r.receive(first, 3, r.tagged(1, 4150, csig.ABW), r.data(1, 4150))
		r.receive(first.Add(2*full), 3, r.data(1, 4150))
		r.Run(units.Never)
		if len(r.Sent) != 3 {
			t.Fatalf("%v taken: %d packets left", rate, len(r.Sent))
		}
		for i, starts := range []float64{0, 1, want.later} {
			got := float64(r.Sent[i].Departs.Sub(first))/float64(full) - 1
			if got < starts-0.01 || got > starts+0.01 {
				t.Errorf("%v taken: packet %d starts after %.3f packets, want %g", rate, i, got, starts)
			}
		}
		if got, ok := r.domain.Decode(r.Sent[0].Packet.Tag()); !ok || got.Low > want.free || got.High < want.free {
			t.Errorf("%v taken: a tag says %+v byte/s, want %d", rate, got, want.free)
		}
	}
}

// The queue that fills up is that of both: it shrinks at the rate that the fluid leaves, and a packet
// that finds it full is trimmed. Packets get no more of the port than that in the long run.
func TestFluidInTheQueue(t *testing.T) {
	const limit, packets = 40 * 4150, 2000
	r, taken := shareRig(t, limit)
	taken(0, 75*units.Gbps)
	every := (100 * units.Gbps).Serialisation(2 * 4150) // 50 Gb/s come, 25 are left
	for i := range packets {
		r.receive(units.Time(i+1)*units.Time(every), 3, r.data(1, 4150))
	}
	r.Run(units.Never)
	whole, last := 0, units.Time(0)
	for _, d := range r.Sent {
		if d.Packet.Size == 4150 {
			whole++
			if d.Departs < last {
				t.Fatalf("a packet leaves at %v, after one at %v", d.Departs, last)
			}
			last = d.Departs
		}
	}
	// Half of the packets have room, and what the queue holds.
	if want := packets/2 + limit/4150; len(r.Sent) != packets || whole < want-5 || whole > want+5 {
		t.Errorf("%d packets left, %d of them whole, want about %d", len(r.Sent), whole, want)
	}
	totals := r.result()
	if got := totals.Ports[1].QueueMax; got < limit-2*4150 || got > limit {
		t.Errorf("the queue had up to %d bytes, want up to %d", got, limit)
	}
}
