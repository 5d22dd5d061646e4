package csig

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// Tier is a switch's level as a locator holds it. The zero value is TierToR.
type Tier uint8

// Tiers (docs/reference/references.md#locators).
const (
	TierToR   Tier = iota // or leaf
	TierAgg               // or spine
	TierCore              //
	TierOther             // outside of a tree
)

// String returns tor, agg, core or other.
func (t Tier) String() string { return name(tierNames, int(t), "tier") }

var tierNames = []string{"tor", "agg", "core", "other"}

// Direction is where an egress port leads.
type Direction uint8

// Directions; Up is away from the hosts.
const (
	Up Direction = iota
	Down
)

// String returns up or down.
func (d Direction) String() string { return name(directionNames, int(d), "direction") }

var directionNames = []string{"up", "down"}

// Place is an egress port of a switch, as locators describe it.
type Place struct {
	Switch int // number of the switch in its tier, from 0
	Port   int // number of the port, from 1
	Peer   int // number of the node it leads to; what it counts is the caller's
	Tier   Tier
	Dir    Direction
	Rate   units.Rate
}

// LastHop reports whether the port leads to a host.
func (p Place) LastHop() bool { return p.Tier == TierToR && p.Dir == Down }

// MaxLocatorBits is the length of the longest locator.
const MaxLocatorBits = 16

// LocatorBits returns the length of the locator in a tag: 6 or 7 bits in compact tags,
// 15 or 16 in wide ones, 0 without tags.
func LocatorBits(f Format, d Dialect) int {
	var layout Domain
	layout.setLayout(f, d)
	if f == FormatNone {
		return 0
	}
	return bits.OnesCount16(layout.lmMask)
}

// SchemeKind is how ports get their locators. The zero value is Structured.
type SchemeKind uint8

// Kinds of scheme.
const (
	Structured SchemeKind = iota // fields: tier, direction, switch, port
	Registry                     // arbitrary labels and a table of what they mean
)

// String returns structured or registry.
func (k SchemeKind) String() string { return name(schemeNames, int(k), "scheme") }

var schemeNames = []string{"structured", "registry"}

// Names returns the names, in the order of their values.
func (SchemeKind) Names() []string { return slices.Clone(schemeNames) }

// UnmarshalText implements encoding.TextUnmarshaler: a name of Names.
func (k *SchemeKind) UnmarshalText(text []byte) error {
	return spelling.Enum(k, "locator scheme", text, schemeNames)
}

// Widths are the bits of the fields of a structured locator, the tier in the
// most significant ones.
type Widths struct {
	Tier, Dir, Switch, Port int
}

// Label is one line of a registry.
type Label struct {
	Locator uint16
	Place   Place
}

// LocatorConfig chooses a scheme. The zero value is structured with the widths
// tier, direction, switch, port of 2 1 0 3 (compact) or 2 1 7 5 (wide); the
// draft-01 dialect's extra bit goes to the port.
type LocatorConfig struct {
	Kind   SchemeKind
	Widths Widths
	// Labels are the lines of a registry. Without any, ports are numbered from
	// 1 in the order in which Assign gets them.
	Labels []Label
}

// ErrLocator reports a locator configuration, or a port, that cannot be used.
var ErrLocator = errors.New("unusable locator")

// Scheme gives ports their locators. Locator 0 means "never updated" and
// belongs to no port. It is immutable.
type Scheme struct {
	kind   SchemeKind
	widths Widths
	max    uint16
	labels []Label // of a registry, by locator
}

// newScheme checks c and fills in its defaults.
func newScheme(c *LocatorConfig, f Format, maximum uint16) (*Scheme, error) {
	if c.Kind > Registry {
		return nil, fmt.Errorf("scheme %d: unknown", c.Kind)
	}
	if f == FormatNone {
		return &Scheme{}, nil
	}
	width := bits.Len16(maximum)
	if c.Kind == Registry {
		return newRegistry(c, maximum)
	}
	if len(c.Labels) > 0 {
		return nil, fmt.Errorf("%w: labels belong to the registry scheme", ErrLocator)
	}
	w := &c.Widths
	if *w == (Widths{}) {
		*w = Widths{Tier: 2, Dir: 1, Port: width - 3}
		if f == FormatWide {
			*w = Widths{Tier: 2, Dir: 1, Switch: 7, Port: width - 10}
		}
	}
	switch {
	case w.Tier < 0 || w.Dir < 0 || w.Dir > 1 || w.Switch < 0:
		return nil, fmt.Errorf("%w: widths %+v", ErrLocator, *w)
	case w.Port < 1:
		return nil, fmt.Errorf("%w: widths %+v: the port needs a bit, it keeps locators different from 0", ErrLocator, *w)
	case w.Tier+w.Dir+w.Switch+w.Port != width:
		return nil, fmt.Errorf("%w: widths %+v: sum %d, must be %d", ErrLocator, *w, w.Tier+w.Dir+w.Switch+w.Port, width)
	}
	return &Scheme{widths: *w, max: maximum}, nil
}

func newRegistry(c *LocatorConfig, maximum uint16) (*Scheme, error) {
	if c.Widths != (Widths{}) {
		return nil, fmt.Errorf("%w: widths belong to the structured scheme", ErrLocator)
	}
	labels := slices.Clone(c.Labels)
	slices.SortStableFunc(labels, func(a, b Label) int { return cmp.Compare(a.Locator, b.Locator) })
	for i, l := range labels {
		switch {
		case l.Locator == 0:
			return nil, fmt.Errorf("%w: label 0 of %s means \"never updated\"", ErrLocator, l.Place)
		case l.Locator > maximum:
			return nil, fmt.Errorf("%w: label %d of %s is above %d", ErrLocator, l.Locator, l.Place, maximum)
		case i > 0 && l.Locator == labels[i-1].Locator:
			return nil, fmt.Errorf("%w: label %d stands for %s and for %s", ErrLocator, l.Locator, labels[i-1].Place, l.Place)
		}
	}
	c.Labels = labels
	return &Scheme{kind: Registry, max: maximum, labels: labels}, nil
}

// String names the port for messages and reports.
func (p Place) String() string {
	return fmt.Sprintf("%v switch %d port %d (%v)", p.Tier, p.Switch, p.Port, p.Dir)
}

// Locator returns the locator of one port. A port whose numbers do not fit into
// the fields, and one without a label in the registry, wraps ErrLocator.
func (s *Scheme) Locator(p Place) (uint16, error) {
	if s.kind == Registry {
		for _, l := range s.labels {
			if l.Place.Tier == p.Tier && l.Place.Switch == p.Switch && l.Place.Port == p.Port {
				return l.Locator, nil
			}
		}
		return 0, fmt.Errorf("%w: %v has no label", ErrLocator, p)
	}
	if s.max == 0 {
		return 0, fmt.Errorf("%w: the domain has no tags", ErrLocator)
	}
	w := s.widths
	for _, f := range []struct {
		what               string
		value, least, most int
	}{
		{"tier", int(p.Tier), 0, 1<<w.Tier - 1}, {"direction", int(p.Dir), 0, 1<<w.Dir - 1},
		{"switch", p.Switch, 0, 1<<w.Switch - 1}, {"port", p.Port, 1, 1<<w.Port - 1},
	} {
		// A field without bits is left out on purpose.
		if (f.most > 0 && f.value > f.most) || f.value < f.least {
			return 0, fmt.Errorf("%w: %v: %s %d is outside of %d to %d", ErrLocator, p, f.what, f.value, f.least, f.most)
		}
	}
	return s.pack(p), nil
}

func (s *Scheme) pack(p Place) uint16 {
	w := s.widths
	field := func(locator, value, width int) int { return locator<<width | value&(1<<width-1) }
	v := field(0, int(p.Tier), w.Tier)
	v = field(v, int(p.Dir), w.Dir)
	v = field(v, p.Switch, w.Switch)
	return uint16(field(v, p.Port, w.Port))
}

// Assign gives every egress port of a fabric its locator, 0 for all without
// tags. Where numbers do not fit into the fields of a structured scheme they are
// folded: the switch's modulo 2^width, the port's onto 1 to 2^width-1, so that
// ports share locators but tier and direction stay true. Directory.Shared returns
// how many. A registry with labels must have one for every port; one without
// must have room for all. Otherwise the error wraps ErrLocator.
func (s *Scheme) Assign(places []Place) (*Directory, error) {
	d := &Directory{Locators: make([]uint16, len(places)), ports: make(map[uint16][]Place)}
	if s.kind == Registry && len(s.labels) == 0 && len(places) > int(s.max) {
		return nil, fmt.Errorf("csig: %w: %d ports, but a tag has room for %d locators", ErrLocator, len(places), s.max)
	}
	if s.max == 0 { // no tags, no locators
		return d, nil
	}
	for i, p := range places {
		switch {
		case p.Switch < 0 || p.Port < 1:
			return nil, fmt.Errorf("csig: %w: %v: switches count from 0, ports from 1", ErrLocator, p)
		case s.widths.Tier > 0 && int(p.Tier) >= 1<<s.widths.Tier:
			return nil, fmt.Errorf("csig: %w: %v: the tier does not fit into %d bits", ErrLocator, p, s.widths.Tier)
		}
		locator := uint16(i + 1)
		if s.kind == Structured {
			folded := p
			folded.Port = 1 + (p.Port-1)%(1<<s.widths.Port-1)
			locator = s.pack(folded)
		} else if len(s.labels) > 0 {
			var err error
			if locator, err = s.Locator(p); err != nil {
				return nil, fmt.Errorf("csig: %w", err)
			}
		}
		d.Locators[i] = locator
		d.ports[locator] = append(d.ports[locator], p)
	}
	return d, nil
}

// LocatorSet is a set of locators, as Domain.Label gives them: bit l%64 of word l/64 is set
// for locator l. It is plain data, and nil is the empty set.
type LocatorSet []uint64

// Add puts a locator in the set.
func (s *LocatorSet) Add(locator uint32) {
	for len(*s) <= int(locator/64) {
		*s = append(*s, 0)
	}
	(*s)[locator/64] |= 1 << (locator % 64)
}

// Has reports whether a locator is in the set.
func (s LocatorSet) Has(locator uint32) bool {
	return int(locator/64) < len(s) && s[locator/64]>>(locator%64)&1 != 0
}

// Remove takes a locator out of the set.
func (s LocatorSet) Remove(locator uint32) {
	if s.Has(locator) {
		s[locator/64] &^= 1 << (locator % 64)
	}
}

// Directory is the locators of a fabric's ports.
type Directory struct {
	Locators []uint16 // by port, in the order given to Assign
	ports    map[uint16][]Place
}

// Ports returns the ports that have a locator, in the order given to Assign;
// nil for an unknown one. It is the directory's own.
func (d *Directory) Ports(locator uint16) []Place { return d.ports[locator] }

// Shared returns the number of ports whose locator another port has too.
func (d *Directory) Shared() int {
	n := 0
	// order: a count
	for _, p := range d.ports {
		if len(p) > 1 {
			n += len(p)
		}
	}
	return n
}
