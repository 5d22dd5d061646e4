package csig

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenHops are the numbers of docs/reference/references.md#worked-path: what each hop's
// egress port measures, and its place.
var goldenHops = []struct {
	abw, share, delay uint64
	place             Place // Port is the wide one; the compact index is 1
}{
	{12_500_000_000, 125_000, 10_000, Place{Switch: 3, Port: 16, Tier: TierToR, Dir: Up}},
	{11_875_000_000, 950_000, 3_000, Place{Switch: 5, Port: 18, Tier: TierAgg, Dir: Up}},
	{8_750_000_000, 700_000, 18_000, Place{Switch: 2, Port: 7, Tier: TierCore, Dir: Down}},
	{11_250_000_000, 900_000, 5_000, Place{Switch: 9, Port: 4, Tier: TierAgg, Dir: Down}},
	{2_500_000_000, 500_000, 8_000, Place{Switch: 12, Port: 1, Tier: TierToR, Dir: Down}},
}

// goldenWalk returns the tag after each hop.
func goldenWalk(t *testing.T, c Config, signal Type) []string {
	t.Helper()
	// The fastest port of the walk is the ToR's with 800 Gb/s, the default Cmax.
	d := newDomain(t, c)
	b := make([]byte, c.Format.Size())
	d.Init(b, signal)
	var tags []string
	for _, hop := range goldenHops {
		place := hop.place
		if c.Format == FormatCompact {
			place.Port = 1
		}
		locator, err := d.Locators().Locator(place)
		if err != nil {
			t.Fatal(err)
		}
		d.Update(b, map[Type]uint64{ABW: hop.abw, ABWC: hop.share, Delay: hop.delay}[signal], locator)
		tags = append(tags, hex.EncodeToString(b))
	}
	return tags
}

func TestGoldenWalk(t *testing.T) {
	for _, test := range []struct {
		format Format
		signal Type
		want   []string
	}{
		{FormatCompact, ABW, []string{"88b50a02", "88b50a02", "88b50952", "88b50952", "88b50592"}},
		{FormatCompact, ABWC, []string{"88b52202", "88b52202", "88b52202", "88b52202", "88b52202"}},
		{FormatCompact, Delay, []string{"88b54802", "88b54802", "88b549d2", "88b549d2", "88b549d2"}},
		{FormatWide, ABW, []string{"88b600e001748700", "88b641640161e700", "88b6a08e0104c500", "88b6a08e0104c500", "88b62302004a8100"}},
		{FormatWide, ABWC, []string{"88b600e011e84800", "88b600e011e84800", "88b600e011e84800", "88b600e011e84800", "88b600e011e84800"}},
		{FormatWide, Delay, []string{"88b600e020027100", "88b600e020027100", "88b6a08e20046500", "88b6a08e20046500", "88b6a08e20046500"}},
	} {
		if diff := cmp.Diff(test.want, goldenWalk(t, Config{Format: test.format}, test.signal)); diff != "" {
			t.Errorf("%v %v (-want +got):\n%s", test.format, test.signal, diff)
		}
	}
}

// docs/reference/references.md#worked-path: three signals, three different bottlenecks.
func TestGoldenSamples(t *testing.T) {
	for _, test := range []struct {
		format Format
		signal Type
		want   Sample
	}{
		// Bucket 11 of abw-geo(800Gbps): 18.69 to 22.36 Gb/s, by its lower edge.
		{FormatCompact, ABW, Sample{FormatCompact, ABW, 11, 2_336_746_691, 2_794_452_915, 2_336_746_691, 9, false, false, false}},
		{FormatCompact, ABWC, Sample{FormatCompact, ABWC, 4, 125_000, 156_249, 140_625, 1, false, false, false}},
		// Bucket 19 of delay-geo: 16 to 20.159 us, by the geometric mean.
		{FormatCompact, Delay, Sample{FormatCompact, Delay, 19, 16_000, 20_158, 17_960, 41, false, false, false}},
		{FormatWide, ABW, Sample{FormatWide, ABW, 19073, 19073 << 17, 19074<<17 - 1, 19073 << 17, 0x2302 >> 1, false, false, false}},
		{FormatWide, ABWC, Sample{FormatWide, ABWC, 125_000, 125_000, 125_000, 125_000, 112, false, false, false}},
		{FormatWide, Delay, Sample{FormatWide, Delay, 1125, 18_000, 18_015, 18_008, 20551, false, false, false}},
	} {
		tags := goldenWalk(t, Config{Format: test.format}, test.signal)
		got, ok := newDomain(t, Config{Format: test.format}).Decode(unhex(t, tags[len(tags)-1]))
		if diff := cmp.Diff(test.want, got); diff != "" || !ok {
			t.Errorf("%v %v: %v (-want +got):\n%s", test.format, test.signal, ok, diff)
		}
	}
}
