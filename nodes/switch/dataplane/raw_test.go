package dataplane_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// raw returns a frame of TCP over IPv4 from host 3, whose frame on the wire has
// the given size.
func (r *rig) raw(dst, size int, ecn uint8) *wire.Packet {
	r.t.Helper()
	var ours wire.Packet
	ours.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(dst), SourcePort: 40000}, wire.Data, 0, ecn, 0)
	ours.SetMACs(wire.MAC(dst, 0), wire.MAC(3, 0))
	frame := append(bytes.Clone(ours.Header()), make([]byte, size-4-len(ours.Header()))...)
	const ip = wire.EthernetLen
	// Another protocol, TTL 1, and the checksum made right for both.
	sum := uint32(frame[ip+10])<<8 | uint32(frame[ip+11])
	sum += uint32(64-1)<<8 + (17 - 6)
	sum = sum&0xffff + sum>>16
	frame[ip+8], frame[ip+9], frame[ip+10], frame[ip+11] = 1, 6, byte(sum>>8), byte(sum)
	p := r.pool.Get()
	if err := p.Parse(frame, wire.Format{Sizes: sizes, Raw: true}); err != nil {
		r.t.Fatal(err)
	}
	return p
}

func whole(p *wire.Packet) []byte { return append(bytes.Clone(p.Header()), p.Payload...) }

// Raw frames go by their MAC address and leave as they came: addresses, TTL
// (which is used up here) and DSCP are the programs' business.
func TestRawPacketsPassUnchanged(t *testing.T) {
	r := newRig(t, config())
	p := r.raw(1, 1518, wire.NotECT)
	before := whole(p)
	stray := r.raw(4, 1518, wire.NotECT)
	r.receive(0, 3, p, stray)
	r.Run(forever)
	if len(r.Sent) != 1 || r.Sent[0].Port != 1 || r.Sent[0].Packet.Size != 1518 || !bytes.Equal(whole(r.Sent[0].Packet), before) {
		t.Fatalf("sent %v, want the packet as it came, on port 1", r.Sent)
	}
	r.wants(map[string]int64{"no route": 1}, nil)
}

// They wait with data, behind control.
func TestRawPacketsWaitInTheDataQueue(t *testing.T) {
	r := newRig(t, config())
	r.receive(0, 3, r.raw(1, 1518, wire.NotECT), r.raw(1, 1518, wire.NotECT), r.data(1, 4150), r.ack(1))
	r.Run(forever)
	if got, want := r.kinds(), []string{"raw", "ack", "raw", "data"}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if got := r.port(1).QueueMax; got != 1518+4150 {
		t.Errorf("queue of at most %d B, want %d", got, 1518+4150)
	}
}

// A full queue drops them, even where it trims our own, and never cuts one that is
// in it.
func TestRawPacketsAreNeverTrimmed(t *testing.T) {
	for seed := range uint64(20) { // trimming flips a coin
		cfg := config()
		cfg.Seed = seed
		r := newRig(t, cfg)
		var frames [][]byte
		for range 28 { // one leaves at once, 27 fit
			p := r.raw(1, 1518, wire.NotECT)
			frames = append(frames, whole(p))
			r.receive(0, 3, p)
		}
		r.receive(0, 3, r.raw(1, 1518, wire.NotECT)) // dropped
		r.receive(0, 3, r.data(1, 4150))             // trimmed, since the tail is not ours
		r.Run(forever)
		var got [][]byte
		for _, d := range r.Sent {
			if d.Packet.Kind() == wire.Raw {
				got = append(got, whole(d.Packet))
			}
		}
		if len(got) != len(frames) || !bytes.Equal(slices.Concat(got...), slices.Concat(frames...)) {
			t.Fatalf("seed %d: %d raw frames, want %d unchanged", seed, len(got), len(frames))
		}
		port := r.port(1)
		if port.DroppedPackets != 1 || port.TrimmedPackets != 1 ||
			port.EnqueuedBytes != port.TxBytes+port.DroppedBytes+port.CutBytes {
			t.Errorf("seed %d: %+v, want 1 dropped, 1 trimmed", seed, port)
		}
		r.wants(map[string]int64{"data queue full": 1}, nil)
	}
}

// "marked only if ECT" (RFC 3168 §5), and what a mark changes is the codepoint and
// the header checksum.
func TestRawPacketsAreMarkedIfTheyCanBe(t *testing.T) {
	for _, tc := range []struct{ ecn, want uint8 }{{wire.NotECT, wire.NotECT}, {wire.ECT0, wire.CE}, {wire.ECT1, wire.CE}} {
		cfg := config()
		marking(&cfg, 0, 0)
		r := newRig(t, cfg)
		before := whole(r.raw(1, 1518, tc.want))
		r.receive(0, 3, r.raw(1, 1518, tc.ecn), r.raw(1, 1518, tc.ecn), r.raw(1, 1518, tc.ecn))
		r.Run(forever)
		if got := whole(r.Sent[1].Packet); !bytes.Equal(got, before) {
			t.Errorf("ECN %d: left as\n%x, want\n%x", tc.ecn, got, before)
		}
	}
}

// A sample of a raw frame belongs to the flow of its pair of hosts.
func TestRawPostcards(t *testing.T) {
	for name, pairs := range map[string][]metrics.Pair{
		"pair":    {{Flow: 70, Source: 3, Destination: 1}, {Flow: 71, Source: 1, Destination: 3}},
		"no pair": {{Flow: 71, Source: 1, Destination: 3}},
	} {
		cfg := withCSIG(config(), csig.FormatWide)
		cfg.Pairs = pairs
		for i := range cfg.Ports {
			cfg.Ports[i].Policies[csig.Delay] = dataplane.Terminate
		}
		r := newRig(t, cfg)
		p := r.raw(1, 1518, wire.NotECT)
		before := whole(p)
		tag := p.InsertTag(r.domain.Format().Size())
		r.domain.Init(tag, csig.Delay)
		r.domain.Update(tag, 500, 33)
		r.receive(0, 3, p)
		r.Run(forever)
		if got := whole(r.Sent[0].Packet); !bytes.Equal(got, before) {
			t.Errorf("%s: left as %x, want %x", name, got, before)
		}
		r.wants(nil, map[string]int64{"terminated": 1})
		got := r.signals()
		want := []metrics.SignalWindow{{Flow: 70, Type: uint8(csig.Delay), Locator: 33, Samples: 1, PointSum: 504, PointMax: 504, PointMin: 504, LowSum: 496, HighSum: 511}}
		if name == "no pair" {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: samples %+v, want %+v", name, got, want)
		}
	}
}

// A tag is compared and updated as on any packet.
func TestRawTagsAreUpdated(t *testing.T) {
	r := newRig(t, withCSIG(config(), csig.FormatWide))
	for range 2 {
		p := r.raw(1, 1518, wire.NotECT)
		r.domain.Init(p.InsertTag(r.domain.Format().Size()), csig.Delay)
		r.receive(0, 3, p)
	}
	r.Run(forever)
	s, ok := r.domain.Decode(r.Sent[1].Packet.Tag())
	// The second waits for the first: twice 1518 B at 100 Gb/s.
	if want := uint64(2 * 1518 * 80 * units.Picosecond / units.Nanosecond); !ok || s.Low > want || s.High < want || s.Locator != 11 {
		t.Errorf("sample %+v, %v; want %d ns by locator 11", s, ok, want)
	}
}
