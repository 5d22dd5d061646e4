package csig

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
)

type wideVector struct {
	value, base uint64
	shift       uint
	code        uint32
}

// checkWideCode sends the value through a tag: a fresh Delay tag is 0, so that
// the greater code of the hop replaces it.
func checkWideCode(t *testing.T, v wideVector) {
	t.Helper()
	d := newDomain(t, Config{Format: FormatWide, Quantisers: [Types]Quantiser{Delay: {Step: 1 << v.shift, Base: v.base}}})
	b := make([]byte, 8)
	d.Init(b, Delay)
	d.Update(b, v.value, 1)
	tag, err := d.ParseTag(b)
	if err != nil || tag.Signal != v.code {
		t.Errorf("value %d, base %d, step 2^%d: code %d, %v, want %d", v.value, v.base, v.shift, tag.Signal, err, v.code)
	}
}

// Vectors of docs/reference/references.md#wide-quantiser.
func TestWideVectors(t *testing.T) {
	for _, v := range []wideVector{
		{0, 0, 17, 0}, {2_500_000_000, 0, 17, 19073}, {12_500_000_000, 0, 17, 95367}, {100_000_000_000, 0, 17, 762939},
		{200_000_000_000, 0, 17, 1048575},
		{1023, 1024, 5, 0}, {1024, 1024, 5, 0}, {1055, 1024, 5, 0}, {1056, 1024, 5, 1},
		{33555455, 1024, 5, 1048575}, {33555456, 1024, 5, 1048575},
		{10521, 0, 4, 657}, {18000, 0, 4, 1125}, {16777215, 0, 4, 1048575}, {16777216, 0, 4, 1048575},
		// The worked lines of the IETF slides, corrected (docs/reference/references.md#wide-quantiser).
		{40, 16, 3, 3}, {32, 16, 3, 2}, {16, 16, 3, 0}, {32, 16, 4, 1}, {8, 32, 4, 0},
		{math.MaxUint64, 0, 0, 1048575},
	} {
		checkWideCode(t, v)
	}
}

// docs/reference/references.md#wide-quantiser: the smallest step that covers Cmax maps Cmax to
// 762939 at every speed from 100G (2^14) to 1.6T (2^18).
func TestWideStepOfSpeed(t *testing.T) {
	for shift, rate := range map[uint]units.Rate{14: 100 * units.Gbps, 15: 200 * units.Gbps, 16: 400 * units.Gbps, 17: 800 * units.Gbps, 18: 1600 * units.Gbps} {
		q := newLinear(Quantiser{Step: 1 << shift}, ABW, DecodeLower)
		if got := q.code(uint64(rate / 8)); got != 762939 {
			t.Errorf("%v at step 2^%d: code %d, want 762939", rate, shift, got)
		}
		d := newDomain(t, Config{Format: FormatWide, MaxRate: rate})
		if got, want := d.quantisers[ABW].Step, uint64(1)<<max(shift, 17); got != want {
			t.Errorf("default step at %v: %d, want %d", rate, got, want)
		}
	}
}

// The first edges and the last of the tables of docs/reference/references.md#compact-quantisers.
func TestTables(t *testing.T) {
	checkTable(t, "delay-geo_ns", []any{0., 250., 315., 397., 500., 630., 794., 1000., 1260.})
	checkTable(t, "delay-lin-1us_ns", []any{0., 1000., 2000., 3000.})
	checkTable(t, "pct-lin32", []any{0., 3.125, 6.25, 9.375, 12.5})
	checkTable(t, "abw-geo-800g_Bps", []any{0., 390625000., 467137998., 558637847., 668060071.})
	d := newDomain(t, Config{Format: FormatCompact})
	for signal, last := range [Standard]uint64{83_620_900_450, 968_750, 256_000, 968_750} {
		if got := d.quantisers[signal].Edges; len(got) != 32 || got[31] != last {
			t.Errorf("default of %v: %d edges up to %d, want 32 up to %d", Type(signal), len(got), got[len(got)-1], last)
		}
	}
}

// checkTable compares the first edges of a table, named as in csig-vectors.json.
func checkTable(t *testing.T, table string, want []any) {
	t.Helper()
	signal, name, scale := Delay, strings.TrimSuffix(table, "_ns"), 1.
	switch {
	case strings.HasPrefix(table, "abw-geo-800g"):
		signal, name = ABW, "abw-geo(800Gbps)"
	case table == "pct-lin32":
		signal, scale = ABWC, 10_000
	}
	d := newDomain(t, Config{Format: FormatCompact, Quantisers: one(signal, Quantiser{Name: name})})
	for i, w := range want {
		if got, want := d.quantisers[signal].Edges[i], uint64(w.(float64)*scale); got != want {
			t.Errorf("%s: edge %d is %d, want %d", table, i, got, want)
		}
	}
}

// Issue 2, must show 2: a 4150 B packet through an idle 100 Gb/s switch takes
// 332 ns, behind one full packet 664 ns, in both formats.
func TestDelayCodes(t *testing.T) {
	compact := newDomain(t, Config{Format: FormatCompact, Quantisers: [Types]Quantiser{Delay: {Name: "delay-lin-500ns"}}})
	wide := newDomain(t, Config{Format: FormatWide})
	for _, test := range []struct {
		value         uint64
		compact, wide uint32
		point         uint64 // decoded from the compact tag
	}{{332, 0, 20, 250}, {664, 1, 41, 750}, {15_500, 31, 968, 15_750}, {90_000, 31, 5625, 15_750}} {
		for d, want := range map[*Domain]uint32{compact: test.compact, wide: test.wide} {
			b := make([]byte, d.Format().Size())
			d.Init(b, Delay)
			d.Update(b, test.value, 1)
			tag, _ := d.ParseTag(b)
			if tag.Signal != want {
				t.Errorf("%v: %d ns has code %d, want %d", d.Format(), test.value, tag.Signal, want)
			}
			if s, _ := d.Decode(b); d == compact && (s.Point != test.point || s.Saturated != (test.compact == 31)) {
				t.Errorf("%d ns decodes to %+v, want point %d", test.value, s, test.point)
			}
		}
	}
}

// one returns quantisers with q for one type and the defaults elsewhere.
func one(signal Type, q Quantiser) (all [Types]Quantiser) {
	all[signal] = q
	return all
}

// slowRank is the rank of v by its definition.
func slowRank(edges []uint64, v uint64) int {
	rank := 0
	for i, e := range edges {
		if v >= e {
			rank = i
		}
	}
	return rank
}

func TestRankMatchesLinearSearch(t *testing.T) {
	const seed = 2
	random := rand.New(rand.NewPCG(seed, 0))
	for n := 2; n <= maxBands; n++ {
		edges := []uint64{0}
		for len(edges) < n {
			edges = append(edges, edges[len(edges)-1]+1+random.Uint64N(1000))
		}
		q := newBands(Quantiser{Edges: edges, top: edges[n-1] + 1}, Delay, DecodeLower)
		for _, e := range append(edges, math.MaxUint64) {
			for _, v := range []uint64{e - 1, e, e + 1} {
				if got, want := int(q.rankOf(v)), slowRank(edges, v); got != want {
					t.Fatalf("seed %d: %d ranges %v: value %d has rank %d, want %d", seed, n, edges, v, got, want)
				}
			}
		}
	}
}

// decodeOne sends one value of t through a fresh tag. ok is false if the tag
// kept its initial value.
func decodeOne(t *testing.T, d *Domain, signal Type, v uint64) (Sample, bool) {
	t.Helper()
	b := make([]byte, d.Format().Size())
	d.Init(b, signal)
	updated := d.Update(b, v, 1) == Updated
	s, ok := d.Decode(b)
	if updated && !ok {
		t.Fatalf("%v %v: a written tag %x does not decode", d.Format(), signal, b)
	}
	return s, updated
}

// A decoded interval holds the value, and its point lies inside; the errors of
// the points are those of docs/reference/references.md#wide-quantiser and #compact-quantisers.
func TestDecodeBounds(t *testing.T) {
	const seed = 3
	random := rand.New(rand.NewPCG(seed, 0))
	for _, format := range []Format{FormatCompact, FormatWide} {
		for mode := DecodeAuto; mode <= DecodeGeometric; mode++ {
			d := newDomain(t, Config{Format: format, Decode: mode})
			for signal := range Standard {
				most := min(signal.limit(), 1<<40)
				for range 500 {
					v := random.Uint64N(most+1) >> random.UintN(30)
					s, ok := decodeOne(t, d, signal, v)
					if !ok {
						continue
					}
					if v < s.Low || v > s.High {
						t.Fatalf("seed %d: %v %v: %d decodes to [%d, %d]", seed, format, signal, v, s.Low, s.High)
					}
					if s.Point < s.Low || s.Point > s.High {
						t.Fatalf("seed %d: %v %v %v: point %d outside of [%d, %d]", seed, format, signal, mode, s.Point, s.Low, s.High)
					}
					relative := math.Abs(float64(s.Point)-float64(v)) / float64(v)
					switch {
					case format == FormatCompact && mode == DecodeGeometric && signal == ABW && s.Low > 0 && v < 100e9 && relative > 0.0936:
						t.Fatalf("abw-geo: %d decodes to %d, off by %.4f, want within 0.0936", v, s.Point, relative)
					case format == FormatCompact && mode == DecodeGeometric && signal == Delay && s.Low > 0 && !s.Saturated && relative > 0.1226:
						t.Fatalf("delay-geo: %d decodes to %d, off by %.4f, want within 0.1226", v, s.Point, relative)
					case format == FormatCompact && mode == DecodeMidpoint && (signal == ABWC || signal == NQD) && math.Abs(float64(s.Point)-float64(v)) > 15_625:
						t.Fatalf("pct-lin32: %d decodes to %d", v, s.Point)
					case mode == DecodeLower && s.Point > v:
						t.Fatalf("%v %v: lower decoding of %d overstates it: %d", format, signal, v, s.Point)
					}
				}
			}
		}
	}
}

func TestSaturation(t *testing.T) {
	custom := [Types]Quantiser{Delay: {Step: 32, Base: 1024}}
	for _, test := range []struct {
		format     Format
		quantisers [Types]Quantiser
		signal     Type
		value      uint64
		code       uint32
		low, high  uint64
		point      uint64
		saturated  bool
	}{
		{FormatCompact, [Types]Quantiser{}, Delay, 255_999, 30, 203_187, 255_999, 228_070, false},
		{FormatCompact, [Types]Quantiser{}, Delay, 1_000_000, 31, 256_000, math.MaxUint64, 287_350, true},
		// A share ends at 100 %: the last range is a range like the others.
		{FormatCompact, [Types]Quantiser{}, NQD, 1_000_000, 31, 968_750, 1_000_000, 984_375, false},
		{FormatWide, [Types]Quantiser{}, NQD, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, false},
		{FormatWide, [Types]Quantiser{}, NQD, 2_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, false},
		{FormatWide, [Types]Quantiser{}, Delay, 1 << 40, 1048575, 1048575 << 4, math.MaxUint64, 1048575<<4 + 8, true},
		{FormatWide, custom, Delay, 1056, 1, 1056, 1087, 1072, false},
	} {
		d := newDomain(t, Config{Format: test.format, Quantisers: test.quantisers})
		s, ok := decodeOne(t, d, test.signal, test.value)
		want := Sample{test.format, test.signal, test.code, test.low, test.high, test.point, 1, false, test.saturated, false}
		if s != want || !ok {
			t.Errorf("%v %v: %d decodes to %+v, %v, want %+v", test.format, test.signal, test.value, s, ok, want)
		}
	}
	// Code 0 above a base also stands for what lies below the base.
	d := newDomain(t, Config{Format: FormatWide, Quantisers: custom})
	b, _ := d.AppendTag(nil, Tag{Type: Delay})
	if s, ok := d.Decode(b); !ok || s.Low != 0 || s.High != 1055 || !s.Saturated {
		t.Errorf("code 0 of base 1024, step 32 decodes to %+v, %v, want [0, 1055], saturated", s, ok)
	}
}

func TestQuantiserNames(t *testing.T) {
	for _, test := range []struct {
		format Format
		signal Type
		name   string
		same   Quantiser
	}{
		{FormatCompact, Delay, "delay-lin(250ns)", even(250)},
		{FormatCompact, Delay, "delay-lin-0.25us", even(250)},
		{FormatCompact, Delay, "edges(0, 1us, 5us)", Quantiser{Edges: []uint64{0, 1000, 5000}}},
		{FormatCompact, ABW, "abw-geo(100Gbps)", geometric(12_500_000_000, 31, 8, -248)},
		{FormatCompact, ABW, "edges(0, 40Gbps, 80Gbps) bands(16, 17, 31)", Quantiser{Edges: []uint64{0, 5_000_000_000, 10_000_000_000}, Bands: []uint8{16, 17, 31}}},
		{FormatCompact, ABWC, "edges(0, 5%, 12.5%, 400000ppm)", Quantiser{Edges: []uint64{0, 50_000, 125_000, 400_000}}},
		{FormatWide, Delay, "linear(32ns, 1024ns)", Quantiser{Step: 32, Base: 1024}},
		{FormatWide, ABW, "linear(1048576bps)", Quantiser{Step: 1 << 17}},
		{FormatWide, NQD, "linear(4ppm)", Quantiser{Step: 4}},
	} {
		named := newDomain(t, Config{Format: test.format, Quantisers: one(test.signal, Quantiser{Name: test.name})})
		explicit := newDomain(t, Config{Format: test.format, Quantisers: one(test.signal, test.same)})
		if named.Profile() != explicit.Profile() {
			t.Errorf("%q: the name and what it stands for have other profiles", test.name)
		}
		again := newDomain(t, named.Config())
		if again.Profile() != named.Profile() {
			t.Errorf("%q: the configuration with its defaults makes another domain", test.name)
		}
	}
}

func TestQuantiserRefusals(t *testing.T) {
	var tooMany []uint64
	for i := range uint64(33) {
		tooMany = append(tooMany, i)
	}
	for _, test := range []struct {
		format    Format
		signal    Type
		quantiser Quantiser
		says      string
	}{
		{FormatCompact, Delay, Quantiser{Name: "delay-log"}, "delay-geo"},
		{FormatCompact, ABW, Quantiser{Name: "delay-geo"}, "not for abw"},
		{FormatCompact, Delay, Quantiser{Name: "delay-lin"}, "delay-lin(STEP)"},
		{FormatCompact, Delay, Quantiser{Name: "delay-lin(500)"}, "unit"},
		{FormatCompact, Delay, Quantiser{Name: "delay-lin(1ps)"}, "whole number"},
		{FormatCompact, Delay, Quantiser{Name: "delay-lin(0ns)"}, "ascend"},
		{FormatCompact, Delay, Quantiser{Name: "delay-lin(-5ns)"}, "negative"},
		{FormatCompact, Delay, Quantiser{Name: "delay-lin(5ns"}, "parenthesis"},
		{FormatCompact, Delay, Quantiser{Name: "delay-geo bands(1)"}, "band ids need edges"},
		{FormatCompact, ABW, Quantiser{Name: "abw-geo(1kbps)"}, "ascend"},
		{FormatCompact, ABWC, Quantiser{Name: "edges(0, 50)"}, "share"},
		{FormatCompact, ABWC, Quantiser{Name: "edges(0, 100%)"}, "beyond"},
		{FormatCompact, ABWC, Quantiser{Name: "edges(0, 50%) bands(1, x)"}, "band id"},
		{FormatCompact, ABWC, Quantiser{Name: "edges(0, 50%) bands 1"}, "bands("},
		{FormatCompact, Delay, Quantiser{Name: "linear(16ns)"}, "compact"},
		{FormatWide, Delay, Quantiser{Name: "delay-geo"}, "wide"},
		{FormatWide, Delay, Quantiser{Name: "linear(500ns)"}, "power of two"},
		{FormatWide, Delay, Quantiser{Step: 16, Base: 24}, "base"},
		{FormatWide, Delay, Quantiser{Base: 16}, "step 0"},
		{FormatWide, Delay, Quantiser{Step: 1 << 32}, "step"},
		{FormatWide, NQD, Quantiser{Step: 1, Base: 1 << 20}, "beyond"},
		{FormatCompact, Delay, Quantiser{Edges: []uint64{0}}, "1 ranges"},
		{FormatCompact, Delay, Quantiser{Edges: tooMany}, "33 ranges"},
		{FormatCompact, Delay, Quantiser{Edges: []uint64{1, 2}}, "start at 0"},
		{FormatCompact, Delay, Quantiser{Edges: []uint64{0, 5, 5}}, "ascend"},
		{FormatCompact, Delay, Quantiser{Edges: []uint64{0, 5}, Bands: []uint8{1}}, "band ids"},
		{FormatCompact, Delay, Quantiser{Edges: []uint64{0, 5}, Bands: []uint8{1, 32}}, "above 31"},
		{FormatCompact, Delay, Quantiser{Edges: []uint64{0, 5}, Bands: []uint8{1, 1}}, "two ranges"},
		{FormatCompact, Delay, Quantiser{Edges: []uint64{0, 5}, Bands: []uint8{1, 0}}, "initial value"},
		{FormatCompact, ABW, Quantiser{Edges: []uint64{0, 5}, Bands: []uint8{31, 0}}, "initial value"},
		{FormatCompact, Delay, Quantiser{Name: "delay-geo", Edges: []uint64{0, 5}}, "both"},
	} {
		_, err := NewDomain(Config{Format: test.format, Quantisers: one(test.signal, test.quantiser)})
		if !errors.Is(err, ErrQuantiser) || !strings.Contains(fmt.Sprint(err), test.says) {
			t.Errorf("%v %v %+v: %v, want ErrQuantiser with %q", test.format, test.signal, test.quantiser, err, test.says)
		}
	}
}

// Quantise says of a value what the tag says after a hop with that value wrote it.
func TestQuantise(t *testing.T) {
	for _, c := range layouts {
		d := newDomain(t, c)
		for signal := range Standard {
			for _, v := range []uint64{1, 249, 250, 10_517, 31_250, 500_000, 999_999, 1_000_000, 77_000_000, 12_500_000_000, 1 << 40} {
				tag := make([]byte, c.Format.Size())
				d.Init(tag, signal)
				d.Update(tag, v, 1)
				want, ok := d.Decode(tag)
				want.Locator, want.Untouched = 0, false
				got := d.Quantise(signal, v)
				if ok && want.Low <= v && v <= want.High && got != want {
					t.Errorf("%v %v: %d reads as %+v, a tag says %+v", c.Format, signal, v, got, want)
				}
				if limit := signal.limit(); v <= limit && (v < got.Low || v > got.High) && !got.Saturated {
					t.Errorf("%v %v: %d reads as %d to %d", c.Format, signal, v, got.Low, got.High)
				}
			}
		}
	}
	if got := newDomain(t, Config{}).Quantise(Delay, 5); got.High != 0 {
		t.Errorf("without tags: %+v", got)
	}
}
