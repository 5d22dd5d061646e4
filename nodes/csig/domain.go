// Package csig is the congestion signalling tag: its two formats and dialects,
// the four signals with their quantisers, the compare-and-update rule of a hop,
// locators, and the domain's configuration that all nodes must share.
//
// It measures nothing (nodes/switch/meter does) and decides neither which
// packets get a tag (hosts do) nor what a sample means to congestion control.
// Hosts and switches call a Domain with the bytes of a tag.
package csig

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Defaults of Config. The TPIDs are the local experimental EtherTypes of IEEE
// 802, since none is assigned to CSIG; FBOSS has 0x9900, an example of SAI 0xCCDD. The sources name
// intervals of 256, 128 and 100 us.
const (
	DefaultTPIDCompact uint16 = 0x88b5
	DefaultTPIDWide    uint16 = 0x88b6
	DefaultInterval           = 128 * units.Microsecond
	DefaultMaxRate            = 800 * units.Gbps
)

// Config is a domain's configuration. The zero value of each field is its
// default; the zero Config is a domain without tags.
type Config struct {
	Format                Format
	Dialect               Dialect        // default uec-0.50
	TPIDCompact, TPIDWide uint16         // default 0x88B5 and 0x88B6
	Interval              units.Duration // window t of ABW and ABW/C; default 128us
	// MaxRate is the fastest link's rate, Cmax of the default quantiser for
	// ABW; default 800Gbps.
	MaxRate    units.Rate
	Quantisers [Types]Quantiser // by type, for the chosen format
	Decode     DecodeMode       // default auto
	TrimRule   TrimRule         // default force_local
	// OverrideD lists the types that hops update in spite of the D bit
	// (docs/reference/references.md#open-choices); default none.
	OverrideD [Types]bool
	Locators  LocatorConfig
	// Second is of the tags of the other format, if the fabric carries both; nil: it carries
	// one.
	Second *SecondFormat
}

// Domain holds what every node of a CSIG domain must agree on, compiled for
// the packet path. It is immutable after NewDomain and safe for concurrent use.
// No method that takes a packet's bytes allocates.
type Domain struct {
	config Config // with every default filled in
	scheme *Scheme
	second *Domain // of the other format; nil: the fabric has one
	// quantisers have their edges or steps filled in. They are in order of type, as are bands
	// and linear, and end with the last known type.
	quantisers []Quantiser
	size       int // of a tag; noTag without tags, so that every buffer is too short
	tpid       uint16
	wide       bool
	lmShift    uint8
	lmMask     uint16
	dMask      uint16 // D bit of the word that holds the locator; 0 in draft-01
	trim       TrimRule
	overrideD  [Types]bool
	bands      []bands  // compact
	linear     []linear // wide
}

const noTag = math.MaxInt

// ErrTPID reports a TPID that cannot be used for a tag.
var ErrTPID = errors.New("unusable TPID")

// reservedTPIDs have a meaning already: IPv4, ARP, C-tag, IPv6, flow control,
// S-tag, LLDP, MACsec, old double tags.
var reservedTPIDs = []uint16{0x0800, 0x0806, 0x8100, 0x86dd, 0x8808, 0x88a8, 0x88cc, 0x88e5, 0x9100}

// ReservedTPID reports whether an EtherType means another protocol already, so that
// no tag can have it.
func ReservedTPID(tpid uint16) bool { return slices.Contains(reservedTPIDs, tpid) }

// NewDomain checks a configuration, fills in its defaults and compiles it. The
// caller keeps c; its slices are copied. Wrong TPIDs wrap ErrTPID, wrong
// quantisers ErrQuantiser, wrong locators ErrLocator.
func NewDomain(c Config) (*Domain, error) {
	if c.TPIDCompact == 0 {
		c.TPIDCompact = DefaultTPIDCompact
	}
	if c.TPIDWide == 0 {
		c.TPIDWide = DefaultTPIDWide
	}
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.MaxRate == 0 {
		c.MaxRate = DefaultMaxRate
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("csig: %w", err)
	}
	d := &Domain{size: noTag, trim: c.TrimRule, overrideD: c.OverrideD}
	d.setLayout(c.Format, c.Dialect)
	d.quantisers = make([]Quantiser, End())
	switch c.Format {
	case FormatCompact:
		d.tpid, d.bands = c.TPIDCompact, make([]bands, End())
	case FormatWide:
		d.tpid, d.wide, d.linear = c.TPIDWide, true, make([]linear, End())
	}
	for _, t := range KnownTypes() {
		q, err := c.Quantisers[t].resolve(&definitions[t].Signal, c.Format, c.MaxRate)
		if err != nil {
			return nil, fmt.Errorf("csig: quantiser of %v: %w", t, err)
		}
		d.quantisers[t], c.Quantisers[t] = q, q
		if q.Name != "" {
			c.Quantisers[t] = Quantiser{Name: q.Name}
		}
		switch mode := q.mode(t, c.Decode); c.Format {
		case FormatCompact:
			d.bands[t] = newBands(q, t, mode)
		case FormatWide:
			d.linear[t] = newLinear(q, t, mode)
		}
	}
	scheme, err := newScheme(&c.Locators, c.Format, d.MaxLocator())
	if err != nil {
		return nil, fmt.Errorf("csig: locators: %w", err)
	}
	if c.Second != nil {
		if d.second, err = newSecond(c); err != nil {
			return nil, err
		}
		c.Second = &SecondFormat{d.second.config.Quantisers, d.second.config.Locators}
	}
	d.config, d.scheme = c, scheme
	return d, nil
}

// DecodeMode returns how the codes of a type are decoded: what DecodeAuto stands for, if
// that is configured.
func (d *Domain) DecodeMode(t Type) DecodeMode { return d.quantisers[t].mode(t, d.config.Decode) }

func (c *Config) check() error {
	switch {
	case c.Format > FormatWide:
		return fmt.Errorf("format %d: unknown", c.Format)
	case c.Dialect > Draft01:
		return fmt.Errorf("dialect %d: unknown", c.Dialect)
	case c.TrimRule > TrimNone:
		return fmt.Errorf("trim rule %d: unknown", c.TrimRule)
	case c.Decode > DecodeGeometric:
		return fmt.Errorf("decode mode %d: unknown", c.Decode)
	case c.Interval < 0:
		return fmt.Errorf("interval %v: must be positive", c.Interval)
	case c.MaxRate < 8:
		return fmt.Errorf("max rate %v: must be positive", c.MaxRate)
	case c.TPIDCompact == c.TPIDWide:
		return fmt.Errorf("tpid_compact and tpid_wide are both 0x%04X: %w", c.TPIDWide, ErrTPID)
	}
	for t := range Types {
		if c.OverrideD[t] && c.Dialect == Draft01 {
			return fmt.Errorf("override of D for %v: dialect %v has no D bit", t, c.Dialect)
		}
	}
	for _, f := range []struct {
		key   string
		value uint16
	}{{"tpid_compact", c.TPIDCompact}, {"tpid_wide", c.TPIDWide}} {
		if f.value < 0x0600 {
			return fmt.Errorf("%s 0x%04X: %w: below 0x0600 it is a length", f.key, f.value, ErrTPID)
		}
		if ReservedTPID(f.value) {
			return fmt.Errorf("%s 0x%04X: %w: this EtherType means another protocol", f.key, f.value, ErrTPID)
		}
	}
	return nil
}

// Config returns the configuration with its defaults filled in; NewDomain makes
// the same domain of it. Its slices are the domain's own: callers must not
// change them.
func (d *Domain) Config() Config { return d.config }

// Format returns the format of the domain's tags.
func (d *Domain) Format() Format { return d.config.Format }

// Dialect returns the dialect of the domain's tags.
func (d *Domain) Dialect() Dialect { return d.config.Dialect }

// Interval returns the window t over which ABW and ABW/C are measured.
func (d *Domain) Interval() units.Duration { return d.config.Interval }

// TPID returns the EtherType of the domain's tags, 0 without tags.
func (d *Domain) TPID() uint16 { return d.tpid }

// MaxLocator returns the greatest locator that fits into a tag: 63 or 127 in
// compact tags, 32767 or 65535 in wide ones, 0 without tags.
func (d *Domain) MaxLocator() uint16 { return d.lmMask >> d.lmShift }

// Quantise returns what a tag of type t says, once a hop has written the value: the
// range of its code and the point that stands for it. The sample has no locator. Without
// tags, and for an unknown type, it is zero.
func (d *Domain) Quantise(t Type, value uint64) Sample {
	s := Sample{Format: d.config.Format, Type: t}
	switch {
	case !t.Known() || d.size == noTag:
	case d.wide:
		d.linear[t].decode(d.linear[t].code(value), &s)
	default:
		b := &d.bands[t]
		b.decode(uint16(b.code[b.rankOf(value)]), &s)
	}
	return s
}

// Quantiser returns the quantiser of a known type with its edges or its step filled in. Its
// slices are the domain's own.
func (d *Domain) Quantiser(t Type) Quantiser { return d.quantisers[t] }

// Locators returns the scheme that labels ports.
func (d *Domain) Locators() *Scheme { return d.scheme }

// Init writes a fresh tag of type t, TPID included, into the first
// Format().Size() bytes of b: the initial value of the type, locator 0, D and
// reserved bits 0. t must be known; without tags Init does nothing.
func (d *Domain) Init(b []byte, t Type) {
	if d.size == noTag {
		return
	}
	if !t.Known() {
		panic("csig: Init with an unknown type")
	}
	binary.BigEndian.PutUint16(b, d.tpid)
	if !d.wide {
		binary.BigEndian.PutUint16(b[2:], uint16(t)<<typeShift|uint16(initCode(t.Min(), 5))<<signalShift)
		return
	}
	binary.BigEndian.PutUint16(b[2:], 0)
	binary.BigEndian.PutUint32(b[4:], uint32(t)<<wideTypeShift|initCode(t.Min(), 20)<<wideSignalShift)
}

// Peek reads the type and the D bit of the tag that begins at b[0], so that a
// switch computes only the signal that is asked for. The type may be unknown;
// it is InvalidType when b holds no tag of the domain's format.
func (d *Domain) Peek(b []byte) (t Type, doNotUpdate bool) {
	if len(b) < d.size || binary.BigEndian.Uint16(b) != d.tpid {
		return InvalidType, false
	}
	word := binary.BigEndian.Uint16(b[2:])
	if d.wide {
		return Type(b[4] >> 4), word&d.dMask != 0
	}
	return Type(word >> typeShift), word&d.dMask != 0
}

// Update is the compare-and-update of one hop (docs/reference/references.md#hop-update): it
// quantises value, in the raw unit of the tag's type, and overwrites signal and
// locator when the code is strictly worse than the tag's. Of equal codes the
// first hop's stays. D and reserved bits never change. locator must not exceed
// MaxLocator, its excess bits are lost, and should not be 0, which means "never
// updated".
func (d *Domain) Update(b []byte, value uint64, locator uint16) Outcome {
	if len(b) < d.size || binary.BigEndian.Uint16(b) != d.tpid {
		return Unknown
	}
	word := binary.BigEndian.Uint16(b[2:])
	if d.wide {
		return d.updateWide(b, word, value, locator)
	}
	t := Type(word >> typeShift)
	if !t.Known() {
		return Unknown
	}
	if word&d.dMask != 0 && !d.overrideD[t] {
		return Frozen
	}
	q := &d.bands[t]
	held := q.rank[word>>signalShift&signalMask]
	if held == noRank {
		return Unknown
	}
	local := q.rankOf(value)
	if t.Min() && local >= held || !t.Min() && local <= held {
		return Kept
	}
	d.writeCompact(b, word, q.code[local], locator)
	return Updated
}

func (d *Domain) updateWide(b []byte, word uint16, value uint64, locator uint16) Outcome {
	word2 := binary.BigEndian.Uint32(b[4:])
	t := Type(word2 >> wideTypeShift)
	if !t.Known() {
		return Unknown
	}
	if word&d.dMask != 0 && !d.overrideD[t] {
		return Frozen
	}
	held, local := word2>>wideSignalShift&wideSignalMask, d.linear[t].code(value)
	if t.Min() && local >= held || !t.Min() && local <= held {
		return Kept
	}
	d.writeWide(b, word, word2, local, locator)
	return Updated
}

func (d *Domain) writeCompact(b []byte, word uint16, code uint8, locator uint16) {
	word = word&^(signalMask<<signalShift|d.lmMask) | uint16(code)<<signalShift | locator<<d.lmShift&d.lmMask
	binary.BigEndian.PutUint16(b[2:], word)
}

func (d *Domain) writeWide(b []byte, word uint16, word2, code uint32, locator uint16) {
	binary.BigEndian.PutUint16(b[2:], word&^d.lmMask|locator<<d.lmShift&d.lmMask)
	binary.BigEndian.PutUint32(b[4:], word2&^(wideSignalMask<<wideSignalShift)|code<<wideSignalShift)
}

// Trim applies the domain's trim rule at the hop that trims the packet and sets
// D if the dialect has it. value and locator are as in Update. A tag that
// Update would answer with Frozen or Unknown is left alone.
func (d *Domain) Trim(b []byte, value uint64, locator uint16) {
	t, frozen := d.Peek(b)
	if !t.Known() || frozen && !d.overrideD[t] {
		return
	}
	word := binary.BigEndian.Uint16(b[2:])
	if !d.wide && d.bands[t].rank[word>>signalShift&signalMask] == noRank {
		return
	}
	switch {
	case d.trim == TrimMeasured:
		d.Update(b, value, locator)
	case d.trim == TrimForceLocal && d.wide:
		d.writeWide(b, word, binary.BigEndian.Uint32(b[4:]), d.linear[t].worst, locator)
	case d.trim == TrimForceLocal:
		d.writeCompact(b, word, d.bands[t].worst, locator)
	}
	binary.BigEndian.PutUint16(b[2:], binary.BigEndian.Uint16(b[2:])|d.dMask)
}

// Sample is what a tag says about its path: the extremum of the signal lies in
// [Low, High], both in the raw unit of the type.
type Sample struct {
	Format Format
	Type   Type
	Code   uint32 // as in the tag
	Low    uint64
	High   uint64 // inclusive; math.MaxUint64 when the code has no upper edge
	Point  uint64 // the value by the domain's decode mode
	// Locator names the port that wrote the value; 0 if none did, so that the
	// value is the initial one.
	Locator uint16
	// DoNotUpdate reports that the packet was trimmed: the value may be forced
	// and must not feed a delay or headroom loop (docs/reference/references.md#trimming-and-d).
	DoNotUpdate bool
	// Saturated reports that the code also stands for values beyond the
	// quantiser's range. Point is then taken as if the range went on evenly.
	Saturated bool
	// Untouched reports that no hop has written the tag: it holds its initial value,
	// which is also the code of the best range. It is a measurement only where it is
	// known that every hop of the path updates the type (Measured).
	Untouched bool
}

// Ends returns the ends of the interval that a sample of the domain stands for, both
// inclusive, in the raw unit of its type. high is -1 if the code has no upper edge. Of
// available bandwidth there is none above the fastest link's rate.
func (d *Domain) Ends(s *Sample) (low, high int64) {
	low = int64(s.Low)
	switch {
	case s.High <= math.MaxInt64:
		return low, int64(s.High)
	case s.Type == ABW:
		return low, max(low, int64(d.config.MaxRate/8))
	}
	return low, -1
}

// Measured reports whether the sample says something about the path, on which
// every hop updates the type if covered is true. An untouched tag does so only
// there: no hop had a value outside of the best range.
func (s Sample) Measured(covered bool) bool { return covered || !s.Untouched }

// Decode reads the tag that begins at b[0]. It answers false for bytes that are
// no tag of the domain, for an unknown type, and for a code that no hop of the
// domain writes, such as an initial value outside of the quantiser's codes:
// nothing was measured, and absence is not headroom. Whether an untouched tag is
// a sample depends on the path; callers ask Sample.Measured.
func (d *Domain) Decode(b []byte) (Sample, bool) {
	t, frozen := d.Peek(b)
	if !t.Known() {
		return Sample{}, false
	}
	word := binary.BigEndian.Uint16(b[2:])
	s := Sample{Format: d.config.Format, Type: t, DoNotUpdate: frozen, Locator: word & d.lmMask >> d.lmShift}
	var ok bool
	if d.wide {
		ok = d.linear[t].decode(binary.BigEndian.Uint32(b[4:])>>wideSignalShift&wideSignalMask, &s)
	} else {
		ok = d.bands[t].decode(word>>signalShift&signalMask, &s)
	}
	if !ok {
		return Sample{}, false
	}
	s.Untouched = s.Locator == 0
	return s, true
}

// DecodeEcho is Decode of a tag without its TPID, as packets echo it, of either format of
// the domain; false for another length.
func (d *Domain) DecodeEcho(echo []byte) (Sample, bool) {
	var tag [8]byte
	switch {
	case len(echo) != 0 && len(echo)+2 == d.size:
	case d.second != nil:
		return d.second.DecodeEcho(echo)
	default:
		return Sample{}, false
	}
	binary.BigEndian.PutUint16(tag[:], d.tpid)
	return d.Decode(tag[:2+copy(tag[2:], echo)])
}
