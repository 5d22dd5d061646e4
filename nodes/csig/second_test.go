package csig

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A domain of two formats treats a tag as the domain of the tag's format alone would,
// whichever of the two is the first one.
func TestBothFormats(t *testing.T) {
	const seed = 14
	random := rand.New(rand.NewPCG(seed, 0))
	own := [Types]Quantiser{Delay: {Name: "delay-lin-500ns"}}
	coarse := [Types]Quantiser{Delay: {Name: "linear(1024ns)"}}
	for _, dialect := range []Dialect{UEC050, Draft01} {
		alone := map[Format]*Domain{
			FormatCompact: newDomain(t, Config{Format: FormatCompact, Dialect: dialect, Quantisers: own}),
			FormatWide:    newDomain(t, Config{Format: FormatWide, Dialect: dialect, Quantisers: coarse, Locators: LocatorConfig{Kind: Registry}}),
		}
		for _, both := range []*Domain{
			newDomain(t, Config{Format: FormatCompact, Dialect: dialect, Quantisers: own, Second: &SecondFormat{Quantisers: coarse, Locators: LocatorConfig{Kind: Registry}}}),
			newDomain(t, Config{Format: FormatWide, Dialect: dialect, Quantisers: coarse, Locators: LocatorConfig{Kind: Registry}, Second: &SecondFormat{Quantisers: own}}),
		} {
			for range 2000 {
				format := FormatCompact + Format(random.IntN(2))
				signal := Type(random.IntN(int(Standard)))
				of := both.In(format)
				tag, want := make([]byte, format.Size()), make([]byte, format.Size())
				of.Init(tag, signal)
				alone[format].Init(want, signal)
				for hop := range 4 {
					value, locator := random.Uint64()>>random.UintN(64), uint16(hop+1)
					got, expected := both.Of(tag).Update(tag, value, locator), alone[format].Update(want, value, locator)
					if got != expected || !slices.Equal(tag, want) {
						t.Fatalf("seed %d: %v, first %v: hop %d: %v %x, want %v %x", seed, format, both.Format(), hop, got, tag, expected, want)
					}
				}
				got, ok := both.DecodeEcho(tag[2:])
				expected, expectedOK := alone[format].Decode(want)
				if diff := cmp.Diff(expected, got); ok != expectedOK || diff != "" {
					t.Fatalf("seed %d: %v %x: %v, want %v (-want +got):\n%s", seed, format, tag, ok, expectedOK, diff)
				}
				label := uint32(expected.Locator)
				if format != both.Format() {
					label += SecondLabels
				}
				if ok && both.Label(&got) != label {
					t.Fatalf("%v, first %v: label %d, want %d", format, both.Format(), both.Label(&got), label)
				}
			}
			again := newDomain(t, both.Config())
			if again.Profile() != both.Profile() || again.Second() == nil {
				t.Errorf("%v: the configuration with its defaults gives profile %08x, want %08x", both.Format(), again.Profile(), both.Profile())
			}
		}
	}
}

// A domain of one format leaves tags of the other alone.
func TestOneFormatLeavesTheOtherAlone(t *testing.T) {
	wide := newDomain(t, Config{Format: FormatWide})
	d := newDomain(t, Config{Format: FormatCompact})
	tag := make([]byte, 8)
	wide.Init(tag, ABW)
	before := hex.EncodeToString(tag)
	if got := d.Of(tag).Update(tag, 1, 1); got != Unknown || hex.EncodeToString(tag) != before {
		t.Errorf("%v, %x, want unknown and %s", got, tag, before)
	}
	if d.In(FormatWide) != nil || d.In(FormatCompact) != d || d.In(FormatNone) != d {
		t.Error("a domain of compact tags alone has a domain of wide ones, or none of its own")
	}
	if _, ok := d.DecodeEcho(tag[2:]); ok {
		t.Error("a domain of compact tags decodes an echo of 6 B")
	}
}

func TestWrongSecondFormat(t *testing.T) {
	for _, c := range []Config{
		{Second: &SecondFormat{}},
		{Format: FormatCompact, Second: &SecondFormat{Quantisers: [Types]Quantiser{Delay: {Name: "delay-geo"}}}},
		{Format: FormatWide, Second: &SecondFormat{Quantisers: [Types]Quantiser{ABW: {Name: "linear(1Mbps)"}}}},
		{Format: FormatCompact, Second: &SecondFormat{Locators: LocatorConfig{Widths: Widths{Port: 6}}}},
	} {
		if d, err := NewDomain(c); err == nil {
			t.Errorf("%+v: accepted with profile %08x", c, d.Profile())
		}
	}
	_, err := NewDomain(Config{Format: FormatCompact, Second: &SecondFormat{Quantisers: [Types]Quantiser{Delay: {Name: "delay-geo"}}}})
	if !errors.Is(err, ErrQuantiser) {
		t.Errorf("compact table for wide tags: %v, want %v", err, ErrQuantiser)
	}
}

// What the second format's codes mean is part of the profile; that there is none keeps the
// profile of a fabric with one format.
func TestSecondFormatIsProfile(t *testing.T) {
	profile := func(s *SecondFormat) uint32 { return newDomain(t, Config{Format: FormatCompact, Second: s}).Profile() }
	all := []uint32{profile(nil), profile(&SecondFormat{}), profile(&SecondFormat{Quantisers: [Types]Quantiser{Delay: {Name: "linear(32ns)"}}})}
	slices.Sort(all)
	if len(slices.Compact(all)) != 3 {
		t.Errorf("profiles %08x, want three", all)
	}
}
