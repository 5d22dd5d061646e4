package csig

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
)

// banded is a compact domain whose codes are neither dense nor in order, as
// docs/reference/references.md#worked-tags describes for one family of switches: a fixed
// prefix 0b10 and eight ranges; here the prefix's codes are also shuffled.
var banded = Config{Format: FormatCompact, Quantisers: [Types]Quantiser{
	ABW:   {Edges: []uint64{0, 10, 20, 30, 40, 50, 60, 70}, Bands: []uint8{20, 17, 22, 16, 23, 18, 21, 19}},
	ABWC:  {Edges: []uint64{0, 10, 20, 30, 40, 50, 60, 70}, Bands: []uint8{20, 17, 22, 16, 23, 18, 21, 31}},
	Delay: {Edges: []uint64{0, 10, 20, 30, 40, 50, 60, 70}, Bands: []uint8{20, 17, 22, 16, 23, 18, 21, 19}},
	NQD:   {Edges: []uint64{0, 10, 20, 30, 40, 50, 60, 70}, Bands: []uint8{0, 17, 22, 16, 23, 18, 21, 19}},
}}

// worse reports whether raw value a is strictly worse than b for the type.
func worse(t Type, a, b uint64) bool {
	if t.Min() {
		return a < b
	}
	return a > b
}

// codeOf returns the code of v by definition, and its order among codes.
func codeOf(d *Domain, t Type, v uint64) (code uint32, order uint64) {
	q := d.quantisers[t]
	if d.Format() == FormatWide {
		v = min(v, t.limit())
		if v < q.Base {
			return 0, 0
		}
		c := min((v-q.Base)/q.Step, 1<<20-1)
		return uint32(c), c
	}
	r := slowRank(q.Edges, v)
	if q.Bands != nil {
		return uint32(q.Bands[r]), uint64(r)
	}
	return uint32(r), uint64(r)
}

// docs/reference/references.md#hop-update: (1) the signal after k hops is the code of the
// extremum; (2) the locator is the first hop's that reaches the winning code,
// or still the initial one; (3) a second pass changes nothing; (4) D freezes.
func TestUpdateProperties(t *testing.T) {
	const seed = 4
	random := rand.New(rand.NewPCG(seed, 0))
	for _, c := range append(slices.Clone(layouts), banded) {
		d := newDomain(t, c)
		for range 3000 {
			signal := Type(random.IntN(int(Standard)))
			hops := make([]uint64, 1+random.IntN(7))
			for i := range hops {
				hops[i] = random.Uint64N(100)
				if random.IntN(3) > 0 {
					hops[i] = random.Uint64() >> random.UintN(64)
				}
			}
			b := make([]byte, c.Format.Size())
			d.Init(b, signal)
			fresh, _ := d.ParseTag(b)
			for i, v := range hops {
				d.Update(b, v, uint16(i+1))
			}
			got, _ := d.ParseTag(b)

			extremum := hops[0]
			for _, v := range hops {
				if worse(signal, v, extremum) {
					extremum = v
				}
			}
			want := fresh
			code, order := codeOf(d, signal, extremum)
			if code != fresh.Signal {
				want.Signal = code
				want.Locator = uint16(1 + slices.IndexFunc(hops, func(v uint64) bool {
					_, o := codeOf(d, signal, v)
					return o == order
				}))
			}
			if got != want {
				t.Fatalf("seed %d: %v %v %v: hops %d give %+v, want %+v", seed, c.Format, c.Dialect, signal, hops, got, want)
			}

			before := slices.Clone(b)
			for i, v := range hops {
				if o := d.Update(b, v, uint16(i+20)); o != Kept || !bytes.Equal(b, before) {
					t.Fatalf("seed %d: second pass of %v %d over %x: %v, %x", seed, signal, v, before, o, b)
				}
			}
			if c.Dialect == Draft01 {
				continue
			}
			d.Init(b, signal)
			b[3] |= 1
			before = slices.Clone(b)
			for i, v := range hops {
				if o := d.Update(b, v, uint16(i+1)); o != Frozen || !bytes.Equal(b, before) {
					t.Fatalf("seed %d: %v %d with D set: %v, %x, want frozen, %x", seed, signal, v, o, b, before)
				}
			}
		}
	}
}

// docs/reference/references.md#worked-tags: codes are compared by the rank of their range.
func TestBandIds(t *testing.T) {
	d := newDomain(t, banded)
	for _, test := range []struct {
		signal  Type
		held    uint32
		value   uint64
		outcome Outcome
		signal2 uint32
	}{
		{ABW, 31, 75, Updated, 19},   // the initial value is better than every range
		{ABW, 19, 65, Updated, 21},   // a greater code, yet a lower range
		{ABW, 17, 5, Updated, 20},    // range 1 to range 0
		{ABW, 20, 15, Kept, 20},      // range 0 stays, although 17 is the smaller code
		{ABW, 3, 5, Unknown, 3},      // no range has this code
		{ABWC, 31, 75, Kept, 31},     // the initial value is the best range's own
		{ABWC, 31, 65, Updated, 21},  //
		{Delay, 0, 5, Updated, 20},   // range 0 is worse than nothing measured
		{Delay, 19, 65, Kept, 19},    // range 7 stays, although 21 is the greater code
		{Delay, 23, 55, Updated, 18}, //
		{NQD, 0, 5, Kept, 0},         //
		{NQD, 0, 15, Updated, 17},    //
		{NQD, 31, 75, Unknown, 31},   //
	} {
		b, err := d.AppendTag(nil, Tag{Type: test.signal, Signal: test.held, Locator: 9, Reserved: 1})
		if err != nil {
			t.Fatal(err)
		}
		outcome := d.Update(b, test.value, 33)
		got, _ := d.ParseTag(b)
		want := Tag{Type: test.signal, Signal: test.signal2, Locator: 9, Reserved: 1}
		if test.outcome == Updated {
			want.Locator = 33
		}
		if outcome != test.outcome || got != want {
			t.Errorf("%v code %d meets %d: %v, %+v, want %v, %+v", test.signal, test.held, test.value, outcome, got, test.outcome, want)
		}
	}
	// A fresh tag whose code no range has says nothing.
	b := make([]byte, 4)
	for signal, want := range map[Type]bool{ABW: false, ABWC: true, Delay: false, NQD: true} {
		d.Init(b, signal)
		if s, ok := d.Decode(b); ok != want {
			t.Errorf("fresh %v tag decodes to %+v, %v, want %v", signal, s, ok, want)
		}
	}
}

func TestUnknownTypesAreForwarded(t *testing.T) {
	for _, c := range layouts {
		d := newDomain(t, c)
		types := Type(8)
		if c.Format == FormatWide {
			types = 16
		}
		for unknown := Standard; unknown < types; unknown++ {
			b, err := d.AppendTag(nil, Tag{Type: unknown, Signal: 7, Locator: 5, Reserved: 1})
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(b)
			outcome := d.Update(b, 0, 1)
			d.Trim(b, 0, 1)
			if outcome != Unknown || !bytes.Equal(b, before) {
				t.Errorf("%v type %d: %v, %x, want unknown, %x", c.Format, unknown, outcome, b, before)
			}
			if s, ok := d.Decode(b); ok {
				t.Errorf("%v type %d decodes to %+v", c.Format, unknown, s)
			}
			if got, _ := d.Peek(b); got != unknown || got.Known() {
				t.Errorf("%v type %d: Peek says %v", c.Format, unknown, got)
			}
		}
	}
}

// Bytes that are no tag of the domain stay as they are.
func TestForeignBytes(t *testing.T) {
	for _, c := range append(slices.Clone(layouts), Config{}) {
		d := newDomain(t, c)
		for _, b := range [][]byte{nil, {0}, {0, 0, 0, 0, 0, 0, 0, 0}, unhex(t, "0800450000000000"), unhex(t, "88b54000")[:3], unhex(t, "88b6000020")} {
			before := slices.Clone(b)
			if o := d.Update(b, 1, 1); o != Unknown {
				t.Errorf("%v: Update(%x): %v, want unknown", c.Format, before, o)
			}
			d.Trim(b, 1, 1)
			if _, ok := d.Decode(b); ok {
				t.Errorf("%v: %x decodes", c.Format, before)
			}
			if got, frozen := d.Peek(b); got != InvalidType || frozen {
				t.Errorf("%v: Peek(%x) = %v, %v", c.Format, before, got, frozen)
			}
			if !bytes.Equal(b, before) {
				t.Errorf("%v: %x became %x", c.Format, before, b)
			}
		}
	}
}

// docs/reference/references.md#open-choices: a domain may override D for a type.
func TestOverrideD(t *testing.T) {
	for _, format := range []Format{FormatCompact, FormatWide} {
		d := newDomain(t, Config{Format: format, OverrideD: [Types]bool{ABW: true}})
		b := make([]byte, format.Size())
		d.Init(b, ABW)
		b[3] |= 1
		if o := d.Update(b, 1000, 5); o != Updated {
			t.Errorf("%v ABW with D set and overridden: %v, want updated", format, o)
		}
		if s, ok := d.Decode(b); !ok || !s.DoNotUpdate || s.Locator != 5 || s.Low != 0 {
			t.Errorf("%v: %+v, %v, want D still set, locator 5, low 0", format, s, ok)
		}
		d.Init(b, Delay)
		b[3] |= 1
		if o := d.Update(b, 1e6, 5); o != Frozen {
			t.Errorf("%v Delay with D set: %v, want frozen", format, o)
		}
	}
}

// docs/reference/references.md#trimming-and-d.
func TestTrim(t *testing.T) {
	const locator = 3
	for _, c := range layouts {
		for rule := TrimForceLocal; rule <= TrimNone; rule++ {
			c.TrimRule = rule
			d := newDomain(t, c)
			for signal := range Standard {
				b := make([]byte, c.Format.Size())
				d.Init(b, signal)
				want, _ := d.ParseTag(b)
				value := uint64(500_000)
				switch rule {
				case TrimForceLocal:
					worst := uint64(0)
					if !signal.Min() {
						worst = math.MaxUint64
					}
					want.Signal, _ = codeOf(d, signal, worst)
					want.Locator = locator
				case TrimMeasured:
					want.Signal, _ = codeOf(d, signal, value)
					want.Locator = locator
				}
				want.DoNotUpdate = c.Dialect == UEC050
				d.Trim(b, value, locator)
				got, _ := d.ParseTag(b)
				if got != want {
					t.Errorf("%v %v %v %v: %+v, want %+v", c.Format, c.Dialect, rule, signal, got, want)
				}
				// The initial value of a wide ABW/C tag is above 100 %: no hop
				// wrote it, so that it is no sample.
				measured := rule != TrimNone || c.Format != FormatWide || signal != ABWC
				if s, ok := d.Decode(b); ok != measured || ok && s.DoNotUpdate != want.DoNotUpdate {
					t.Errorf("%v %v %v %v: decodes to %+v, %v", c.Format, c.Dialect, rule, signal, s, ok)
				}
				// A later hop changes nothing: D freezes, or without a D bit
				// nothing is worse than the forced code.
				before := slices.Clone(b)
				if o := d.Update(b, 0, 9); rule == TrimForceLocal && (o == Updated || !bytes.Equal(b, before)) {
					t.Errorf("%v %v %v: a hop behind the trimming one changed %x to %x", c.Format, c.Dialect, signal, before, b)
				}
				if c.Dialect == UEC050 {
					d.Trim(b, 0, 10)
					if !bytes.Equal(b, before) {
						t.Errorf("%v %v: a second trim changed %x to %x", c.Format, signal, before, b)
					}
				}
			}
		}
	}
}

// The measured rule does not hide a worse hop before the trim.
func TestTrimMeasuredKeepsWorse(t *testing.T) {
	d := newDomain(t, Config{Format: FormatWide, TrimRule: TrimMeasured})
	b := make([]byte, 8)
	d.Init(b, Delay)
	d.Update(b, 9000, 1)
	d.Trim(b, 100, 2)
	if s, _ := d.Decode(b); s.Locator != 1 || !s.DoNotUpdate || s.Low != 8992 {
		t.Errorf("%+v, want locator 1, D set, low 8992", s)
	}
}

func TestDefaults(t *testing.T) {
	d := newDomain(t, Config{Format: FormatCompact})
	c := d.Config()
	if d.TPID() != 0x88b5 || c.TPIDWide != 0x88b6 || d.Interval() != 128*units.Microsecond || d.MaxLocator() != 63 || d.Dialect() != UEC050 {
		t.Errorf("defaults: %+v, locators up to %d", c, d.MaxLocator())
	}
	if again := newDomain(t, c); again.Profile() != d.Profile() {
		t.Error("the configuration with its defaults makes another domain")
	}
	for want, c := range map[uint16]Config{0: {}, 127: layouts[2], 32767: layouts[1], 65535: layouts[3]} {
		if got := newDomain(t, c).MaxLocator(); got != want {
			t.Errorf("%v %v: locators up to %d, want %d", c.Format, c.Dialect, got, want)
		}
	}
	none := newDomain(t, Config{})
	b := []byte{1, 2, 3, 4}
	none.Init(b, Delay)
	if none.Format().Size() != 0 || none.TPID() != 0 || !bytes.Equal(b, []byte{1, 2, 3, 4}) {
		t.Errorf("a domain without tags: size %d, TPID %04x, Init wrote %x", none.Format().Size(), none.TPID(), b)
	}
}

// docs/reference/references.md#tpids: TPIDs that are refused.
func TestConfigRefusals(t *testing.T) {
	refuse := func(c Config, sentinel error, says string) {
		t.Helper()
		if _, err := NewDomain(c); err == nil || sentinel != nil && !errors.Is(err, sentinel) || !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("NewDomain(%+v): %v, want an error with %q", c, err, says)
		}
	}
	for _, tpid := range []uint16{1, 0x05ff, 0x8100, 0x88a8, 0x9100, 0x88e5, 0x0800, 0x86dd, 0x0806, 0x88cc, 0x8808} {
		refuse(Config{Format: FormatCompact, TPIDCompact: tpid}, ErrTPID, fmt.Sprintf("tpid_compact 0x%04X", tpid))
		refuse(Config{Format: FormatCompact, TPIDWide: tpid}, ErrTPID, fmt.Sprintf("tpid_wide 0x%04X", tpid))
	}
	refuse(Config{TPIDCompact: 0x9900, TPIDWide: 0x9900}, ErrTPID, "both 0x9900")
	refuse(Config{TPIDCompact: 0x88b6}, ErrTPID, "both")
	refuse(Config{Interval: -1}, nil, "interval")
	refuse(Config{MaxRate: -8}, nil, "max rate")
	refuse(Config{Format: 3}, nil, "format 3")
	refuse(Config{Dialect: 2}, nil, "dialect 2")
	refuse(Config{TrimRule: 3}, nil, "trim rule 3")
	refuse(Config{Decode: 4}, nil, "decode mode 4")
	refuse(Config{Dialect: Draft01, OverrideD: [Types]bool{ABW: true}}, nil, "no D bit")
}

func TestParseNames(t *testing.T) {
	roundTrip := func(what string, n int, text func(int) string, parse func(string) (int, error)) {
		for i := range n {
			for _, spelling := range []string{text(i), strings.ToUpper(text(i))} {
				if got, err := parse(spelling); err != nil || got != i {
					t.Errorf("%s %q parses to %d, %v, want %d", what, spelling, got, err, i)
				}
			}
		}
		_, err := parse("bogus")
		if err == nil || !strings.Contains(err.Error(), text(0)) || !strings.Contains(err.Error(), text(n-1)) || !strings.Contains(err.Error(), `"bogus"`) {
			t.Errorf("%s \"bogus\": %v, want an error that lists the choices", what, err)
		}
		if got, err := parse(""); what != "type" && (got != 0 || err != nil) || what == "type" && err == nil {
			t.Errorf("empty %s parses to %d, %v", what, got, err)
		}
	}
	roundTrip("format", 3, func(i int) string { return Format(i).String() }, func(s string) (int, error) { v, err := ParseFormat(s); return int(v), err })
	roundTrip("dialect", 2, func(i int) string { return Dialect(i).String() }, func(s string) (int, error) { v, err := ParseDialect(s); return int(v), err })
	roundTrip("type", int(Standard), func(i int) string { return Type(i).String() }, func(s string) (int, error) { v, err := ParseType(s); return int(v), err })
	for text, want := range map[string]Type{"abwc": ABWC, "ABW/C": ABWC, "max-delay": Delay, "min-abw": ABW} {
		if got, err := ParseType(text); err != nil || got != want {
			t.Errorf("type %q parses to %v, %v, want %v", text, got, err, want)
		}
	}
	if got := Type(9).String(); got != "type9" {
		t.Errorf("unknown type prints as %q", got)
	}
}

// The interval of a sample ends where its code does. Available bandwidth has no value above
// the fastest link's rate; the last range of delays has no end.
func TestEnds(t *testing.T) {
	compact, err := NewDomain(Config{Format: FormatCompact, MaxRate: 100 * units.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	wide, err := NewDomain(Config{Format: FormatWide, MaxRate: 100 * units.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		domain    *Domain
		of        Type
		value     uint64
		low, high int64
	}{
		{compact, ABW, 12_400_000_000, 10_452_612_556, 12_500_000_000},
		{compact, ABW, 20_000_000_000, 10_452_612_556, 12_500_000_000}, // of a link that is faster than it should be
		{compact, ABW, 0, 0, 48_828_124},
		{compact, Delay, 300_000, 256_000, -1},
		{compact, Delay, 251, 250, 314},
		{compact, ABWC, 1_000_000, 968_750, 1_000_000},
		{wide, ABW, 12_500_000_000, 12_499_943_424, 12_500_074_495},
		{wide, Delay, 1 << 40, 16_777_200, -1},
	} {
		s := c.domain.Quantise(c.of, c.value)
		if low, high := c.domain.Ends(&s); low != c.low || high != c.high {
			t.Errorf("%v %v of %d: %d to %d, want %d to %d", s.Format, c.of, c.value, low, high, c.low, c.high)
		}
	}
}
