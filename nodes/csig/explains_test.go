package csig

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever hops do to a tag is explained; any other change of it is not.
func TestExplains(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, format := range []Format{FormatCompact, FormatWide} {
		for _, dialect := range []Dialect{UEC050, Draft01} {
			for signal := range Standard {
				d := newDomain(t, Config{Format: format, Dialect: dialect})
				limit := min(signal.limit(), 1<<40)
				first := make([]byte, format.Size())
				d.Init(first, signal)
				for range 200 {
					before := slices.Clone(first)
					if d.Update(before, random.Uint64N(limit), 5); random.IntN(4) == 0 {
						copy(before, first)
					}
					after := slices.Clone(before)
					for hop := range 3 {
						d.Update(after, random.Uint64N(limit), uint16(6+hop))
					}
					if !d.Explains(before, after) {
						t.Fatalf("%v %v %v: %x to %x is what hops do", format, dialect, signal, before, after)
					}
					if !slices.Equal(before, after) && d.Explains(after, before) {
						t.Fatalf("%v %v %v: %x to %x makes the value better", format, dialect, signal, after, before)
					}
					old, _ := d.ParseTag(before)
					for name, change := range map[string]func(tag *Tag){
						"another type":              func(tag *Tag) { tag.Type ^= 1 },
						"a locator without a value": func(tag *Tag) { tag.Locator++ },
						"reserved bits":             func(tag *Tag) { tag.Reserved ^= 1 },
					} {
						tag := old
						change(&tag)
						wrong, err := d.AppendTag(nil, tag)
						if err != nil {
							t.Fatal(err)
						}
						if d.Explains(before, wrong) {
							t.Errorf("%v %v %v, %s: %x to %x", format, dialect, signal, name, before, wrong)
						}
					}
					if d.Explains(before, nil) || d.Explains(nil, after) {
						t.Errorf("%v %v %v: a tag comes from nothing, or ends as nothing", format, dialect, signal)
					}
				}
			}
		}
	}
}

// A tag with D stays as it is, unless the domain overrides D for its type.
func TestExplainsD(t *testing.T) {
	for _, override := range []bool{false, true} {
		c := Config{Format: FormatWide}
		c.OverrideD[Delay] = override
		d := newDomain(t, c)
		before, err := d.AppendTag(nil, Tag{Type: Delay, Signal: 5, Locator: 2, DoNotUpdate: true})
		if err != nil {
			t.Fatal(err)
		}
		after, err := d.AppendTag(nil, Tag{Type: Delay, Signal: 6, Locator: 3, DoNotUpdate: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Explains(before, after); got != override || !d.Explains(before, before) {
			t.Errorf("override %v: an update is explained: %v", override, got)
		}
		free, err := d.AppendTag(nil, Tag{Type: Delay, Signal: 5, Locator: 2})
		if err != nil {
			t.Fatal(err)
		}
		if d.Explains(free, before) || d.Explains(before, free) {
			t.Error("D comes or goes, and no packet was trimmed")
		}
	}
}
