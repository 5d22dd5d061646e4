package csig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
)

// Format is the shape of a domain's tags. The zero value is FormatNone: the
// domain has no tags.
type Format uint8

// Formats of tag.
const (
	FormatNone    Format = iota
	FormatCompact        // TPID and 2 bytes: 5 bits of signal
	FormatWide           // TPID and 6 bytes: 20 bits of signal
)

// Size returns the bytes of a tag, TPID included: 0, 4 or 8.
func (f Format) Size() int { return int(f) * 4 }

// String returns none, compact or wide.
func (f Format) String() string { return name(formatNames, int(f), "format") }

var formatNames = []string{"none", "compact", "wide"}

// Names returns the names that ParseFormat reads, in the order of their values.
func (Format) Names() []string { return slices.Clone(formatNames) }

// UnmarshalText implements encoding.TextUnmarshaler: a name of Names.
func (f *Format) UnmarshalText(text []byte) error {
	return spelling.Enum(f, "format", text, formatNames)
}

// ParseFormat reads none, compact or wide; empty text is none.
func ParseFormat(text string) (Format, error) {
	i, err := parseName("format", text, formatNames)
	return Format(i), err
}

// Dialect is the revision of the tag's layout. The zero value is UEC050.
type Dialect uint8

// Dialects. The D bit of UEC050 is the lowest bit of the locator of Draft01, so that a domain must
// not mix them (docs/reference/references.md#open-choices): with the wrong dialect every odd locator
// looks trimmed.
const (
	UEC050  Dialect = iota // locator of 6 or 15 bits, then the D bit
	Draft01                // locator of 7 or 16 bits, no D bit
)

// String returns uec-0.50 or draft-01.
func (d Dialect) String() string { return name(dialectNames, int(d), "dialect") }

var dialectNames = []string{"uec-0.50", "draft-01"}

// Names returns the names that ParseDialect reads, in the order of their values.
func (Dialect) Names() []string { return slices.Clone(dialectNames) }

// ParseDialect reads uec-0.50 or draft-01; empty text is uec-0.50.
func ParseDialect(text string) (Dialect, error) {
	i, err := parseName("dialect", text, dialectNames)
	return Dialect(i), err
}

// UnmarshalText implements encoding.TextUnmarshaler: a name of Names.
func (d *Dialect) UnmarshalText(text []byte) error {
	return spelling.Enum(d, "dialect", text, dialectNames)
}

// Type is the signal that a tag carries (docs/reference/references.md#signal-types).
type Type uint8

// Types of signal and the unit of their raw values. Modules register others (Register).
const (
	ABW      Type = iota // minimum over the path of the available bandwidth, bytes/s
	ABWC                 // minimum of the available share of a port, ppm
	Delay                // maximum of the per-hop delay, ns
	NQD                  // maximum of the normalised queue depth, ppm
	Standard             // number of these types
)

// Types is the number of types that compact tags can have, of which modules may register
// those from Standard on. It is the length of arrays by type.
const Types Type = 8

// InvalidType is what Peek returns for bytes that are no tag of the domain.
const InvalidType Type = 0xff

// Min reports whether hops keep the smallest value; otherwise they keep the
// greatest.
func (t Type) Min() bool { return minTypes&t.bit() != 0 }

// Known reports whether t is one of the four types, or one that a module has registered.
func (t Type) Known() bool { return knownTypes&t.bit() != 0 }

// String returns abw, abw-c, delay, nqd or the name that a module has given.
func (t Type) String() string {
	if t.Known() {
		return definitions[t].Name
	}
	return fmt.Sprintf("type%d", uint8(t))
}

// TrimRule is what the hop that trims a packet writes into its tag before it
// sets D. The zero value is TrimForceLocal.
type TrimRule uint8

// Trim rules; no source says what the hop writes (docs/reference/references.md#trimming-and-d). With
// the worst code the locator names the place of the trim. Controllers take such a sample for a loss,
// not for a delay or headroom.
const (
	TrimForceLocal TrimRule = iota // the worst code of the type and the hop's locator
	TrimMeasured                   // its value, if worse than the tag's
	TrimNone                       // nothing
)

// String returns force_local, measured or none.
func (r TrimRule) String() string { return name(trimNames, int(r), "trim rule") }

var trimNames = []string{"force_local", "measured", "none"}

// Names returns the names, in the order of their values.
func (TrimRule) Names() []string { return slices.Clone(trimNames) }

// UnmarshalText implements encoding.TextUnmarshaler: a name of Names.
func (r *TrimRule) UnmarshalText(text []byte) error {
	return spelling.Enum(r, "trim rule", text, trimNames)
}

// DecodeMode is which point of a code's interval stands for it. The zero value
// is DecodeAuto.
type DecodeMode uint8

// Decode modes.
const (
	// DecodeAuto is lower for ABW, so that headroom is never overstated;
	// geometric for the table delay-geo; midpoint for everything else.
	DecodeAuto DecodeMode = iota
	DecodeMidpoint
	DecodeLower
	// DecodeGeometric is the geometric mean of the edges; the midpoint where
	// the lower edge is 0.
	DecodeGeometric
)

// String returns auto, midpoint, lower or geometric.
func (m DecodeMode) String() string { return name(decodeNames, int(m), "decode mode") }

var decodeNames = []string{"auto", "midpoint", "lower", "geometric"}

// Names returns the names, in the order of their values.
func (DecodeMode) Names() []string { return slices.Clone(decodeNames) }

// UnmarshalText implements encoding.TextUnmarshaler: a name of Names.
func (m *DecodeMode) UnmarshalText(text []byte) error {
	return spelling.Enum(m, "decode mode", text, decodeNames)
}

// Outcome is what Update did to a tag.
type Outcome uint8

// Outcomes of Update.
const (
	Updated  Outcome = iota // the hop's value and locator replaced the tag's
	Kept                    // the tag's value is as bad or worse
	Frozen                  // the D bit forbids updates
	Unknown                 // unknown type, code or TPID: forwarded unchanged
	Outcomes                // number of outcomes
)

// String returns updated, kept, frozen or unknown.
func (o Outcome) String() string { return name(outcomeNames, int(o), "outcome") }

var outcomeNames = []string{"updated", "kept", "frozen", "unknown"}

func name(names []string, i int, what string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s%d", strings.ReplaceAll(what, " ", ""), i)
}

// parseName returns the position of text in names, ignoring case; empty text is
// the first.
func parseName(what, text string, names []string) (int, error) {
	if text == "" {
		return 0, nil
	}
	for i, n := range names {
		if strings.EqualFold(n, text) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s %q: unknown; use %s", what, text, choices(names))
}

func choices(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
