package collector_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/collector"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

const period = 100 * units.Microsecond

func newCollector(t *testing.T) *collector.Collector {
	t.Helper()
	c, err := collector.New(collector.Config{Period: period, Gain: 0.5, Routes: []collector.Route{{
		Node: 9, Rack: 1, Host: wire.HostIP(3),
		Ways: []collector.Way{{Port: 2, Weight: 240, Hops: [][]uint16{{1}, {11}}}, {Port: 3, Weight: 240, Hops: [][]uint16{{2}, {12}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// step reports available bandwidths by locator and returns the weights of ports 2 and 3
// after that; nil if none are set.
func step(c *collector.Collector, now units.Time, values map[uint16]uint64) []wire.PortWeight {
	due := false
	for _, locator := range []uint16{1, 2, 11, 12, 99} {
		if v, ok := values[locator]; ok {
			due = c.Receive(now, csig.Sample{Type: csig.ABW, Point: v, Locator: locator}, uint32(locator))
		}
	}
	if !due {
		return nil
	}
	f, to := c.Settings(now)
	if len(f) == 0 {
		return nil
	}
	if len(f) != 1 || to[0] != wire.HostIP(3) || f[0].Node != 9 || f[0].Rack != 1 {
		panic("other weights than those of the route")
	}
	return f[0].Ports[:f[0].Count]
}

// The way with less available gets less, by half of its distance from the mean: 40 and 0
// have a mean of 20, so that the weights become 240 * (1 + 0.5 * 20/40) and 240 * (1 - 0.5
// * 20/40), and these 240 and 144.
func TestWeightsFollowAvailableBandwidth(t *testing.T) {
	c := newCollector(t)
	now := units.Time(0)
	if got := step(c, now.Add(period/2), map[uint16]uint64{1: 5}); got != nil {
		t.Errorf("weights %v before the period ends", got)
	}
	got := step(c, now.Add(period), map[uint16]uint64{1: 75, 11: 60, 2: 30, 12: 0, 99: 7}) // port 2: the mean of 5 and 75 at one hop
	if got == nil || got[0] != (wire.PortWeight{Port: 2, Weight: 240}) || got[1] != (wire.PortWeight{Port: 3, Weight: 144}) {
		t.Fatalf("weights %v, want 240 and 144", got)
	}
	for i := range units.Time(40) {
		got = step(c, now.Add(period).Add(units.Duration(i+1)*period), map[uint16]uint64{1: 40, 2: 0})
	}
	if got[0].Weight != 240 || got[1].Weight != 10 {
		t.Errorf("weights %v, want 240 and the least, 10", got)
	}
	for i := range units.Time(40) { // the other way round
		got = step(c, now.Add(42*period).Add(units.Duration(i)*period), map[uint16]uint64{1: 0, 2: 40})
	}
	if got[0].Weight != 10 || got[1].Weight != 240 {
		t.Errorf("weights %v, want the least and 240", got)
	}
}

// A way of which nothing is known keeps its weight, and where nothing is available
// anywhere nothing changes.
func TestAbsenceIsNoRoom(t *testing.T) {
	c := newCollector(t)
	if got := step(c, units.Time(period), map[uint16]uint64{1: 40}); got[0].Weight != got[1].Weight {
		t.Errorf("weights %v: a way without samples lost or gained", got)
	}
	if got := step(c, units.Time(2*period), map[uint16]uint64{1: 0, 2: 0}); got != nil {
		t.Errorf("weights %v where all is full", got)
	}
	if c.Cards() != 3 {
		t.Errorf("%d postcards, want 3", c.Cards())
	}
}
