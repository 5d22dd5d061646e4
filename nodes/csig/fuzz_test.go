package csig

import (
	"bytes"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/units"
)

func fuzzDomains(f *testing.F) []*Domain {
	var domains []*Domain
	for _, c := range append(slices.Clone(layouts), banded, Config{}) {
		domains = append(domains, newDomain(f, c))
	}
	return domains
}

// FuzzTag feeds any bytes to everything that reads or edits a tag: nothing
// panics, only the tag's signal, locator and D bit change, and what parses
// appends as the same bytes.
func FuzzTag(f *testing.F) {
	domains := fuzzDomains(f)
	for _, v := range tagVectors() {
		f.Add(unhex(f, v.wire), uint64(12_500), uint16(5))
	}
	f.Add([]byte{0x88}, uint64(0), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, value uint64, locator uint16) {
		for _, d := range domains {
			tag, err := d.ParseTag(b)
			if err == nil {
				again, err := d.AppendTag(nil, tag)
				if err != nil || !bytes.Equal(again, b[:len(again)]) {
					t.Fatalf("%x parses to %+v, which appends as %x, %v", b, tag, again, err)
				}
			}
			if s, ok := d.Decode(b); ok && (s.Low > s.Point || s.Point > s.High || s.Type != tag.Type || s.Locator != tag.Locator) {
				t.Fatalf("%x decodes to %+v", b, s)
			}
			edited := slices.Clone(b)
			outcome := d.Update(edited, value, locator)
			if (outcome == Updated) == bytes.Equal(edited, b) && tag.Locator != locator {
				t.Fatalf("Update(%x, %d, %d): %v, %x", b, value, locator, outcome, edited)
			}
			if outcome == Updated && d.Update(edited, value, locator) != Kept {
				t.Fatalf("Update(%x, %d, %d) a second time does not keep %x", b, value, locator, edited)
			}
			d.Trim(edited, value, locator)
			after, errAfter := d.ParseTag(edited)
			if (err == nil) != (errAfter == nil) || after.Type != tag.Type || after.Reserved != tag.Reserved {
				t.Fatalf("%x became %x", b, edited)
			}
			if n := d.Format().Size(); err == nil && !bytes.Equal(edited[n:], b[n:]) {
				t.Fatalf("bytes behind the tag changed: %x became %x", b, edited)
			}
		}
	})
}

// FuzzWalk feeds any bytes to Walk: nothing panics, the offsets lie inside of
// the frame, and a tag that is inserted, also into a frame that is refused, is found
// where it was put and leaves no trace when it is stripped.
func FuzzWalk(f *testing.F) {
	domains := fuzzDomains(f)
	for _, s := range stacks {
		f.Add(unhex(f, s.header))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, d := range domains {
			h, err := walk(d, b)
			if err == nil && h.L3 < 14 || len(b) >= 14 && int(h.L3) > len(b) || h.Tag > 0 && int(h.Tag)+h.Format.Size() > int(h.L3)-2 {
				t.Fatalf("Walk(%x) = %+v, %v, outside of the frame", b, h, err)
			}
			if len(b) < 14 {
				continue
			}
			if h.Tag > 0 {
				bare, err := h.Strip(slices.Clone(b))
				if err != nil || len(bare) >= len(b) {
					t.Fatalf("Strip(%x) = %x, %v", b, bare, err)
				}
				continue
			}
			tagged, refused := h.Insert(slices.Clone(b), d.Format())
			if refused != nil {
				if d.Format() != FormatNone {
					t.Fatalf("Insert(%x, %+v): %v", b, h, refused)
				}
				continue
			}
			d.Init(tagged[h.Tag:], NQD)
			found, again := walk(d, tagged)
			if again != err || found != h || found.Format != d.Format() || found.Second {
				t.Fatalf("Walk(%x) = %+v, %v, want %+v, %v", tagged, found, again, h, err)
			}
			if kind, _ := d.Peek(tagged[found.Tag:]); kind != NQD {
				t.Fatalf("the tag in %x has type %v", tagged, kind)
			}
			if bare, err := found.Strip(tagged); err != nil || !bytes.Equal(bare, b) {
				t.Fatalf("inserted and stripped: %x, %v, want %x", bare, err, b)
			}
		}
	})
}

// FuzzQuantiser feeds any text as a table's name: NewDomain refuses it, or makes
// a domain whose codes are monotone and decode to intervals with the value.
func FuzzQuantiser(f *testing.F) {
	for _, text := range []string{
		"delay-lin-500ns", "delay-lin(1us)", "delay-geo", "abw-geo(800Gbps)", "pct-lin32", "linear(16ns, 1024ns)",
		"edges(0, 5%, 10%) bands(16, 17, 31)", "edges(0, 1us)", "linear(", "abw-geo(-1bps)", "edges(0,9223372036ms)",
	} {
		f.Add(text, uint8(2), uint64(1000), uint64(5000))
		f.Add(text, uint8(0), uint64(1), uint64(1<<40))
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8, a, b uint64) {
		signal := Type(kind) % Standard
		for _, format := range []Format{FormatCompact, FormatWide} {
			d, err := NewDomain(Config{Format: format, MaxRate: 400 * units.Gbps, Quantisers: one(signal, Quantiser{Name: text})})
			if err != nil {
				continue
			}
			low, high := min(a, b, signal.limit()), min(max(a, b), signal.limit())
			for _, v := range []uint64{low, high} {
				if s, ok := decodeOne(t, d, signal, v); ok && (v < s.Low || v > s.High) {
					t.Fatalf("%v %v %q: %d decodes to [%d, %d]", format, signal, text, v, s.Low, s.High)
				}
			}
			tag := make([]byte, format.Size())
			d.Init(tag, signal)
			better, worst := high, low
			if !signal.Min() {
				better, worst = low, high
			}
			d.Update(tag, worst, 1)
			if o := d.Update(tag, better, 2); o != Kept {
				t.Fatalf("%v %v %q: %d replaces the worse %d: %v", format, signal, text, better, worst, o)
			}
		}
	})
}

// FuzzNames feeds any text to the parsers of names: what parses prints to text
// that parses to the same value.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"", "compact", "WIDE", "uec-0.50", "draft-01", "max-delay", "abw/c", "measured", "geometric", "registry", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		again(t, text, ParseFormat)
		again(t, text, ParseDialect)
		again(t, text, ParseType)
	})
}

func again[T interface {
	comparable
	String() string
}](t *testing.T, text string, parse func(string) (T, error)) {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		return
	}
	if w, err := parse(v.String()); err != nil || w != v {
		t.Fatalf("%q parses to %v, which parses to %v, %v", text, v, w, err)
	}
}
