package dataplane_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// The exact values of a port, by arithmetic: four packets of 332 ns come at once. The first
// leaves at once, the second has waited for one packet and leaves two behind, and so on;
// available bandwidth falls by 332 ns of 128 us with each, while the meter's window, which
// ends later, still says that all of the rate is free.
func TestTruthOfAPort(t *testing.T) {
	const ps = 1000
	free := func(packets int64) int64 {
		return (12_500_000_000_000*128_000 - packets*4150*1_000_000*1000*ps) / 128_000
	}
	for typ, want := range map[csig.Type][]int64{
		csig.Delay: {332 * ps, 2 * 332 * ps, 3 * 332 * ps, 4 * 332 * ps},
		csig.NQD:   {0, 200_000_000, 100_000_000, 0}, /* the others come when the first has gone */
		csig.ABW:   {free(0), free(1), free(2), free(3)},
		csig.ABWC:  {1_000_000_000, 997_406_250, 994_812_500, 992_218_750},
	} {
		for policy, updates := range map[dataplane.Policy]bool{dataplane.Update: true, dataplane.Pass: false} {
			cfg := withCSIG(config(), csig.FormatWide)
			cfg.Truth, cfg.Ports[1].Policies[typ], cfg.Ports[1].LastHop = 1, policy, true
			r := newRig(t, cfg)
			r.receive(0, 3, r.tagged(1, 4150, typ), r.tagged(1, 4150, typ), r.tagged(1, 4150, typ), r.tagged(1, 4150, typ))
			r.Run(forever)
			var all []metrics.HopValue
			for i, value := range want {
				all = append(all, metrics.HopValue{
					Flow: 1, Transmission: 1, Type: uint8(typ), Hop: 1, Last: true, Updates: updates, Node: 9, Port: 1, At: units.Time(i * 332 * ps), Value: value,
				})
			}
			if diff := cmp.Diff(r.records.Hops, all); diff != "" {
				t.Errorf("%v, policy %d (-got +want):\n%s", typ, policy, diff)
			}
		}
	}
}

// What has no truth: packets without a tag or without a number, trimmed ones, those that are
// not chosen, and all of them where it is not asked for.
func TestTruthOfNoPort(t *testing.T) {
	for name, c := range map[string]struct {
		truth  metrics.TruthChoice
		packet func(*rig) *wire.Packet
		want   int
	}{
		"tagged":        {1, func(r *rig) *wire.Packet { return r.tagged(1, 4150, csig.ABW) }, 1},
		"no tag":        {1, func(r *rig) *wire.Packet { return r.data(1, 4150) }, 0},
		"an ACK":        {1, func(r *rig) *wire.Packet { return r.ack(1) }, 0},
		"not asked for": {0, func(r *rig) *wire.Packet { return r.tagged(1, 4150, csig.ABW) }, 0},
		"trimmed": {1, func(r *rig) *wire.Packet {
			p := r.tagged(1, 4150, csig.ABW)
			p.Trim(sizes, false)
			return p
		}, 0},
		"not chosen": {1000, func(r *rig) *wire.Packet { return r.tagged(1, 4150, csig.ABW) }, 0},
	} {
		cfg := withCSIG(config(), csig.FormatCompact)
		cfg.Truth = c.truth
		r := newRig(t, cfg)
		r.receive(0, 3, c.packet(r))
		r.Run(forever)
		if got := len(r.records.Hops); got != c.want {
			t.Errorf("%s: %d values, want %d", name, got, c.want)
		}
	}
}

// The sample of a tag that ends here is recorded with the value of the port that ends it.
func TestTruthOfAPostcard(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatWide)
	cfg.Truth, cfg.Ports[1].Policies[csig.Delay] = 1, dataplane.Terminate
	r := newRig(t, cfg)
	p := r.tagged(1, 4150, csig.Delay)
	r.domain.Update(p.Tag(), 5000, 7) // by a hop before
	r.receive(0, 3, p)
	r.Run(forever)
	if len(r.records.Tagged) != 1 || len(r.records.Hops) != 1 {
		t.Fatalf("%d samples and %d values, want one each", len(r.records.Tagged), len(r.records.Hops))
	}
	s, h := r.records.Tagged[0], r.records.Hops[0]
	if s.Flow != h.Flow || s.Packet != h.Packet || s.Transmission != h.Transmission || s.Hop != h.Hop || s.Locator != 7 || s.Age != metrics.Absent || !h.Ends || h.Value != 332_000 {
		t.Errorf("sample %+v of the packet with value %+v", s, h)
	}
}
