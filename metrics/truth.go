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

// Encloses reports whether an exact value, in the unit of HopValue, lies in the interval that
// the sample's code stands for. The ends of the interval are whole units, of which values are
// the rest of a division.
func (s *TaggedSample) Encloses(value int64) bool {
	return value >= 1000*s.Value.Low && (s.Value.High == Absent || value < 1000*(s.Value.High+1))
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
	_ Table `name:"truth" schema:"TruthRow" doc:"A row is a sample of a packet that 'telemetry.truth' has chosen, beside its [truth](#signal-truth). csiglab makes it of the records of the sender, or of the switch where the domain ends, and of the hops, when the run has ended. Rows of a run are in order of time."`
	TaggedSample
	_       Column     `column:"flow" from:"Flow" as:"int32" doc:"number of the flow"`
	_       Column     `column:"flow_name,dict" names:"Flow.Name" doc:"its name"`
	_       Column     `column:"src_name,dict" names:"Flow.Source" doc:"host that sends"`
	_       Column     `column:"dst_name,dict" names:"Flow.Destination" doc:"host that receives"`
	_       Column     `column:"time_us" from:"At" unit:"us" doc:"when the sample was read"`
	_       Column     `column:"packet" from:"Packet" doc:"sequence number in the flow, from 0, of the packet that brought it"`
	_       Column     `column:"transmission" from:"Transmission" doc:"of this packet, from 1"`
	_       Column     `column:"type,dict" names:"Signal" doc:"signal: 'abw', 'abw-c', 'delay' or 'nqd'"`
	_       Column     `column:"format,dict,optional" names:"Locator.Format" doc:"of the tag, as in 'signals.parquet'; null as there"`
	_       Column     `column:"code" from:"Code" doc:"as in the tag"`
	_       Column     `column:"point" from:"TaggedSample.Value.Point" unit:"the type's" doc:"the decoded value, in the unit of 'signals.parquet'"`
	_       Column     `column:"low" from:"TaggedSample.Value.Low" unit:"the type's" doc:"lower end of the interval that the code stands for"`
	_       Column     `column:"high,optional" from:"TaggedSample.Value.High" unit:"the type's" doc:"upper end; null if there is none"`
	_       Column     `column:"locator" from:"Locator" as:"int32" doc:"as in 'signals.parquet'"`
	_       Column     `column:"shared" names:"Locator.Shared" unit:"ports" doc:"that have this locator, as in 'signals.parquet'"`
	_       Column     `column:"port_name,dict,optional" names:"Locator.PortName" doc:"port of the locator; null if several ports share it, and of locator 0"`
	Worst   int64      `column:"truth" over:"1000" unit:"the type's" doc:"worst of the exact values"` // in the unit of HopValue
	Node    int32      `column:"worst_node" doc:"number of the switch that had it"`
	_       Column     `column:"worst_node_name,dict" names:"Node.Name" doc:"its name"`
	Port    int32      `column:"worst_port" doc:"number of its port"`
	_       Column     `column:"worst_port_name,dict" names:"Port.Name" doc:"name of the port"`
	_       Column     `column:"worst_rate_bps,dict" names:"Port.Rate" unit:"bits/s" doc:"of the port's link"`
	Left    units.Time `column:"left_us" unit:"us" doc:"when the packet began to leave this port"`
	Hops    int32      `column:"hops" unit:"ports" doc:"that the packet crossed with the tag"`
	Named   Named      `column:"named,dict" doc:"'worst': the locator is that of the worst hop; 'other': it is another's; 'none': no hop has written the tag"`
	Updates bool       `column:"updates" doc:"the worst hop writes into tags of this type"`
	Inside  bool       `column:"inside" doc:"the truth is between 'low' and 'high'"`
	// AtUse is of the values that chosen packets last met at the same ports before the
	// sample was read; Absent where one of the ports had no later packet than this one.
	AtUse int64  `column:"truth_at_use,optional" over:"1000" unit:"the type's" doc:"worst of the values at the time when the sample was read; null if that is not known"`
	_     Column `column:"age_us,optional" from:"Age" unit:"us" doc:"from when the packet was sent to when the sample was read; null at the end of a domain in a switch"`
}

var _ = table[Truth]()

func (t *Truth) appendTo(b *Batch) { keep(b, t) }
