package shift

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

// "After rerouting the mode moves" (section 7, item 3): from an uplink of a ToR to a port to
// a host between variants, and to another uplink at a fault. The seeds say how sure it is.
func TestShiftsOfTheBottleneck(t *testing.T) {
	const abwc = 1
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 4, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"before", "after"}, Seeds: 3, EndUS: 2000}
	until := 1550.0
	p.Faults = []runfolder.Fault{{Name: "late", FromUS: 1800, Happened: true, What: "later"}, {Name: "never", FromUS: 10, What: "it did not happen"},
		{Name: "always", FromUS: 0, Happened: true, What: "from the beginning"}, {Name: "down", FromUS: 950, UntilUS: &until, Happened: true, What: "tor0-agg0 down"}}
	p.Run = func(m *runfolder.Manifest, variant string, seed uint64, b *metrics.Batch) {
		index := func(name string) int { return readingtest.PortNamed(t, m, name) }
		for at := 0.0; at < 2000; at += 100 {
			name := "tor0-agg0"
			switch {
			case variant == "after":
				name = "tor3-h6"
			case at > 900 && at < 1550:
				name = "tor0-agg1"
			case seed == 3:
				name = "agg1-tor2"
			}
			readingtest.PlantSamples(b, 5, abwc, index(name)+1, at, 10, 50_000)
			readingtest.PlantSamples(b, 5, abwc, index("agg0-tor3")+1, at, 100, 500_000)                                                     // there is enough left
			b.Ports = append(b.Ports, p.Window(&m.Ports[index(name)], at, 0.9, 8300), p.Window(&m.Ports[index("agg0-tor3")], at, 0.99, 100), // no queue
				p.Window(&m.Ports[0], at, 1, 1e6)) // a NIC
		}
	}
	read, _ := sectiontest.Read[*Section](t, p.Folder(t), New)
	shifts := read.Shifts
	sectiontest.Survives(t, shifts)
	if len(shifts) != 2+2+2 {
		t.Fatalf("%d shifts %+v", len(shifts), shifts)
	}
	for i, s := range shifts {
		if want := []Basis{BasisSamples, BasisWindows}[i%2]; s.Basis != want || (s.Signal == "abw-c") != (want == BasisSamples) {
			t.Errorf("shift %d is of %s %s", i, s.Basis, s.Signal)
		}
		if s.Seeds != 3 {
			t.Errorf("shift %d of %d seeds", i, s.Seeds)
		}
		place := func(at int) string {
			if at < 0 {
				return ""
			}
			return s.Places[at].key()
		}
		per := int64(1) // windows have one
		if s.Basis == BasisSamples {
			per = 10
		}
		switch i / 2 {
		case 0:
			if s.Fault != "" || s.Before.Variant != "before" || s.After.Variant != "after" || !s.Moved || place(s.From) != "tor0-agg0" || place(s.To) != "tor3-h6" || s.Agree != 2 {
				t.Errorf("of variants: %+v", s)
			}
			from, to := s.Tiers[s.FromTier], s.Tiers[s.ToTier]
			if from.Tier != "tor" || from.Direction != "up" || to.Tier != "tor" || to.Direction != "down" || to.After.Share != 1 || to.Before.Share != 0 {
				t.Errorf("of variants: from %+v to %+v", from, to)
			}
			if want := (Share{Share: (2*20 + 6) / 60.0, Seeds: reading.Spread{Count: 3, Min: 6 / 20.0, Max: 1}}); !cmp.Equal(from.Before, want, cmpopts.EquateApprox(1e-9, 0)) {
				t.Errorf("share of the uplinks %+v, want %+v", from.Before, want)
			}
		case 1:
			// Whole windows before 950 us, and from 1000 to 1500 us.
			if s.Fault != "tor0-agg0 down" || s.Before.ToUS != 950 || s.After.FromUS != 950 || s.After.ToUS != 1550 || s.Before.Heavy != 3*9*per || s.After.Heavy != 3*5*per {
				t.Errorf("of the fault: %+v", s)
			}
			if !s.Moved || place(s.From) != "tor0-agg0" || place(s.To) != "tor0-agg1" || s.FromTier != s.ToTier || s.Agree != 2 {
				t.Errorf("of the fault: %+v", s)
			}
		case 2:
			if s.Moved || s.Before.Variant != "after" || s.Agree != 3 || place(s.From) != "tor3-h6" {
				t.Errorf("of the fault, in a variant that it does not touch: %+v", s)
			}
		}
	}
}

// Where many ports share what is heavily loaded, the first of them by a few samples is no
// place that a bottleneck has moved to.
func TestEvenLoadDoesNotMove(t *testing.T) {
	of := func(first string) counts {
		c := counts{heavy: map[string]int64{}}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			c.heavy[name] = 100
		}
		c.heavy[first]++
		return c
	}
	tier := counts{heavy: map[string]int64{"tor up": 501}}
	if got := topsOf([2]counts{of("a"), of("b")}, [2]counts{tier, tier}); got.moved || got.places != [2]string{"a", "b"} {
		t.Errorf("tops %+v", got)
	}
	if got := topsOf([2]counts{of("a"), {}}, [2]counts{tier, {}}); got.moved {
		t.Errorf("to nowhere: %+v", got)
	}
}
