package csig

import (
	"testing"

	"github.com/csiglab/csiglab/units"
)

// Whatever changes what a tag means changes the profile.
func TestProfile(t *testing.T) {
	first := newDomain(t, Config{Format: FormatCompact})
	for _, c := range []Config{
		{Format: FormatWide},
		{Format: FormatCompact, Dialect: Draft01},
		{Format: FormatCompact, TPIDCompact: 0x9900},
		{Format: FormatCompact, TPIDWide: 0xccdd},
		{Format: FormatCompact, Interval: 256 * units.Microsecond},
		{Format: FormatCompact, MaxRate: 400 * units.Gbps},
		{Format: FormatCompact, Quantisers: [Types]Quantiser{Delay: {Name: "delay-lin-500ns"}}},
		{Format: FormatCompact, Quantisers: [Types]Quantiser{NQD: {Edges: []uint64{0, 5}}}},
		{Format: FormatCompact, Quantisers: [Types]Quantiser{NQD: {Edges: []uint64{0, 5}, Bands: []uint8{16, 17}}}},
		{},
	} {
		other := newDomain(t, c)
		if other.Profile() == first.Profile() {
			t.Errorf("%+v: same profile %08x as the default", c, first.Profile())
		}
	}
}

// The same ranges with other codes are another profile; codes that are spelt out
// as the default ones are not.
func TestBandIdsAreProfile(t *testing.T) {
	with := func(bands []uint8) *Domain {
		return newDomain(t, Config{Format: FormatCompact, Quantisers: one(NQD, Quantiser{Edges: []uint64{0, 5}, Bands: bands})})
	}
	plain, same, other := with(nil), with([]uint8{0, 1}), with([]uint8{16, 17})
	if plain.Profile() != same.Profile() {
		t.Errorf("codes spelt out: %08x and %08x", plain.Profile(), same.Profile())
	}
	if plain.Profile() == other.Profile() {
		t.Errorf("other codes: %08x and %08x", plain.Profile(), other.Profile())
	}
}

func TestSameProfile(t *testing.T) {
	a := newDomain(t, Config{Format: FormatCompact})
	// What only the ends of the domain use may differ.
	b := newDomain(t, Config{Format: FormatCompact, Decode: DecodeLower, Interval: DefaultInterval, Quantisers: [Types]Quantiser{Delay: {Name: "delay-geo"}}})
	if a.Profile() != b.Profile() || a.Profile() == 0 {
		t.Errorf("same profile spelt differently: %08x and %08x", a.Profile(), b.Profile())
	}
	if got := (*Domain)(nil).Profile(); got != 0 {
		t.Errorf("no domain has profile %08x, want 0", got)
	}
}
