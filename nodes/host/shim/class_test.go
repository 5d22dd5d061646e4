package shim_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// ip returns a frame from host 3 to host 9 with an IP header of the version (4 or 6)
// that has a DSCP and an ECN codepoint.
func ip(version int, dscp, ecn byte) []byte {
	f := frame(3, 9, 100)
	h := f[14:]
	if version == 4 {
		f[12], f[13] = 0x08, 0x00
		h[0], h[1] = 0x45, dscp<<2|ecn
	} else {
		f[12], f[13] = 0x86, 0xdd
		class := dscp<<2 | ecn
		h[0], h[1] = 6<<4|class>>4, class<<4|3
	}
	return f
}

// What a packet's tag asks for, and which packets have one, follows from the class of
// the packet: its flow and its DSCP.
func TestClasses(t *testing.T) {
	all := func(w csig.Weights) shim.Init { return shim.Init{Sampling: csig.All, Signals: w} }
	cfg := config()
	cfg.Queue = units.NoLimit
	cfg.Init = all(csig.Only(csig.Delay))
	cfg.Classes = []shim.Class{
		{Flow: 12, DSCPs: 1 << 46, Init: all(csig.Weights{csig.ABW: 3, csig.NQD: 1})},
		{Flow: 12, DSCPs: 1<<10 | 1<<63, Init: shim.Init{}}, // no tags
		{Flow: 12, DSCPs: 1 << 63, Init: all(csig.Only(csig.ABWC))},
		{Flow: 12, DSCPs: 1 << 8, Init: shim.Init{Sampling: csig.Sampling{Every: 4, Stride: true}, Signals: csig.Only(csig.ABW)}},
		{Flow: 10, DSCPs: shim.AllDSCPs, Init: all(csig.Only(csig.NQD))},
	}
	r := newRig(t, cfg)
	kinds := map[string][]byte{
		"IPv4, 0": ip(4, 0, 2), "IPv6, 0": ip(6, 0, 2), "not IP": frame(3, 9, 100), "IPv4, 1": ip(4, 1, 0),
		"IPv4, 46": ip(4, 46, 2), "IPv6, 10": ip(6, 10, 1), "IPv4, 63": ip(4, 63, 0), "IPv6, 63": ip(6, 63, 3),
		"IPv6, 8": ip(6, 8, 0), "VLAN, 46": vlan(ip(6, 46, 0), 0x8100), "to host 5": frame(3, 5, 100),
	}
	const packets = 80
	got := map[string]map[string]int{}
	for name, f := range kinds {
		got[name] = map[string]int{}
		for range packets {
			r.receive(0, shim.Application, f)
			r.Run(units.Never)
			var p wire.Packet
			if err := p.Parse(r.out[shim.NIC][len(r.out[shim.NIC])-1], r.format); err != nil {
				t.Fatal(err)
			}
			what := "none"
			if tag := p.Tag(); tag != nil {
				signal, _ := r.domain.Peek(tag)
				what = signal.String()
			}
			got[name][what]++
		}
	}
	want := map[string]map[string]int{
		"IPv4, 0": {"delay": packets}, "IPv6, 0": {"delay": packets}, "not IP": {"delay": packets}, "IPv4, 1": {"delay": packets},
		"IPv4, 46": {"abw": 60, "nqd": 20}, "VLAN, 46": {"abw": 60, "nqd": 20},
		"IPv6, 10": {"none": packets},
		"IPv4, 63": {"abw-c": packets}, "IPv6, 63": {"abw-c": packets},
		"IPv6, 8": {"abw": 20, "none": 60}, "to host 5": {"nqd": packets},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tags (-want +got)\n%s", diff)
	}
}

// Each class draws its packets by itself: that one class has no tags changes nothing
// for another.
func TestClassesDrawByThemselves(t *testing.T) {
	tagged := func(classes ...shim.Class) (which []int) {
		cfg := config()
		cfg.Queue = units.NoLimit
		cfg.Init = shim.Init{Sampling: csig.Sampling{Every: 4}, Signals: csig.Only(csig.Delay)}
		cfg.Classes = classes
		r := newRig(t, cfg)
		for i := range 400 {
			r.receive(0, shim.Application, ip(4, byte(i%2)*46, 0))
		}
		r.Run(units.Never)
		for i, f := range r.out[shim.NIC] {
			var p wire.Packet
			if err := p.Parse(f, r.format); err != nil {
				t.Fatal(err)
			}
			if p.Tag() != nil && i%2 == 0 {
				which = append(which, i)
			}
		}
		return which
	}
	with := func(i shim.Init) shim.Class { return shim.Class{Flow: 12, DSCPs: 1 << 46, Init: i} }
	none, every := tagged(with(shim.Init{})), tagged(with(shim.Init{Sampling: csig.All, Signals: csig.Only(csig.ABW)}))
	if len(none) != 50 || !slices.Equal(none, every) {
		t.Errorf("of DSCP 0, %d packets are tagged without tags in the other class: %v\nwith %v", len(none), none, every)
	}
	gaps := map[int]bool{}
	for i := 1; i < len(none); i++ {
		gaps[none[i]-none[i-1]] = true
	}
	if len(gaps) < 3 {
		t.Errorf("the packets are not drawn: %v", none)
	}
}

// A tag that no hop has written is counted, and is a sample only where every hop would
// have written it.
func TestUntouchedTags(t *testing.T) {
	for _, format := range []csig.Format{csig.FormatCompact, csig.FormatWide} {
		for signal := range csig.Standard {
			for _, covered := range []bool{false, true} {
				cfg := config()
				cfg.CSIG = &csig.Config{Format: format}
				cfg.Pairs = []metrics.Pair{{Flow: 11, Source: 5, Destination: 3}}
				cfg.Covered = [][csig.Types]bool{{}}
				cfg.Covered[0][signal] = covered
				r := newRig(t, cfg)
				tag := make([]byte, format.Size())
				r.domain.Init(tag, signal)
				f := tagged(frame(5, 3, 100), tag)
				_, reads := r.domain.Decode(tag)
				r.receive(1, shim.NIC, f)
				got := r.result(10).Receivers[0]
				want := metrics.ReceiverTotals{Flow: 11, Done: units.Never, DeliveredWhole: 1, PayloadBytes: 86, MeasuredWire: 104, MeasuredPayload: 86}
				if reads {
					want.Untouched = 1
				}
				samples := 0
				if reads && covered {
					samples = 1
				}
				if diff := cmp.Diff(want, got); diff != "" || len(r.records.Signals) != samples {
					t.Errorf("%v %v, covered %v: %d windows of samples, totals (-want +got)\n%s", format, signal, covered, len(r.records.Signals), diff)
				}
			}
		}
	}
}
