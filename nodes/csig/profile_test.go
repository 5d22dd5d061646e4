package csig

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/clock"
	"github.com/csiglab/csiglab/nodes/units"
)

func TestMixedProfilesAreRefused(t *testing.T) {
	first := newDomain(t, Config{Format: FormatCompact})
	for says, c := range map[string]Config{
		"format wide":           {Format: FormatWide},
		"dialect draft-01":      {Format: FormatCompact, Dialect: Draft01},
		"tpid_compact 0x9900":   {Format: FormatCompact, TPIDCompact: 0x9900},
		"tpid_wide 0xCCDD":      {Format: FormatCompact, TPIDWide: 0xccdd},
		"interval 256us":        {Format: FormatCompact, Interval: 256 * clock.Microsecond},
		"abw-geo(400Gbps)":      {Format: FormatCompact, MaxRate: 400 * units.Gbps},
		"quantiser of delay":    {Format: FormatCompact, Quantisers: [Types]Quantiser{Delay: {Name: "delay-lin-500ns"}}},
		"quantiser of nqd":      {Format: FormatCompact, Quantisers: [Types]Quantiser{NQD: {Edges: []uint64{0, 5}}}},
		"bands [16 17]":         {Format: FormatCompact, Quantisers: [Types]Quantiser{NQD: {Edges: []uint64{0, 5}, Bands: []uint8{16, 17}}}},
		"node tor1: format no":  {},
		"but node tor0 has uec": {Format: FormatCompact, Dialect: Draft01},
	} {
		other := newDomain(t, c)
		err := Agree([]Member{{"tor0", first}, {"agg0", first}, {"tor1", other}})
		if !errors.Is(err, ErrMixedProfiles) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want ErrMixedProfiles with %q", c, err, says)
		}
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
	if err := Agree([]Member{{"tor0", plain}, {"tor1", same}}); err != nil || plain.Profile() != same.Profile() {
		t.Errorf("codes spelt out: %v, %08x and %08x", err, plain.Profile(), same.Profile())
	}
	if err := Agree([]Member{{"tor0", plain}, {"tor1", other}}); !errors.Is(err, ErrMixedProfiles) || plain.Profile() == other.Profile() {
		t.Errorf("other codes: %v, %08x and %08x, want ErrMixedProfiles", err, plain.Profile(), other.Profile())
	}
}

func TestAgreement(t *testing.T) {
	a := newDomain(t, Config{Format: FormatCompact})
	// What only the ends of the domain use may differ.
	b := newDomain(t, Config{Format: FormatCompact, Decode: DecodeLower, Interval: DefaultInterval, Quantisers: [Types]Quantiser{Delay: {Name: "delay-geo"}}})
	if err := Agree([]Member{{"tor0", a}, {"tor1", b}}); err != nil || a.Profile() != b.Profile() {
		t.Errorf("same profile spelt differently: %v, %08x and %08x", err, a.Profile(), b.Profile())
	}
	if err := Agree(nil); err != nil {
		t.Errorf("no members: %v", err)
	}
}
