package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// withFormats puts the switch of cfg into a domain of both formats. Wide tags have locators
// 1000, 1001 and so on.
func withFormats(cfg dataplane.Config) dataplane.Config {
	cfg = withCSIG(cfg, csig.FormatCompact)
	cfg.CSIG.Domain.Second = &csig.SecondFormat{}
	for i := range cfg.Ports {
		cfg.Ports[i].Second = &dataplane.SecondFormat{Locator: uint16(1000 + i)}
	}
	return cfg
}

// wideTag returns a data packet with a fresh wide tag.
func (r *rig) wideTag(dst int, t csig.Type) *wire.Packet {
	p := r.data(dst, 4150)
	r.domain.Second().Init(p.InsertTag(csig.FormatWide.Size()), t)
	p.Size = sizes.Of(p)
	return p
}

// A switch compares and updates the tags of both formats, each with its quantiser and its
// locator, and does to each what the port's policy for its format says.
func TestFormats(t *testing.T) {
	for _, tc := range []struct {
		name          string
		compact, wide dataplane.Policy
	}{
		{name: "both"},
		{name: "compact alone", wide: dataplane.Pass},
		{name: "wide alone", compact: dataplane.Pass},
		{name: "wide stripped", wide: dataplane.Strip},
		{name: "compact stripped", compact: dataplane.Strip},
	} {
		cfg := withFormats(config())
		for i := range cfg.Ports {
			for s := range csig.Standard {
				cfg.Ports[i].Policies[s], cfg.Ports[i].Second.Policies[s] = tc.compact, tc.wide
			}
		}
		r := newRig(t, cfg)
		for range 5 {
			r.receive(0, 3, r.data(1, 4150))
		}
		compact, wide := r.tagged(1, 4150, csig.Delay), r.wideTag(1, csig.Delay)
		r.receive(1, 3, compact)
		r.receive(1, 3, wide)
		r.Run(forever)
		for _, one := range []struct {
			p       *wire.Packet
			policy  dataplane.Policy
			domain  *csig.Domain
			locator uint16
			wait    units.Duration // of the packet, first bit in to first bit out
		}{
			{compact, tc.compact, r.domain, 11, 6 * 332 * units.Nanosecond},
			{wide, tc.wide, r.domain.Second(), 1001, 7 * 332 * units.Nanosecond},
		} {
			tag := one.p.Tag()
			if one.policy == dataplane.Strip {
				if tag != nil {
					t.Errorf("%s: %v tag %x, want none", tc.name, one.domain.Format(), tag)
				}
				continue
			}
			s, ok := one.domain.Decode(tag)
			low, high := uint64(one.wait/units.Nanosecond), uint64(one.wait/units.Nanosecond)
			switch {
			case !ok:
				t.Errorf("%s: %v tag %x is no sample", tc.name, one.domain.Format(), tag)
			case one.policy == dataplane.Pass && !s.Untouched:
				t.Errorf("%s: %v tag %x was updated", tc.name, one.domain.Format(), tag)
			case one.policy == dataplane.Update && (s.Locator != one.locator || s.Low > low || s.High < high):
				t.Errorf("%s: %v sample %+v, want locator %d and %d ns", tc.name, one.domain.Format(), s, one.locator, low)
			}
		}
	}
}

// Samples of both formats that end at a port keep their locators apart in records.
func TestFormatsEndApart(t *testing.T) {
	cfg := withFormats(config())
	for s := range csig.Standard {
		cfg.Ports[1].Policies[s], cfg.Ports[1].Second.Policies[s] = dataplane.Terminate, dataplane.Terminate
	}
	r := newRig(t, cfg)
	for range 5 {
		r.receive(0, 3, r.data(1, 4150))
	}
	r.receive(1, 3, r.tagged(1, 4150, csig.Delay), r.wideTag(1, csig.Delay))
	r.Run(forever)
	r.wants(nil, map[string]int64{"terminated": 2})
	got := map[uint32]int64{}
	for _, w := range r.signals() {
		got[w.Locator] += w.Samples
	}
	if len(got) != 2 || got[11] != 1 || got[csig.SecondLabels|1001] != 1 {
		t.Errorf("samples by locator: %v, want one of 11 and one of %d", got, csig.SecondLabels|1001)
	}
}

// A switch that trims freezes the tag of either format, with the locator of that format.
func TestFormatsTrim(t *testing.T) {
	cfg := withFormats(config())
	dataLimit(&cfg, 2*4150)
	r := newRig(t, cfg)
	for range 3 {
		r.receive(0, 3, r.data(1, 4150))
	}
	trimmed := map[uint16]bool{}
	for i := range 40 {
		r.receive(units.Time(i+1), 3, r.tagged(1, 4150, csig.Delay), r.wideTag(1, csig.Delay))
	}
	r.Run(forever)
	for _, d := range r.Sent {
		tag := d.Packet.Tag()
		if tag == nil || !d.Packet.Trimmed() {
			continue
		}
		if s, ok := r.domain.Of(tag).Decode(tag); !ok || !s.DoNotUpdate {
			t.Fatalf("trimmed packet with tag %x: %+v", tag, s)
		} else {
			trimmed[s.Locator] = true
		}
	}
	if len(trimmed) != 2 || !trimmed[11] || !trimmed[1001] {
		t.Errorf("locators of trimmed packets: %v, want 11 and 1001", trimmed)
	}
}

// What a port puts on has the format that it is told, and what comes from outside is
// removed by format.
func TestFormatsAtTheEdge(t *testing.T) {
	cfg := withFormats(config())
	cfg.Ports[3].Ingress = dataplane.Ingress{Init: csig.All, Signals: []csig.Type{csig.ABW}, Format: csig.FormatWide}
	for s := range csig.Standard {
		cfg.Ports[2].Ingress.RefusesSecond[s] = true
	}
	r := newRig(t, cfg)
	initiated, refused, let := r.data(1, 4150), r.wideTag(1, csig.Delay), r.tagged(1, 4150, csig.Delay)
	r.receive(0, 3, initiated)
	r.receive(1, 2, refused, let)
	r.Run(forever)
	r.wants(nil, map[string]int64{"initiated": 1, "refused": 1, "updated": 2})
	if got := len(initiated.Tag()); got != 8 {
		t.Errorf("a tag of %d B was put on, want 8", got)
	}
	if refused.Tag() != nil || len(let.Tag()) != 4 {
		t.Errorf("tags %x and %x, want none and one of 4 B", refused.Tag(), let.Tag())
	}
}
