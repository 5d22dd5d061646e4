package csig

import "testing"

// A tag that no hop has written measures nothing unless every hop would have
// written what is worse: in every format, dialect, type and decode mode.
func TestUntouched(t *testing.T) {
	for _, format := range []Format{FormatCompact, FormatWide} {
		for _, dialect := range []Dialect{UEC050, Draft01} {
			for mode := DecodeAuto; mode <= DecodeGeometric; mode++ {
				d := newDomain(t, Config{Format: format, Dialect: dialect, Decode: mode})
				for signal := range Standard {
					b := make([]byte, format.Size())
					d.Init(b, signal)
					if s, ok := d.Decode(b); ok && (!s.Untouched || s.Measured(false)) {
						t.Errorf("%v %v %v: a fresh tag is the sample %+v", format, dialect, signal, s)
					} else if ok && !s.Measured(true) {
						t.Errorf("%v %v %v: a fresh tag is no sample on a path where every hop updates", format, dialect, signal)
					}
					worst := uint64(0)
					if !signal.Min() {
						worst = 900_000
					}
					d.Update(b, worst, 3)
					if s, ok := d.Decode(b); !ok || s.Untouched || !s.Measured(false) {
						t.Errorf("%v %v %v: a tag with %d is the sample %+v, %v", format, dialect, signal, worst, s, ok)
					}
				}
			}
		}
	}
}

// Bucket 0 of a maximum is "less than the first edge": a hop with such a value
// does not write, so that only the coverage of the path tells it from absence.
func TestUntouchedIsTheBestRange(t *testing.T) {
	d := newDomain(t, Config{Format: FormatCompact, Quantisers: one(Delay, Quantiser{Name: "delay-lin-500ns"})})
	b := make([]byte, 4)
	d.Init(b, Delay)
	if o := d.Update(b, 332, 7); o != Kept {
		t.Fatalf("332 ns: %v, want kept", o)
	}
	s, ok := d.Decode(b)
	if !ok || !s.Untouched || !s.Measured(true) || s.Low != 0 || s.High != 499 || s.Point != 250 {
		t.Errorf("sample %+v, %v, want 0 to 499 ns, untouched", s, ok)
	}
}
