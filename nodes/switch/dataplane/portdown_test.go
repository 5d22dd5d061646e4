package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// A switch that notifies answers each packet that it drops for a port that is down with a NACK
// to its sender, which names the packet, its EV and the port. It answers ACKs too, but no
// answer of its own. One that is silent answers nothing, nor does one that restarts.
func TestPortDown(t *testing.T) {
	const flow, psn, ev = 7, 42, 5
	for _, notify := range []dataplane.PortDown{dataplane.Silent, dataplane.Notify} {
		cfg := config()
		cfg.PortDown = notify
		r := newRig(t, cfg)
		data := r.data(1, 4150)
		data.SetData(flow, psn, 3)
		data.Retarget(0, wire.SourcePort(flow, ev), psn, 3)
		returned := r.pool.Get()
		returned.BuildReturn(r.data(1, 4150), 99, sizes)     // of another switch, for host 3
		r.Receive(0, 0, 2, r.data(1, 4150), r.data(3, 4150)) // they leave at once, the rest waits
		r.Receive(0, 0, 1, returned)
		r.Receive(0, 0, 3, data, r.ack(1))
		packets, _ := r.sw.Discard(0, 1)
		back, _ := r.sw.Discard(0, 3) // where the answers go
		if packets != 2 {
			t.Fatalf("%d packets dropped, want 2", packets)
		}
		want := int64(1) // what came for host 3
		if notify == dataplane.Notify {
			want += 2
		}
		if back != want {
			t.Errorf("%d packets for host 3, want %d", back, want)
		}
		if packets, _ := r.sw.Discard(0, 1); packets != 0 {
			t.Errorf("%d answers to a NACK of a switch", packets)
		}
		r.Receive(0, 0, 3, r.data(1, 4150), r.data(1, 4150))
		r.sw.Restart(0)
		if r.sw.Ready().Has(3) {
			t.Error("a switch that restarts answers")
		}
	}
}

// What the answer says, and that packets and bytes of both ports add up.
func TestPortDownNames(t *testing.T) {
	const flow, psn, ev = 7, 42, 5
	cfg := config()
	cfg.PortDown = dataplane.Notify
	r := newRig(t, cfg)
	data := nodetest.Data(r.pool, 3, 1, flow, psn, 4150)
	data.Retarget(0, wire.SourcePort(flow, ev), psn, 3)
	r.Receive(0, 0, 2, r.data(1, 4150)) // it leaves at once
	r.Receive(0, 0, 3, data)
	r.sw.Discard(0, 1)
	r.Run(units.Never)
	if len(r.Sent) != 2 {
		t.Fatalf("%d packets sent, want 2", len(r.Sent))
	}
	p := r.Sent[1].Packet
	if p.Kind() != wire.Nack || p.NackCode() != wire.NackPortDown || p.Locator() != 11 || p.Destination() != wire.HostIP(3) || p.Size != 64 {
		t.Errorf("got %v of code %d with locator %d and size %v, want a NACK of 64 B to host 3 for port 1", p, p.NackCode(), p.Locator(), p.Size)
	}
	if p.Flow() != flow || p.PSN() != psn || p.Transmission() != 3 || p.EV() != ev {
		t.Errorf("it is for flow %d, PSN %d, transmission %d, EV %d", p.Flow(), p.PSN(), p.Transmission(), p.EV())
	}
	r.Nodes[0].Stepper.Close(units.Time(units.Millisecond))
	totals := r.records.NodeTotals()
	if totals.Made != 1 {
		t.Errorf("the switch made %d packets, want 1", totals.Made)
	}
	for _, p := range totals.Ports {
		if p.EnqueuedPackets != p.TxPackets+p.DroppedPackets+p.QueuedPackets {
			t.Errorf("port %d does not add up: %+v", p.Port, p)
		}
	}
}
