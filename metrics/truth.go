package metrics

import (
	"math/bits"

	"github.com/csiglab/csiglab/units"
)

// TruthChoice says of which data packets the truth is recorded: one of every so many, by
// flow and sequence number alone, so that all hops and the sender choose the same. 0 is
// none, 1 all.
type TruthChoice int64

// Has reports whether a packet is chosen. It is asked only where there is a choice.
func (c TruthChoice) Has(flow, packet uint32) bool {
	return c == 1 || c > 1 && uint64(uint32(truthHash(flow, packet)))%uint64(c) == 0
}

// truthHash spreads packets evenly, whatever distance there is between those whose tags
// come back.
func truthHash(flow, packet uint32) uint64 {
	hi, lo := bits.Mul64((uint64(flow)<<32|uint64(packet))^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	hi, lo = bits.Mul64(hi^lo, 0xa0761d6478bd642f)
	return hi ^ lo
}

// TruthLevel returns how many times the chosen packets may be halved before this one is
// left out. It has nothing to do with TruthChoice.Has.
func TruthLevel(flow, packet uint32) int {
	return bits.TrailingZeros32(uint32(truthHash(flow, packet) >> 32))
}

// MaxHopValues is how many values of hops a run keeps until its end, when they are joined
// with the samples. When there are more, half of the packets are left out, again and again;
// which ones does not depend on the order in which the records come.
const MaxHopValues = 2_000_000

// HopValue is the exact value that one egress port of a switch had when a tagged data
// packet, which TruthChoice has chosen, left it: what the tag's signal says without windows
// and codes.
type HopValue struct {
	Flow, Packet uint32
	Transmission uint8 // of the packet, from 1
	Type         uint8 // csig signal type
	Hop          uint8 // number of the switch on the packet's way, from 1
	Last         bool  // the port leads to a host
	Updates      bool  // the port writes into tags of this type; otherwise it leaves them alone
	Ends         bool  // the tag ends here
	Node, Port   int32
	At           units.Time
	Value        int64 // in thousandths of the type's unit: mB/s, thousandths of a ppm, ps
}

func (h *HopValue) appendTo(b *Batch) { b.Hops = append(b.Hops, *h) }

// TaggedSample is the CSIG sample that a chosen packet brought to its reader.
type TaggedSample struct {
	Flow, Packet uint32
	Transmission uint8
	Type         uint8
	Hop          uint8  // number of the switch where the domain ends; 0: the sample is of the whole way
	Code         uint32 // as in the tag
	Value        Reading
	Locator      uint32
	At           units.Time     // when it was read
	Age          units.Duration // since the packet was sent; Absent
}

func (s *TaggedSample) appendTo(b *Batch) { b.Tagged = append(b.Tagged, *s) }

// Named says which port a sample names, compared with the worst hop of its packet.
type Named uint8

// What a sample names: the worst hop, or ports that have its locator; another one; or, of
// a tag that no hop has written, none.
const (
	NamedWorst Named = iota
	NamedOther
	NamedNone
)

var namedNames = [...]string{"worst", "other", "none"}

// String returns worst, other or none.
func (n Named) String() string { return namedNames[n] }

// Truth is a sample beside the truth: the worst of the exact values of the hops, when its
// packet left them. No machine emits it: it is computed from HopValue and TaggedSample, and
// is written like these when the run has ended.
type Truth struct {
	TaggedSample
	Worst      int64 // in the unit of HopValue
	Node, Port int32 // of the worst hop, the first of equal ones
	Left       units.Time
	Hops       int32 // that the packet crossed with the tag
	Named      Named
	Updates    bool // the worst hop writes into tags of this type
	// AtUse is the worst of the values that chosen packets last met at the same ports before
	// the sample was read; Absent where one of the ports had no later packet than this one.
	AtUse int64
}

func (t *Truth) appendTo(b *Batch) { b.Truths = append(b.Truths, *t) }

// Inside reports whether the truth lies in the interval that the sample's code stands for.
// The ends of the interval are whole units, of which values are the rest of a division.
func (t *Truth) Inside() bool {
	low, high := t.TaggedSample.Value.Low, t.TaggedSample.Value.High
	return t.Worst >= 1000*low && (high == Absent || t.Worst < 1000*(high+1))
}
