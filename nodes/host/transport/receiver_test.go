package transport_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

func newReceiver(size, ackEvery units.Size) *transport.Receiver {
	c := common()
	c.AckEvery = ackEvery
	return transport.NewReceiver(transport.ReceiverConfig{
		Common: c, Flow: flow, Ends: receiverEnds, Packets: transport.Packets(size, mtu, header),
	})
}

// data returns a full data packet as it arrives.
func data(psn uint32, flags wire.Flags, ce bool) *wire.Packet {
	p := new(wire.Packet)
	p.Build(wire.Addresses{Source: senderEnds.LocalIP, Destination: senderEnds.RemoteIP, SourcePort: wire.SourcePort(flow, uint16(psn)+100)},
		wire.Data, flags, wire.ECT0, int(mss))
	p.SetData(flow, psn, 1)
	p.Size = sizes.Of(p)
	if ce {
		p.MarkCE()
	}
	return p
}

// docs/reference/references.md#acknowledging: when an ACK is sent at once, and when after 16,384 B.
func TestAckRules(t *testing.T) {
	const ar, ce = "AR", "CE"
	type step struct {
		psn  uint32
		kind string
		want bool // ACK at once
	}
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"the first, then every fourth", []step{
			{0, "", true}, {1, "", false}, {2, "", false}, {3, "", false}, {4, "", true}, {5, "", false}, {6, "", false}, {7, "", false}, {8, "", true},
		}},
		{"the first out of order", []step{{3, "", true}, {4, "", false}}},
		{"marked", []step{{0, "", true}, {1, ce, true}, {2, "", false}, {3, ce, true}}},
		{"asked for, which restarts the count", []step{{0, "", true}, {1, "", false}, {2, ar, true}, {3, "", false}, {4, "", false}, {5, "", false}, {6, "", true}}},
		{"duplicate", []step{{0, "", true}, {1, "", false}, {1, "", true}, {0, "", true}}},
		{"duplicate beyond a hole", []step{{0, "", true}, {5, "", false}, {5, "", true}}},
		{"a duplicate's bytes do not count", []step{{0, "", true}, {0, "", true}, {1, "", false}, {2, "", false}, {3, "", false}, {4, "", true}}},
		{"a hole closes with an AR pending", []step{{0, "", true}, {2, ar, true}, {1, "", true}, {3, "", false}}},
		{"a hole closes without one", []step{{0, "", true}, {2, "", false}, {1, "", false}}},
		{"one of two holes closes", []step{{0, "", true}, {2, "", false}, {4, ar, true}, {1, "", false}, {3, "", true}}},
		{"the AR came in order", []step{{0, "", true}, {1, ar, true}, {3, "", false}, {2, "", false}}},
		{"the pending AR is spent", []step{{0, "", true}, {2, ar, true}, {1, "", true}, {4, "", false}, {3, "", false}}},
	} {
		r := newReceiver(100*mss, 16384)
		for n, s := range test.steps {
			var flags wire.Flags
			if s.kind == ar {
				flags = wire.AckRequest
			}
			var reply wire.Packet
			if got := r.OnData(units.Time(n), data(s.psn, flags, s.kind == ce), &reply); got != s.want {
				t.Errorf("%s: step %d, PSN %d %s: ACK %v, want %v", test.name, n, s.psn, s.kind, got, s.want)
			}
		}
	}
}

func TestAckEveryIsReached(t *testing.T) {
	// The bytes since the last ACK may reach the threshold exactly.
	for every, want := range map[units.Size]int{2*mtu - 1: 2, 2 * mtu: 2, 2*mtu + 1: 3} {
		r := newReceiver(100*mss, every)
		r.OnData(0, data(0, 0, false), new(wire.Packet))
		n := 1
		for !r.OnData(0, data(uint32(n), 0, false), new(wire.Packet)) {
			n++
		}
		if n != want {
			t.Errorf("every %v: ACK after %d packets, want %d", every, n, want)
		}
	}
}

// docs/reference/references.md#acknowledging: the fields of an ACK, which takes 64 B.
func TestAckFields(t *testing.T) {
	receive := func(psns ...uint32) *transport.Receiver {
		r := newReceiver(1000*mss, units.NoLimit)
		for _, psn := range psns {
			r.OnData(0, data(psn, 0, false), new(wire.Packet))
		}
		return r
	}
	long := make([]uint32, 200)
	for i := range long {
		long[i] = uint32(i)
	}
	for _, test := range []struct {
		name     string
		r        *transport.Receiver
		p        *wire.Packet
		base     uint32
		bits     uint64
		cum, ooo uint32
		flags    wire.Flags
	}{
		{"in order, duplicate: above the cumulative", receive(0, 1, 2), data(2, 0, false), 4, 0, 3, 0, 0},
		{"cum+1 is later than psn-63", receive(0, 3, 5), data(5, 0, false), 2, 0b1010, 1, 2, 0},
		{"psn-63", receive(0, 3, 5, 70, 99), data(99, 0, false), 36, 1<<63 | 1<<(70-36), 1, 4, 0},
		{"marked: the PSN itself", receive(0, 3, 5, 6), data(5, 0, true), 5, 0b11, 1, 3, wire.ECNEcho},
		{"asked for: the PSN itself", receive(0, 3, 5, 6), data(5, wire.AckRequest, false), 5, 0b11, 1, 3, 0},
		{"asked for, below the cumulative", receive(long...), data(100, wire.AckRequest, false), 100, 0, 200, 0, 0},
		{"retransmission", receive(0, 2, 3), data(2, wire.Retransmit|wire.AckRequest, false), 2, 0b11, 1, 2, wire.RetransmitEcho},
		{"asked for, first", receive(), data(0, wire.AckRequest, false), 0, 0, 1, 0, 0},
	} {
		var reply wire.Packet
		if !test.r.OnData(0, test.p, &reply) {
			t.Errorf("%s: no ACK", test.name)
			continue
		}
		totals := test.r.Close()
		want := wire.AckFields{
			Flow: flow, EV: uint16(test.p.PSN()) + 100, Cumulative: test.cum, Acked: test.p.PSN(),
			SackBase: test.base, SackBits: test.bits,
			Received:   uint64(totals.DeliveredWhole-totals.Duplicates) * uint64(mtu),
			OutOfOrder: uint16(test.ooo), Penalty: 255,
		}
		if diff := cmp.Diff(want, reply.Ack()); diff != "" {
			t.Errorf("%s: ACK (-want +got)\n%s", test.name, diff)
		}
		if reply.Flags() != test.flags || reply.Size != header || reply.Kind() != wire.Ack || reply.ECN() != wire.NotECT {
			t.Errorf("%s: flags %#x, size %v, ECN %d, want flags %#x, size 64", test.name, reply.Flags(), reply.Size, reply.ECN(), test.flags)
		}
		if reply.Source() != receiverEnds.LocalIP || reply.Destination() != receiverEnds.RemoteIP {
			t.Errorf("%s: from %#x to %#x", test.name, reply.Source(), reply.Destination())
		}
	}
}

// docs/reference/references.md#acknowledging: the fields of a NACK, which takes 64 B.
func TestNackFields(t *testing.T) {
	for _, lastHop := range []bool{false, true} {
		for _, ce := range []bool{false, true} {
			r := newReceiver(10*mss, 1)
			p := data(3, wire.AckRequest, ce)
			p.SetData(flow, 3, 2)
			p.Trim(sizes, lastHop)
			var reply wire.Packet
			if !r.OnData(0, p, &reply) {
				t.Fatal("no NACK")
			}
			code, flags := uint8(wire.NackTrimmed), wire.Flags(0)
			if lastHop {
				code = wire.NackTrimmedLastHop
			}
			if ce {
				flags = wire.ECNEcho
			}
			if reply.Kind() != wire.Nack || reply.PSN() != 3 || reply.EV() != 103 || reply.Transmission() != 2 || reply.NackCode() != code || reply.Flags() != flags || reply.Size != header {
				t.Errorf("last hop %v, marked %v: %v, EV %d, transmission %d, code %d, flags %#x, size %v", lastHop, ce, &reply, reply.EV(), reply.Transmission(), reply.NackCode(), reply.Flags(), reply.Size)
			}
			totals := r.Close()
			if totals.DeliveredTrimmed != 1 || totals.NacksSent != 1 || totals.DeliveredWhole != 0 || totals.PayloadBytes != 0 {
				t.Errorf("totals %+v", totals)
			}
		}
	}
}

// The bitmap holds 256 PSNs at first and grows; a slow set tells what every ACK
// should say.
func TestReordering(t *testing.T) {
	for _, seed := range []uint64{20254, 20255, 20256} {
		random := rand.New(rand.NewPCG(seed, 0))
		const packets = 3000
		// Packets move by up to span places; the first comes last in one run.
		span := []int{3, 400, packets}[seed%3]
		order := make([]uint32, packets)
		for i := range order {
			order[i] = uint32(i)
		}
		for i := range order {
			j := min(packets-1, i+random.IntN(span))
			order[i], order[j] = order[j], order[i]
		}
		r := newReceiver(packets*mss, 1)
		got, cum := map[uint32]bool{}, uint32(0)
		for n, psn := range order {
			var reply wire.Packet
			if !r.OnData(units.Time(n), data(psn, 0, false), &reply) {
				t.Fatalf("seed %d: no ACK of PSN %d", seed, psn)
			}
			got[psn] = true
			for got[cum] {
				cum++
			}
			a := reply.Ack()
			var sack uint64
			for i := range uint32(64) {
				if a.SackBase+i >= cum && got[a.SackBase+i] {
					sack |= 1 << i
				}
			}
			if a.Cumulative != cum || int(a.OutOfOrder) != len(got)-int(cum) || a.SackBits != sack {
				t.Fatalf("seed %d, PSN %d: cumulative %d, %d beyond, SACK %#x from %d, want %d, %d, %#x", seed, psn,
					a.Cumulative, a.OutOfOrder, a.SackBits, a.SackBase, cum, len(got)-int(cum), sack)
			}
			if want := max(int(psn)-63, int(cum)+1); int(a.SackBase) != want {
				t.Fatalf("seed %d, PSN %d: SACK from %d, want %d", seed, psn, a.SackBase, want)
			}
			if r.Done() != (n == packets-1) {
				t.Fatalf("seed %d: done %v after %d of %d packets", seed, r.Done(), n+1, packets)
			}
		}
		if totals := r.Close(); totals.Done != packets-1 || r.Delivered() != int64(packets*mss) {
			t.Errorf("seed %d: done at %v with %d bytes", seed, totals.Done, r.Delivered())
		}
	}
}

// The first PSN that does not fit in the bitmap of 256 is the 256th beyond the
// one expected.
func TestReorderingByTheBitmapsLength(t *testing.T) {
	r := newReceiver(257*mss, units.NoLimit)
	ack := func(psn uint32) wire.AckFields {
		var reply wire.Packet
		if !r.OnData(0, data(psn, wire.AckRequest, false), &reply) {
			t.Fatalf("no ACK of PSN %d", psn)
		}
		return reply.Ack()
	}
	for n, psn := range []uint32{255, 256, 256, 255} { // the last two are duplicates
		if a := ack(psn); a.Cumulative != 0 || int(a.OutOfOrder) != min(n+1, 2) || a.SackBits&1 != 1 {
			t.Errorf("step %d, PSN %d: cumulative %d, %d beyond, SACK %#x", n, psn, a.Cumulative, a.OutOfOrder, a.SackBits)
		}
	}
	for psn := range uint32(255) {
		ack(psn)
	}
	if totals := r.Close(); !r.Done() || totals.Duplicates != 2 {
		t.Errorf("done %v, %d duplicates, want 2", r.Done(), totals.Duplicates)
	}
}

// A PSN that the flow does not have comes from a damaged packet. The bitmap
// would grow to hold it.
func TestExpects(t *testing.T) {
	r := newReceiver(10*mss, 1)
	for psn, want := range map[uint32]bool{0: true, 9: true, 10: false, 1 << 31: false, 1<<32 - 1: false} {
		if got := r.Expects(data(psn, 0, false)); got != want {
			t.Errorf("PSN %d of a flow of 10 packets: expected %v, want %v", psn, got, want)
		}
	}
}

func TestMeasuringWindow(t *testing.T) {
	var records metrics.Batch
	r := transport.NewReceiver(transport.ReceiverConfig{
		Common: &transport.Common{Sizes: sizes, AckEvery: 1, Measure: metrics.Span{From: 2, To: 5}, Records: 3, Sink: &records},
		Flow:   flow, Ends: receiverEnds, Packets: 10,
	})
	for n := range 8 {
		r.OnData(units.Time(n), data(uint32(n), 0, false), new(wire.Packet))
	}
	r.OnData(8, data(7, 0, false), new(wire.Packet)) // a duplicate is no goodput
	totals := r.Close()
	if totals.MeasuredWire != int64(3*mtu) || totals.MeasuredPayload != int64(3*mss) {
		t.Errorf("measured %d wire, %d payload bytes, want those of 3 packets", totals.MeasuredWire, totals.MeasuredPayload)
	}
	var packets []int64
	for _, w := range records.Flows {
		packets = append(packets, w.Packets)
	}
	if diff := cmp.Diff([]int64{3, 3, 2}, packets); diff != "" {
		t.Errorf("packets by window (-want +got)\n%s", diff)
	}
}

// A tag that comes back is the trigger's, whatever its type.
func TestEchoOfUntaggedPacket(t *testing.T) {
	d := domain(t, csig.FormatCompact)
	r := newReceiver(10*mss, 1)
	p := data(0, 0, false)
	d.Init(p.InsertTag(d.Format().Size()), csig.Delay)
	var first, second wire.Packet
	r.OnData(0, p, &first)
	r.OnData(1, data(1, 0, false), &second)
	var echo [wire.EchoLen]byte
	if n := first.Echo(&echo); n != 2 {
		t.Errorf("echo of %d bytes, want 2", n)
	}
	if n := second.Echo(&echo); n != 0 {
		t.Errorf("the ACK of an untagged packet echoes %d bytes", n)
	}
}

func ExampleNewReceiver() {
	r := transport.NewReceiver(transport.ReceiverConfig{
		Common: &transport.Common{Sizes: wire.Sizes{Header: 64}, AckEvery: 16384, Records: 100 * units.Microsecond, Sink: metrics.Discard},
		Flow:   7, Packets: 10,
	})
	for psn, port := uint32(0), wire.SourcePort(7, 3); psn < 6; psn++ {
		var p, reply wire.Packet
		p.Build(wire.Addresses{SourcePort: port}, wire.Data, 0, wire.ECT0, 4086)
		p.SetData(7, psn, 1)
		if r.OnData(units.Time(psn), &p, &reply) {
			a := reply.Ack()
			fmt.Println(a.Cumulative, a.Received, a.EV)
		}
	}
	// Output:
	// 1 4150 3
	// 5 20750 3
}
