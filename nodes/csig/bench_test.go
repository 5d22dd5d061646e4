package csig

import "testing"

var benchmarkDomains = []struct {
	name   string
	config Config
}{
	{"compact", Config{Format: FormatCompact}},
	{"wide", Config{Format: FormatWide}},
}

// BenchmarkUpdate is one hop: Peek and compare-and-update; every fourth value
// replaces the tag's.
func BenchmarkUpdate(b *testing.B) {
	for _, test := range benchmarkDomains {
		b.Run(test.name, func(b *testing.B) {
			d := newDomain(b, test.config)
			tag := make([]byte, test.config.Format.Size())
			d.Init(tag, Delay)
			fresh := append([]byte(nil), tag...)
			values := [16]uint64{332, 9000, 664, 120, 18_000, 40_000, 5000, 750, 2000, 100_000, 3000, 332, 1000, 12_000, 400_000, 70}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%4 == 0 {
					copy(tag, fresh)
				}
				if t, _ := d.Peek(tag); t == Delay {
					d.Update(tag, values[i%16], 5)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, test := range benchmarkDomains {
		b.Run(test.name, func(b *testing.B) {
			d := newDomain(b, test.config)
			tag := make([]byte, test.config.Format.Size())
			d.Init(tag, Delay)
			d.Update(tag, 10_521, 5)
			var sum uint64
			b.ReportAllocs()
			for b.Loop() {
				s, _ := d.Decode(tag)
				sum += s.Point
			}
			if sum == 0 {
				b.Fatal("nothing decoded")
			}
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	d := newDomain(b, Config{Format: FormatCompact})
	tpids := TPIDs{Compact: d.Config().TPIDCompact, Wide: d.Config().TPIDWide}
	var f Frame
	for _, s := range stacks[:5] {
		b.Run(s.name, func(b *testing.B) {
			header := unhex(b, s.header)
			b.ReportAllocs()
			for b.Loop() {
				if err := tpids.Walk(header, &f); err != nil || f.Tag == 0 {
					b.Fatal(f, err)
				}
			}
		})
	}
}

// Nothing on the packet path allocates.
func TestNoAllocations(t *testing.T) {
	header := append(make([]byte, 0, 64), unhex(t, macs+"0800")...)
	for _, test := range benchmarkDomains {
		d := newDomain(t, test.config)
		allocations := testing.AllocsPerRun(100, func() {
			f, err := walk(d, header)
			if err != nil {
				t.Fatal(err)
			}
			tagged, err := f.Insert(header, d.Format())
			if err != nil {
				t.Fatal(err)
			}
			tag := tagged[f.Tag:]
			d.Init(tag, Delay)
			d.Update(tag, 1000, 3)
			d.Trim(tag, 1000, 4)
			if s, ok := d.Decode(tag); !ok || s.Locator != 4 {
				t.Fatal(s, ok)
			}
			if _, err := f.Strip(tagged); err != nil {
				t.Fatal(err)
			}
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations per packet, want 0", test.name, allocations)
		}
	}
}

// BenchmarkNewDomain is what a node of a large fabric pays once.
func BenchmarkNewDomain(b *testing.B) {
	for _, test := range benchmarkDomains {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newDomain(b, test.config)
			}
		})
	}
}
