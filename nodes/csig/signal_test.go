package csig

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/modules"
)

// registered has signals registered until the test ends, and reports what is wrong with
// them. The module's path is that of this package.
func registered(t *testing.T, signals ...Signal) (wrong string) {
	t.Helper()
	table, known, least := definitions, knownTypes, minTypes
	t.Cleanup(func() { definitions, knownTypes, minTypes = table, known, least })
	before := errorText(modules.Check())
	for _, s := range signals {
		Register(s)
	}
	return strings.TrimPrefix(errorText(modules.Check()), before)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// depth is a signal of bytes, room one of which hops keep the smallest value.
func depth(name string, t Type) Signal {
	return Signal{Name: name, Doc: "bytes in the queue", Type: t, Unit: Bytes, Compact: "geo(4kB)", Wide: "linear(64B)", Value: func(in *Inputs) uint64 { return uint64(in.Queue) }}
}

func room(name string, t Type) Signal {
	return Signal{
		Name: name, Doc: "packets that fit", Type: t, Min: true, Windowed: true, Unit: Count, Compact: "even(8)", Wide: "linear(1)",
		Value: func(in *Inputs) uint64 { return uint64((in.Limit - in.Queue) / 4150) },
	}
}

func TestRegister(t *testing.T) {
	if wrong := registered(t, depth("register-depth", 4), room("register-room", 7)); wrong != "" {
		t.Fatal(wrong)
	}
	if got, want := KnownTypes(), []Type{ABW, ABWC, Delay, NQD, 4, 7}; !slices.Equal(got, want) || !slices.Equal(Registered(), want[4:]) || End() != 8 {
		t.Errorf("known %v, registered %v, end %v", got, Registered(), End())
	}
	if got, want := TypeNames(), []string{"abw", "abw-c", "delay", "nqd", "register-depth", "type5", "type6", "register-room"}; !cmp.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	for text, want := range map[string]Type{"register-depth": 4, "MAX-register-depth": 4, "min-register-room": 7, "max-delay": Delay, "min-abw-c": ABWC} {
		if got, err := ParseType(text); got != want || err != nil {
			t.Errorf("ParseType(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"min-register-depth", "type5", "max-abw"} {
		if got, err := ParseType(text); err == nil {
			t.Errorf("ParseType(%q) = %v", text, got)
		}
	}
	if !Type(7).Min() || Type(4).Min() || !Type(7).Windowed() || Type(4).Windowed() || Type(5).Known() || Type(23).Known() || Type(23).Min() || InvalidType.Known() {
		t.Error("what the types say of themselves is wrong")
	}
	if m := Type(4).Definition().Module; m != "github.com/csiglab/csiglab/nodes/csig" {
		t.Errorf("module %q", m)
	}
	in := Inputs{Queue: 9000, Limit: 90_000}
	if Type(4).Value(&in) != 9000 || Type(7).Value(&in) != 19 {
		t.Errorf("values %d and %d", Type(4).Value(&in), Type(7).Value(&in))
	}
}

func TestRegisterRefuses(t *testing.T) {
	change := func(change func(*Signal)) []Signal {
		s := depth("refused", 5)
		change(&s)
		return []Signal{s}
	}
	for name, c := range map[string]struct {
		signals []Signal
		want    string
	}{
		"T of csiglab":   {change(func(s *Signal) { s.Type = NQD }), `Signal.Type of refused is 3: want a T from 4 to 7`},
		"T of wide tags": {change(func(s *Signal) { s.Type = 8 }), `Signal.Type of refused is 8: want a T from 4 to 7`},
		"T twice":        {[]Signal{depth("refuses-first", 5), depth("refuses-second", 5)}, `Signal.Type of refuses-second is 5, which is that of refuses-first of module github.com`},
		"name twice":     {[]Signal{depth("refuses-twice", 5), depth("refuses-twice", 6)}, `signal "refuses-twice": github.com/csiglab/csiglab/nodes/csig has registered another one of this name`},
		"name of ours":   {change(func(s *Signal) { s.Name = "delay" }), "csiglab has this name itself"},
		"alias of ours":  {change(func(s *Signal) { s.Name = "max-nqd" }), "csiglab has this name itself"},
		"all":            {change(func(s *Signal) { s.Name = "all" }), "csiglab has this name itself"},
		"no name":        {change(func(s *Signal) { s.Name = "Queue Bytes" }), `Signal.Name is "Queue Bytes"; experiment files name a signal by lower-case`},
		"no doc":         {change(func(s *Signal) { s.Doc = "" }), "refused has no doc: set Signal.Doc"},
		"no unit":        {change(func(s *Signal) { s.Unit = 9 }), "Signal.Unit of refused is 9: want csig.Count, Bytes"},
		"no quantiser":   {change(func(s *Signal) { s.Wide = "" }), "Signal.Wide of refused is empty: name the quantiser of wide tags, such as linear(64B)"},
		"another's":      {change(func(s *Signal) { s.Compact = "delay-geo" }), "Signal.Compact of refused: \"delay-geo\": unusable quantiser: table delay-geo is not for refused"},
		"another unit":   {change(func(s *Signal) { s.Compact = "geo(1us)" }), `Signal.Compact of refused: "geo(1us)": unusable quantiser: size "1us"`},
		"of wide tags":   {change(func(s *Signal) { s.Compact = "linear(64B)" }), "a compact tag needs ranges"},
		"no value":       {change(func(s *Signal) { s.Value = nil }), "refused has no Value"},
		"panics":         {change(func(s *Signal) { s.Value = func(in *Inputs) uint64 { return 1 / uint64(in.Queue) } }), "Signal.Value of refused panics: runtime error: integer divide by zero"},
	} {
		t.Run(name, func(t *testing.T) {
			if wrong := registered(t, c.signals...); !strings.Contains(wrong, c.want) {
				t.Errorf("got %q, want %q", wrong, c.want)
			}
			if c.signals[len(c.signals)-1].Name == "refused" && (Type(5).Known() || !slices.Equal(KnownTypes(), []Type{ABW, ABWC, Delay, NQD})) {
				t.Error("it is registered all the same")
			}
		})
	}
}

// "strictly better replaces, and only then LM is rewritten" (docs/reference/references.md#hop-update):
// of types of modules too, by their Min, in both formats.
func TestRegisteredUpdate(t *testing.T) {
	if wrong := registered(t, depth("update-depth", 4), room("update-room", 6)); wrong != "" {
		t.Fatal(wrong)
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for _, format := range []Format{FormatCompact, FormatWide} {
		d := newDomain(t, Config{Format: format})
		for _, signal := range Registered() {
			for range 500 {
				tag := make([]byte, format.Size())
				d.Init(tag, signal)
				if got, _ := d.Peek(tag); got != signal {
					t.Fatalf("Init wrote type %v, want %v", got, signal)
				}
				if s, ok := d.Decode(tag); ok && !s.Untouched {
					t.Fatalf("%v: a fresh tag is %+v", signal, s)
				}
				worst, locator := d.Quantise(signal, []uint64{0, math.MaxUint64}[boolIndex(signal.Min())]), uint16(0)
				for hop := range uint16(4) {
					value := uint64(random.Int64N(300_000))
					if signal == 6 {
						value = uint64(random.Int64N(300))
					}
					q := d.Quantise(signal, value)
					worse := q.Point > worst.Point
					if signal.Min() {
						worse = q.Point < worst.Point
					}
					want := Kept
					if worse || locator == 0 && q.Point == worst.Point && tagCode(d, tag) != q.Code {
						worst, locator, want = q, hop+1, Updated
					}
					if got := d.Update(tag, value, hop+1); got != want {
						t.Fatalf("seed %d, %v %v: Update(%d) = %v, want %v", seed, format, signal, value, got, want)
					}
				}
				if locator == 0 {
					continue
				}
				if s, ok := d.Decode(tag); !ok || s.Low != worst.Low || s.High != worst.High || s.Locator != locator {
					t.Fatalf("seed %d, %v %v: %+v, want %+v of %d", seed, format, signal, s, worst, locator)
				}
			}
		}
		tag := make([]byte, format.Size())
		tag, _ = d.AppendTag(tag[:0], Tag{Type: 5, Signal: 7})
		if got := d.Update(tag, 9, 1); got != Unknown {
			t.Errorf("a type that nobody has registered: %v", got)
		}
	}
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

func tagCode(d *Domain, b []byte) uint32 {
	tag, _ := d.ParseTag(b)
	return tag.Signal
}

// The profile of a domain has the types of modules, and without them it is what it was.
func TestRegisteredProfile(t *testing.T) {
	before := newDomain(t, Config{Format: FormatCompact}).Profile()
	profiles := map[uint32]string{before: "none"}
	for name, s := range map[string]Signal{"one": depth("profile-one", 4), "another name": depth("profile-two", 4), "another T": depth("profile-three", 5), "min": room("profile-min", 4)} {
		t.Run(name, func(t *testing.T) {
			if wrong := registered(t, s); wrong != "" {
				t.Fatal(wrong)
			}
			p := newDomain(t, Config{Format: FormatCompact}).Profile()
			if other, ok := profiles[p]; ok {
				t.Errorf("the profile is that of %s", other)
			}
			profiles[p] = name
		})
	}
	if got := newDomain(t, Config{Format: FormatCompact}).Profile(); got != before {
		t.Errorf("profile %x, before %x", got, before)
	}
}

// Quantisers by unit: geo has the ratios of delay-geo, even has equal steps.
func TestRegisteredQuantisers(t *testing.T) {
	if wrong := registered(t, depth("quantised-depth", 4), room("quantised-room", 5)); wrong != "" {
		t.Fatal(wrong)
	}
	d := newDomain(t, Config{Format: FormatCompact})
	for _, c := range []struct {
		signal           Type
		value, low, high uint64
	}{
		{4, 0, 0, 3999}, {4, 4000, 4000, 5039}, {4, 8000, 8000, 10_078}, {4, 1 << 40, 4_096_000, math.MaxUint64},
		{5, 7, 0, 7}, {5, 8, 8, 15}, {5, 1000, 248, math.MaxUint64},
	} {
		if s := d.Quantise(c.signal, c.value); s.Low != c.low || s.High != c.high {
			t.Errorf("%v %d is in %d to %d, want %d to %d", c.signal, c.value, s.Low, s.High, c.low, c.high)
		}
	}
	if mode := d.DecodeMode(4); mode != DecodeGeometric {
		t.Errorf("geo is decoded by %v", mode)
	}
	named := Config{Format: FormatWide}
	named.Quantisers[5].Name = "linear(4)"
	if s := newDomain(t, named).Quantise(5, 9); s.Low != 8 || s.High != 11 {
		t.Errorf("%+v", s)
	}
	for _, own := range []string{"geo(1us)", "even(1us)"} {
		if _, err := NewDomain(Config{Format: FormatCompact, Quantisers: one(Delay, Quantiser{Name: own})}); err == nil {
			t.Errorf("delay takes %s", own)
		}
	}
}
