package csig

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
)

func TestStructuredLocators(t *testing.T) {
	for _, test := range []struct {
		config Config
		place  Place
		want   uint16
	}{
		// docs/reference/references.md#worked-path.
		{layouts[0], Place{Tier: TierToR, Dir: Up, Port: 1}, 1},
		{layouts[0], Place{Tier: TierAgg, Dir: Up, Port: 1}, 17},
		{layouts[0], Place{Tier: TierCore, Dir: Down, Port: 1}, 41},
		{layouts[0], Place{Tier: TierAgg, Dir: Down, Port: 1}, 25},
		{layouts[0], Place{Tier: TierToR, Dir: Down, Port: 1}, 9},
		{layouts[0], Place{Tier: TierOther, Dir: Down, Port: 7, Switch: 900}, 63},
		{layouts[1], Place{Tier: TierToR, Dir: Up, Switch: 3, Port: 16}, 0xe0 >> 1},
		{layouts[1], Place{Tier: TierCore, Dir: Down, Switch: 2, Port: 7}, 20551},
		{layouts[2], Place{Tier: TierAgg, Dir: Down, Port: 15}, 0b01_1_1111},
		{layouts[3], Place{Tier: TierAgg, Dir: Down, Switch: 127, Port: 63}, 0b01_1_1111111_111111},
		{Config{Format: FormatWide, Locators: LocatorConfig{Widths: Widths{2, 1, 6, 6}}}, Place{Tier: TierAgg, Switch: 1, Port: 2}, 0b01_0_000001_000010},
	} {
		s := newDomain(t, test.config).Locators()
		got, err := s.Locator(test.place)
		if err != nil || got != test.want {
			t.Errorf("%v %v: locator %d, %v, want %d", test.config.Format, test.place, got, err, test.want)
		}
		d, err := s.Assign([]Place{test.place})
		if err != nil || d.Locators[0] != test.want || !cmp.Equal(d.Ports(test.want), []Place{test.place}) {
			t.Errorf("%v %v: Assign gives %v, %v, want %d", test.config.Format, test.place, d, err, test.want)
		}
	}
	if !(Place{Tier: TierToR, Dir: Down}).LastHop() || (Place{Tier: TierToR, Dir: Up}).LastHop() || (Place{Tier: TierAgg, Dir: Down}).LastHop() {
		t.Error("the last hop is a ToR's port towards a host, no other")
	}
}

func TestLocatorRefusals(t *testing.T) {
	for _, test := range []struct {
		config Config
		place  Place
	}{
		{layouts[0], Place{Port: 0}}, {layouts[0], Place{Port: 8}}, {layouts[0], Place{Port: 1, Tier: 4}},
		{layouts[1], Place{Port: 32}}, {layouts[1], Place{Port: 1, Switch: 128}}, {layouts[1], Place{Port: 1, Switch: -1}},
		{Config{}, Place{Port: 1}},
		{Config{Format: FormatCompact, Locators: LocatorConfig{Kind: Registry}}, Place{Port: 1}},
	} {
		if got, err := newDomain(t, test.config).Locators().Locator(test.place); !errors.Is(err, ErrLocator) {
			t.Errorf("%v: locator %d, %v, want ErrLocator", test.place, got, err)
		}
	}
	for says, c := range map[string]LocatorConfig{
		"sum 7, must be 6":   {Widths: Widths{2, 1, 1, 3}},
		"needs a bit":        {Widths: Widths{2, 1, 3, 0}},
		"widths":             {Widths: Widths{-1, 1, 3, 3}},
		"registry scheme":    {Labels: []Label{{Locator: 1}}},
		"structured scheme":  {Kind: Registry, Widths: Widths{2, 1, 0, 3}},
		"never updated":      {Kind: Registry, Labels: []Label{{Locator: 0}}},
		"above 63":           {Kind: Registry, Labels: []Label{{Locator: 64}}},
		"stands for tor swi": {Kind: Registry, Labels: []Label{{Locator: 5}, {Locator: 6}, {Locator: 5}}},
		"scheme 2":           {Kind: 2},
	} {
		if _, err := NewDomain(Config{Format: FormatCompact, Locators: c}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want an error with %q", c, err, says)
		}
	}
}

// fabric is the egress ports of a three-tier fabric too large for any field.
func fabric() []Place {
	var places []Place
	for tier := TierToR; tier <= TierCore; tier++ {
		for s := range 200 {
			for port := 1; port <= 40; port++ {
				places = append(places, Place{Switch: s, Port: port, Tier: tier, Dir: Direction(port % 2)})
			}
		}
	}
	return places
}

// Folding keeps tier and direction, never gives 0, and says what is shared.
func TestAssignFolds(t *testing.T) {
	places := fabric()
	for _, c := range layouts {
		d := newDomain(t, c)
		directory, err := d.Locators().Assign(places)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[uint16]int)
		for i, locator := range directory.Locators {
			seen[locator]++
			if locator == 0 || locator > d.MaxLocator() {
				t.Fatalf("%v: locator %d of %v, want 1 to %d", c.Format, locator, places[i], d.MaxLocator())
			}
			for _, p := range directory.Ports(locator) {
				if p.Tier != places[i].Tier || p.Dir != places[i].Dir {
					t.Fatalf("%v: locator %d stands for %v and %v", c.Format, locator, p, places[i])
				}
			}
		}
		shared := 0
		for _, n := range seen {
			if n > 1 {
				shared += n
			}
		}
		if got := directory.Shared(); got != shared || shared == 0 {
			t.Errorf("%v: %d ports share locators, want %d, not 0", c.Format, got, shared)
		}
	}
	if _, err := newDomain(t, layouts[0]).Locators().Assign([]Place{{Port: 0}}); !errors.Is(err, ErrLocator) {
		t.Errorf("port 0: %v, want ErrLocator", err)
	}
	narrow := newDomain(t, Config{Format: FormatCompact, Locators: LocatorConfig{Widths: Widths{Tier: 1, Dir: 1, Port: 4}}})
	if _, err := narrow.Locators().Assign([]Place{{Port: 1, Tier: TierCore}}); !errors.Is(err, ErrLocator) {
		t.Errorf("tier core in 1 bit: %v, want ErrLocator", err)
	}
	none, err := newDomain(t, Config{}).Locators().Assign(places[:3])
	if err != nil || !cmp.Equal(none.Locators, []uint16{0, 0, 0}) {
		t.Errorf("without tags: %v, %v, want zeros", none, err)
	}
}

func TestRegistry(t *testing.T) {
	up := Place{Switch: 4, Port: 2, Peer: 9, Tier: TierAgg, Dir: Up, Rate: 100 * units.Gbps}
	down := Place{Switch: 4, Port: 1, Peer: 2, Tier: TierAgg, Dir: Down, Rate: 100 * units.Gbps}
	labelled := newDomain(t, Config{Format: FormatCompact, Locators: LocatorConfig{Kind: Registry, Labels: []Label{{40, up}, {7, down}}}})
	d, err := labelled.Locators().Assign([]Place{up, down})
	if err != nil || !cmp.Equal(d.Locators, []uint16{40, 7}) || !cmp.Equal(d.Ports(40), []Place{up}) || d.Ports(41) != nil || d.Shared() != 0 {
		t.Errorf("labels: %+v, %v, want 40 and 7", d, err)
	}
	if _, err := labelled.Locators().Assign([]Place{{Port: 3}}); !errors.Is(err, ErrLocator) || !strings.Contains(fmt.Sprint(err), "tor switch 0 port 3") {
		t.Errorf("a port without a label: %v, want ErrLocator that names it", err)
	}
	numbered := newDomain(t, Config{Format: FormatCompact, Locators: LocatorConfig{Kind: Registry}})
	if d, err := numbered.Locators().Assign([]Place{up, down}); err != nil || !cmp.Equal(d.Locators, []uint16{1, 2}) {
		t.Errorf("numbered: %+v, %v, want 1 and 2", d, err)
	}
	if _, err := numbered.Locators().Assign(fabric()[:64]); !errors.Is(err, ErrLocator) {
		t.Errorf("64 ports in 6 bits: %v, want ErrLocator", err)
	}
}

// The length of a locator is that of the field: the greatest one has all its bits set.
func TestLocatorBits(t *testing.T) {
	for _, c := range layouts {
		if got := LocatorBits(c.Format, c.Dialect); 1<<got-1 != int(newDomain(t, c).MaxLocator()) || got > MaxLocatorBits {
			t.Errorf("%v %v: %d bits, the greatest locator is %d", c.Format, c.Dialect, got, newDomain(t, c).MaxLocator())
		}
	}
	if got := LocatorBits(FormatNone, UEC050); got != 0 {
		t.Errorf("without tags: %d bits, want 0", got)
	}
}
