package dataplane_test

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// bandwidthConfig is a switch of ports of one rate, whose domain measures bandwidth
// over an interval.
func bandwidthConfig(rate units.Rate, format csig.Format, interval units.Duration, mode meter.Mode) dataplane.Config {
	cfg := withCSIG(config(), format)
	cfg.CSIG.Meter, cfg.CSIG.Domain.Interval, cfg.CSIG.Domain.MaxRate = mode, interval, rate
	for i := range cfg.Ports {
		cfg.Ports[i].Rate = rate
	}
	return cfg
}

// reading is what the tags of a saturated port say of it: the greatest code of each
// type. The codes of nothing free are 0.
type reading map[csig.Type]uint32

// saturate sends frames of a size through a port without a gap, and returns what
// their tags say once the first full window has closed. Tags ask for ABW and ABW/C
// in turn.
func saturate(t *testing.T, cfg dataplane.Config, size units.Size) reading {
	t.Helper()
	domain, err := csig.NewDomain(cfg.CSIG.Domain)
	if err != nil {
		t.Fatal(err)
	}
	sw, err := dataplane.New(cfg, new(wire.Pool), metrics.Discard)
	if err != nil {
		t.Fatal(err)
	}
	types := []csig.Type{csig.ABW, csig.ABWC}
	var fresh [2]wire.Packet
	for i, typ := range types {
		p := &fresh[i]
		p.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(1)}, wire.Data, 0, wire.ECT0, int(size-64))
		p.SetData(1, 0, 1)
		domain.Init(p.InsertTag(domain.Format().Size()), typ)
		p.Size = sizes.Of(p)
	}
	got := reading{}
	// Windows begin within an interval; the first full one closes within two.
	full := units.Time(2 * cfg.CSIG.Domain.Interval)
	end := full.Add(max(cfg.CSIG.Domain.Interval/16, 4*cfg.Ports[1].Rate.Serialisation(size)))
	var packets [2]wire.Packet // one on the line while the other waits
	for i, now := 0, units.Time(0); now < end; i++ {
		p := &packets[i%2]
		*p = fresh[i/2%2]
		sw.Receive(now, 3, p)
		sent, departs, ok := sw.Transmit(now, 1)
		if !ok || sent != p {
			t.Fatalf("the port has nothing to send at %v", now)
		}
		if now >= full {
			tag, err := domain.ParseTag(sent.Tag())
			if err != nil {
				t.Fatal(err)
			}
			got[tag.Type] = max(got[tag.Type], tag.Signal)
		}
		now = departs
	}
	for _, typ := range types {
		if _, ok := got[typ]; !ok {
			t.Fatalf("no tag of type %v was read", typ)
		}
	}
	return got
}

// A saturated port reads at most one bucket free, at any rate, frame size and
// interval, whether an interval holds many frames or a frame spans many intervals.
func TestSaturatedPortReadsNothingFree(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, rate := range []units.Rate{20 * units.Mbps, 50 * units.Mbps, units.Gbps, 10 * units.Gbps, 100 * units.Gbps, 800 * units.Gbps} {
		for _, size := range []units.Size{64, 1500, 4150, 9000} {
			for _, interval := range []units.Duration{16 * units.Microsecond, 128 * units.Microsecond, 1000 * units.Microsecond} {
				for mode, name := range meter.Mode(0).Names() {
					for _, format := range formats {
						if format == csig.FormatCompact && rate.Volume(interval)/size > 100_000 {
							continue // the codes of the wide tag are finer, and such a run has millions of frames
						}
						got := saturate(t, bandwidthConfig(rate, format, interval, meter.Mode(mode)), size)
						for typ, code := range got {
							// A wide ABW/C counts ppm, a compact one 31250 of them.
							if code > 1 || format == csig.FormatCompact && code > 0 {
								t.Errorf("%v, %v, t = %v, %s, %v: %v reads code %d", rate, size, interval, name, format, typ, code)
							}
						}
					}
				}
			}
		}
	}
}

// With line overhead a saturated port reads the share that the overhead takes: it is
// left out of available bandwidth (docs/reference/references.md#available-bandwidth).
func TestSaturatedPortWithOverhead(t *testing.T) {
	for size, want := range map[units.Size]uint32{64: 272_727, 4150: 5_749} { // 24 of 88 B, 24 of 4174 B, in ppm
		cfg := bandwidthConfig(100*units.Gbps, csig.FormatWide, 128*units.Microsecond, meter.Tumbling)
		cfg.Sizes.Overhead = 24
		got := saturate(t, cfg, size)[csig.ABWC]
		if got < want-1 || got > want+1 {
			t.Errorf("%v: a saturated port reads %d ppm free, want %d", size, got, want)
		}
	}
}

// shares returns what the tags of packets through ports 0 to 2 say of them, in ppm,
// when each port was busy for the first 32 us of the run and time 144 us has come.
func shares(t *testing.T, phase meter.Phase, seed uint64) (read [3]uint32) {
	t.Helper()
	cfg := bandwidthConfig(100*units.Gbps, csig.FormatWide, 128*units.Microsecond, meter.Tumbling)
	cfg.CSIG.Phase, cfg.Seed = phase, seed
	dataLimit(&cfg, units.MB)
	r := newRig(t, cfg)
	for port := range read {
		for range 100 {
			r.receive(0, 3, r.data(port, 4000))
		}
	}
	for port := range read {
		p := r.tagged(port, 4000, csig.ABWC)
		r.receive(units.Time(144*units.Microsecond), 3, p)
		tag, err := r.domain.ParseTag(p.Tag())
		if err != nil {
			t.Fatal(err)
		}
		read[port] = tag.Signal
	}
	return read
}

// Each port has windows of its own phase, by the seed; aligned they begin with the run.
func TestPhases(t *testing.T) {
	if got := shares(t, meter.Aligned, 1); got != [3]uint32{750_000, 750_000, 750_000} {
		t.Errorf("aligned: %d ppm, want 750000 at each port", got)
	}
	seen := map[uint32]string{}
	for seed := range uint64(8) {
		first := shares(t, meter.Seeded, seed)
		if again := shares(t, meter.Seeded, seed); again != first {
			t.Errorf("seed %d: %d ppm, then %d", seed, first, again)
		}
		for port, ppm := range first {
			if ppm == 1_000_000 || ppm == 750_000 {
				continue // the burst lies in a window before, or whole in this one
			}
			name := fmt.Sprintf("seed %d port %d", seed, port)
			if other := seen[ppm]; other != "" {
				t.Errorf("%s and %s read the same, %d ppm", name, other, ppm)
			}
			seen[ppm] = name
		}
	}
	if len(seen) < 4 {
		t.Errorf("only %d of 24 ports had a window's edge in the burst of a quarter of the interval", len(seen))
	}
}

// Trimmed packets are not part of available bandwidth unless csig.count_trimmed says
// so, whichever switch trimmed them.
func TestTrimmedPacketsAndBandwidth(t *testing.T) {
	for _, counted := range []bool{false, true} {
		cfg := bandwidthConfig(100*units.Gbps, csig.FormatWide, 128*units.Microsecond, meter.Tumbling)
		cfg.CSIG.Phase, cfg.CSIG.CountTrimmed = meter.Aligned, counted
		controlLimit(&cfg, units.MB)
		r := newRig(t, cfg)
		for range 2500 { // a tenth of the interval
			p := r.data(1, 4150)
			p.Trim(sizes, false)
			r.receive(0, 3, p)
		}
		p := r.tagged(1, 4150, csig.ABWC)
		r.receive(units.Time(128*units.Microsecond), 3, p)
		want := uint32(1_000_000)
		if counted {
			want = 900_000
		}
		if tag, err := r.domain.ParseTag(p.Tag()); err != nil || tag.Signal != want {
			t.Errorf("counted %v: a port that sent trimmed packets reads %d ppm free (%v), want %d", counted, tag.Signal, err, want)
		}
		r.Run(forever)
	}
}
