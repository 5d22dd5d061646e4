package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// A port with another rate sends at it, and what is being sent keeps its time.
func TestSetRate(t *testing.T) {
	r := newRig(t, config())
	r.Receive(0, 0, 3, r.data(1, 4150), r.data(1, 4150), r.data(1, 4150))
	r.sw.SetRate(0, 1, 25*units.Gbps)
	r.Run(units.Never)
	var got []units.Time
	for _, d := range r.Sent {
		got = append(got, d.Departs)
	}
	full, slow := (100 * units.Gbps).Serialisation(4150), (25 * units.Gbps).Serialisation(4150)
	want := []units.Time{units.Time(full), units.Time(full + slow), units.Time(full + 2*slow)}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("packets left at %v, want %v", got, want)
	}
}

// Available bandwidth is measured against the port's rate of now: a port that sends at all
// of a quarter of its rate has nothing free, and at its own rate three quarters.
func TestBandwidthOfASlowerPort(t *testing.T) {
	const rate = 100 * units.Gbps
	interval := 10 * units.Microsecond
	for _, slower := range []bool{false, true} {
		b := meter.NewBandwidth(rate, interval, meter.Tumbling, 0)
		now := units.Time(0)
		if slower {
			b.SetRate(0, rate/4)
		}
		for now < units.Time(5*interval) {
			departs := now.Add((rate / 4).Serialisation(4150))
			b.Transmit(now, departs, 4150)
			now = departs
		}
		got, want := b.Relative(now), uint64(750_000)
		if slower {
			want = 0
		}
		if got > want+2 || got+2 < want {
			t.Errorf("slower %v: %d ppm free, want %d", slower, got, want)
		}
	}
}

// A switch that restarts has lost what it had queued, also what was on its way to a
// queue, and its meters have seen nothing.
func TestRestart(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatCompact)
	cfg.Delay = units.Microsecond
	cfg.CSIG.Domain.Interval, cfg.CSIG.Meter = 8*units.Microsecond, meter.Sliding
	r := newRig(t, cfg)
	for i := range 20 {
		r.Receive(units.Time(i)*units.Time(units.Microsecond), 0, 3, r.data(1, 4150), r.data(1, 4150), r.data(1, 4150))
	}
	now := units.Time(20 * units.Microsecond)
	r.Run(now - 1)
	sent := len(r.Sent)
	packets, bytes := r.sw.Restart(now)
	if packets != int64(60-sent) || bytes != packets*4150 {
		t.Errorf("%d packets of %d bytes dropped, want all but the %d that have left", packets, bytes, sent)
	}
	if r.sw.NextTimeout() != units.Never || r.sw.Ready().Has(1) {
		t.Error("something is left to do")
	}
	// What a tag says of the port now: it has been idle.
	r.Run(now)
	r.Sent = nil
	tagged := r.tagged(1, 4150, csig.ABWC)
	r.Receive(now.Add(3*units.Microsecond), 0, 3, tagged)
	r.Run(now.Add(5 * units.Microsecond))
	if len(r.Sent) != 1 {
		t.Fatalf("%d packets left after the restart, want 1", len(r.Sent))
	}
	if tag, err := r.domain.ParseTag(r.Sent[0].Packet.Tag()); err != nil || tag.Locator != 0 && tag.Signal != 31 {
		t.Errorf("the tag is %+v, %v: a port that has sent nothing since its restart is busy", tag, err)
	}
	r.Nodes[0].Stepper.Close(units.Time(units.Millisecond))
	for _, p := range r.records.NodeTotals().Ports {
		if p.EnqueuedPackets != p.TxPackets+p.DroppedPackets+p.QueuedPackets || p.EnqueuedBytes != p.TxBytes+p.DroppedBytes+p.QueuedBytes {
			t.Errorf("port %d does not add up: %+v", p.Port, p)
		}
	}
}

// A switch with other routes sends by these, also through its routing policy.
func TestSetRoutes(t *testing.T) {
	for _, routing := range []string{"", "adaptive"} {
		cfg := config()
		cfg.Forward.Routing.Name = routing
		r := newRig(t, cfg)
		r.Receive(0, 0, 3, r.data(1, 1000))
		r.sw.SetRoutes(topologies.NewRoutes([]uint16{0}, []uint16{2}, nil, nil, nil))
		r.Receive(units.Time(units.Microsecond), 0, 3, r.data(1, 1000), r.data(2, 1000))
		r.Run(units.Never)
		if len(r.Sent) != 2 || r.Sent[0].Port != 1 || r.Sent[1].Port != 2 {
			t.Errorf("routing %q: sent %+v, want one by port 1 and then one by port 2", routing, r.Sent)
		}
	}
}

// With other sizes a port marks, trims and measures by these. What is queued beyond the new
// limit stays and drains: only what arrives is trimmed.
func TestResize(t *testing.T) {
	for _, classes := range []bool{false, true} {
		cfg := withCSIG(config(), csig.FormatWide)
		marking(&cfg, 8*4150, 8*4150)
		dataLimit(&cfg, 10*4150)
		small := dataplane.PortSizes{Buffer: buffer.Limits{Data: 2 * 4150, Control: 20 * 4150}, ECN: aqm.Thresholds{Low: 4150, High: 4150}}
		if classes {
			cfg.Classes = &dataplane.Classes{List: []class.Class{{Name: "default", DSCP: wire.DSCPTrimmable, Weight: 1}}, AQM: []algorithm.Choice{cfg.AQM}, Quantum: 4150}
			for i := range cfg.Ports {
				p := &cfg.Ports[i]
				p.Classes = []dataplane.PortClass{{Limits: p.Buffer, Queue: p.Buffer.Data, ECN: p.ECN}}
			}
			small.Classes = []dataplane.ClassSizes{{PortClass: dataplane.PortClass{Limits: small.Buffer, Queue: small.Buffer.Data, ECN: small.ECN}}}
		}
		cfg.Resized = []dataplane.PortSizes{small}
		r := newRig(t, cfg)
		for range 7 { // one leaves, six queue
			r.Receive(0, 0, 3, r.data(1, 4150))
		}
		r.sw.SetRate(0, 1, 25*units.Gbps)
		r.sw.Resize(0, 1, 1)
		r.Receive(1, 0, 3, r.data(1, 4150), r.data(1, 4150), r.data(1, 4150), r.data(1, 4150))
		r.Run(units.Time(units.Millisecond))
		if got := r.port(1); got.TrimmedPackets != 4 || got.MarkedPackets != 5 {
			t.Errorf("classes %v: %d trimmed, %d marked; want the 4 that came late, and 5 of those that left a packet behind", classes, got.TrimmedPackets, got.MarkedPackets)
		}
		// Half of the new limit, and then of the old one.
		for k, want := range map[int]uint32{1: 500_000, 0: 100_000} {
			r = newRig(t, cfg)
			r.sw.Resize(0, 1, 1)
			r.sw.Resize(0, 1, k)
			first := r.data(1, 4150)
			r.Receive(units.Time(units.Millisecond), 0, 3, first)
			second, third := r.tagged(1, 4150, csig.NQD), r.data(1, 4150)
			r.Receive(units.Time(units.Millisecond), 0, 3, second, third)
			r.Run(units.Time(2 * units.Millisecond))
			if tag, err := r.domain.ParseTag(second.Tag()); err != nil || tag.Signal != want {
				t.Errorf("classes %v, sizes %d: the tag says %d ppm, %v; want %d", classes, k, tag.Signal, err, want)
			}
		}
	}
}
