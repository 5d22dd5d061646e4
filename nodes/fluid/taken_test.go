package fluid_test

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// told is that a node hears what flows take of its port.
type told struct {
	at   units.Time
	port int
	rate units.Rate
}

// packets tells the network that a flow sends packets, or has sent them, at a time.
func (d *driver) packets(at units.Time, flow int, sends bool) {
	d.t.Helper()
	d.until(at.Add(delay) - 1)
	m, p := fluid.PostPackets(uint32(flow), sends), d.pool.Get()
	p.Build(wire.Addresses{}, wire.Control, 0, wire.NotECT, 0)
	p.SetControl(m.Flow, m.Code)
	d.network.Receive(at.Add(delay), 2*flow, p)
}

// Packets have their share of a port beside a flow: the flow has the rest, and the node hears of it
// two link delays after each change. The port's records are the node's.
func TestTaken(t *testing.T) {
	c := config([]float64{100, 100}, way(0), way(0, 1))
	c.Ports[0] = fluid.Port{Node: 7, Port: 3, Link: 1}
	c.Flows[0].Packets = 1
	d := drive(t, c)
	d.post(0, 1, 10_000_000, 0)
	at := func(us int) units.Time { return units.Time(us) * units.Time(units.Microsecond) }
	d.packets(at(100), 0, true)
	d.packets(at(300), 0, false)
	d.until(units.Never - 1)
	// 10.64 MB on the line: 100 us at 100 Gb/s, 200 us at 50, and the rest.
	ends := at(300).Add(took(10_640_000-2_500_000, 100))
	want := []told{{at(2), 3, 100 * units.Gbps}, {at(102), 3, 50 * units.Gbps}, {at(302), 3, 100 * units.Gbps}, {ends.Add(2 * delay), 3, 0}}
	if !slices.EqualFunc(d.told, want, func(a, b told) bool { return near(a.at, b.at) && a.port == b.port && a.rate == b.rate }) {
		t.Errorf("told %v, want %v", d.told, want)
	}
	if got := d.received(1, 1); !near(got, ends.Add(4*delay)) {
		t.Errorf("the message arrives at %v, want %v", got, ends.Add(4*delay))
	}
	d.network.Close(d.now)
	for _, w := range d.records.Ports {
		if w.Node == 7 {
			t.Errorf("the network has a record of the node's port: %+v", w)
		}
	}
	if len(d.records.Ports) == 0 || len(d.records.Totals[0].Senders) != 1 || d.records.Totals[0].Senders[0].Flow != 1 {
		t.Errorf("%d records of ports, totals %+v", len(d.records.Ports), d.records.Totals)
	}
}

// A port slows down while a flow is sent: the node hears of it.
func TestTakenInEpochs(t *testing.T) {
	c := config([]float64{100}, way(0))
	c.Ports[0].Link = 1
	slow := c.Epochs[0]
	slow.From, slow.Rates = units.Time(50*units.Microsecond), []units.Rate{25 * units.Gbps}
	c.Epochs = append(c.Epochs, slow)
	d := drive(t, c)
	d.post(0, 0, 2_000_000, 0)
	d.until(units.Never - 1)
	var rates []units.Rate
	for _, x := range d.told {
		rates = append(rates, x.rate)
	}
	if !slices.Equal(rates, []units.Rate{100 * units.Gbps, 25 * units.Gbps, 0}) {
		t.Errorf("told %v", d.told)
	}
}

// Packets keep a part of a port in any case, and what is beside them is no more than the port has.
func TestLeft(t *testing.T) {
	l := fluid.Lending{Packet: 1064, Overhead: 24}
	for taken, want := range map[units.Rate]units.Rate{0: 100 * units.Gbps, 60 * units.Gbps: 40 * units.Gbps, 100 * units.Gbps: 3125 * units.Mbps, 200 * units.Gbps: 3125 * units.Mbps} {
		if got := fluid.Left(100*units.Gbps, taken); got != want {
			t.Errorf("%v of 100 Gb/s: %v are left, want %v", taken, got, want)
		}
		if b := l.Beside(100*units.Gbps, taken); b.Busy > 1 || b.Bytes > 0.0125 || b.Packets > b.Bytes/1000 || taken == 0 && b != (metrics.Beside{}) {
			t.Errorf("%v of 100 Gb/s: %+v", taken, b)
		}
	}
}
