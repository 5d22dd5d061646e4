package csig

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/units"
)

// Signal is a type of signal that a module adds. T 4 to 7 are reserved in the sources
// (docs/reference/references.md#signal-types); what they mean is for those who build the fabric.
type Signal struct {
	Name string // in experiments, tables and reports: lower-case letters, digits and -
	Doc  string // one line, which csiglab list prints
	Type Type   // T in the tag: 4 to 7
	Min  bool   // hops keep the smallest value, and otherwise the greatest
	Unit Unit   // of raw values
	// Compact and Wide are the default quantisers by format, as Quantiser.Name has them.
	Compact, Wide string
	// Windowed says that the value is of an interval (csig.interval) and not of one moment.
	// A sample is then used until it is older than two intervals (csig.max_age is for
	// the others).
	Windowed bool
	// Heavy is the raw value from which on reports call a port heavily loaded: values beyond
	// it, or at most it with Min. 0 without Min: every value but 0.
	Heavy uint64
	// Value returns the raw value of a switch port for a packet that leaves by it. It must
	// not keep its argument, draws nothing at random and has no memory: the same inputs
	// give the same value.
	Value func(in *Inputs) uint64
	// Module is the Go module that has registered the signal. Register sets it.
	Module string
}

// Inputs are what a port of a switch knows when a packet leaves by it. Bytes are of wire
// sizes. The sums are of the last interval of csig.interval that has closed, by the windows
// of csig.meter and csig.phase, and count a packet when it begins to leave, is cut or is
// dropped.
type Inputs struct {
	Rate      units.Rate     // of the port
	Available uint64         // bytes/s, as in tags of ABW
	Interval  units.Duration // that the sums are of

	Sent        units.Size // of all packets that the port has sent
	TrimmedSent units.Size // of those, the packets that are trimmed, here or at a hop before
	Trimmed     units.Size // that were cut off packets which the port has trimmed
	Dropped     units.Size // of packets for the port that found no room

	Size      units.Size     // of the packet
	Queue     units.Size     // in the packet's data queue, that of its class if there are classes; without the packet
	Limit     units.Size     // of that queue; units.NoLimit if there is none
	Residence units.Duration // of the packet, as csig.delay says: what tags of Delay hold
	Waited    units.Duration // of the packet in the port's queue
}

// Unit is the unit of the raw values of a type of signal.
type Unit uint8

// Units. Values of PPM go from 0 to one million; the others have no limit.
const (
	Count Unit = iota // things, such as packets
	Bytes
	BytesPerSecond
	PPM // parts per million
	Nanoseconds
	unitCount
)

// String returns the symbol of the unit, "" of Count.
func (u Unit) String() string { return name(unitNames, int(u), "unit") }

var unitNames = []string{"", "B", "B/s", "ppm", "ns"}

// definition is what the package itself needs to know of a type.
type definition struct {
	Signal
	own bool // a module has registered it
}

// definitions has the types by T; one without a name is unknown. It grows in init functions
// only, through Register.
var definitions = [Types]definition{
	ABW:   {Signal: Signal{Name: "abw", Doc: "least bandwidth of a port that is free", Type: ABW, Min: true, Unit: BytesPerSecond, Windowed: true}},
	ABWC:  {Signal: Signal{Name: "abw-c", Doc: "least share of a port's rate that is free", Type: ABWC, Min: true, Unit: PPM, Windowed: true}},
	Delay: {Signal: Signal{Name: "delay", Doc: "greatest delay of a hop", Type: Delay, Unit: Nanoseconds}},
	NQD:   {Signal: Signal{Name: "nqd", Doc: "greatest normalised depth of a queue", Type: NQD, Unit: PPM}},
}

// knownTypes and minTypes have a bit for each type in definitions: whether it is known, and
// whether hops keep the smallest value. The packet path reads them instead of the table.
var knownTypes, minTypes uint16 = 1<<ABW | 1<<ABWC | 1<<Delay | 1<<NQD, 1<<ABW | 1<<ABWC

// bit is what a type selects in knownTypes and minTypes; nothing above 15.
func (t Type) bit() uint16 { return 1 << t }

// Register adds a type of signal. It is for the init functions of modules that csiglab
// build compiles in (docs/how-to/extend.md). A signal whose name or T is taken, or that lacks
// something, is not added; csiglab and the node programs then say so and do not start
// (modules.Check).
func Register(s Signal) {
	var ok bool
	if s.Module, ok = modules.Register(modules.Caller(1), "signals", s.Name, s.Lacks()); ok {
		definitions[s.Type] = definition{Signal: s, own: true}
		knownTypes |= s.Type.bit()
		if s.Min {
			minTypes |= s.Type.bit()
		}
	}
}

// Lacks returns what a signal lacks, in sentences that say where it goes. It asks for a
// few values; Register adds no signal that lacks something.
func (s Signal) Lacks() (lacks []string) {
	lack := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	if !algorithm.Identifier(s.Name, '-') {
		lack("Signal.Name is %q; experiment files name a signal by lower-case letters, digits and -, such as queue-bytes", s.Name)
	} else if t, err := ParseType(s.Name); err == nil && !definitions[t].own || s.Name == "all" {
		lack("csiglab has this name itself: give the signal another Signal.Name")
	}
	if s.Doc == "" {
		lack("%s has no doc: set Signal.Doc to one line, which csiglab list prints", s.Name)
	}
	switch {
	case s.Type < Standard || s.Type >= Types:
		lack("Signal.Type of %s is %d: want a T from %d to %d; those below are csiglab's own, and a compact tag has three bits for T", s.Name, uint8(s.Type), uint8(Standard), uint8(Types)-1)
	case s.Type.Known():
		other := &definitions[s.Type]
		lack("Signal.Type of %s is %d, which is that of %s of module %s: give one of the two another T, from %d to %d", s.Name, uint8(s.Type), other.Name, other.Module, uint8(Standard), uint8(Types)-1)
	}
	if s.Unit >= unitCount {
		lack("Signal.Unit of %s is %d: want csig.Count, Bytes, BytesPerSecond, PPM or Nanoseconds", s.Name, uint8(s.Unit))
	} else {
		for _, of := range []struct {
			field, text string
			format      Format
		}{{"Compact", s.Compact, FormatCompact}, {"Wide", s.Wide, FormatWide}} {
			if of.text == "" {
				lack("Signal.%s of %s is empty: name the quantiser of %v tags, such as %s", of.field, s.Name, of.format, s.Unit.example(of.format))
			} else if _, err := (Quantiser{Name: of.text}).resolve(&s, of.format, DefaultMaxRate); err != nil {
				lack("Signal.%s of %s: %v", of.field, s.Name, err)
			}
		}
	}
	if s.Value == nil {
		lack("%s has no Value: set Signal.Value to a function that returns the value of a port", s.Name)
	} else if wrong := s.panics(); wrong != "" {
		lack("Signal.Value of %s panics: %s", s.Name, wrong)
	}
	return lacks
}

// panics asks for the values of an idle port and of a busy one. It returns with what Value
// panics, "" if it does not.
func (s Signal) panics() (wrong string) {
	defer func() {
		if p := recover(); p != nil {
			wrong = fmt.Sprint(p)
		}
	}()
	idle := Inputs{Rate: 100 * units.Gbps, Available: 12_500_000_000, Interval: DefaultInterval, Limit: units.NoLimit, Size: 64}
	busy := Inputs{
		Rate: 100 * units.Gbps, Interval: DefaultInterval, Sent: 1600 * units.KB, TrimmedSent: 64 * units.KB, Trimmed: 400 * units.KB, Dropped: 64 * units.KB,
		Size: 4150, Queue: 400 * units.KB, Limit: 400 * units.KB, Residence: 40 * units.Microsecond, Waited: 39 * units.Microsecond,
	}
	s.Value(&idle)
	s.Value(&busy)
	return ""
}

// example returns a quantiser for values of the unit.
func (u Unit) example(f Format) string {
	step := [unitCount]string{"64", "64B", "1Mbps", "64ppm", "64ns"}[u]
	if f == FormatCompact {
		return "geo(" + step + ")"
	}
	return "linear(" + step + ")"
}

// Value returns the raw value of a port for a packet, of a type that a module has
// registered.
func (t Type) Value(in *Inputs) uint64 { return definitions[t].Value(in) }

// Definition returns what is known of a type, which must be known. Those of csiglab itself
// have neither quantisers, which depend on Config, nor Value, which the switch has.
func (t Type) Definition() Signal { return definitions[t].Signal }

// Windowed reports whether values of the type are of an interval and not of one moment.
func (t Type) Windowed() bool { return definitions[t].Windowed }

// KnownTypes returns the types that are known, in ascending order.
func KnownTypes() []Type {
	var types []Type
	for t := range Types {
		if t.Known() {
			types = append(types, t)
		}
	}
	return types
}

// Registered returns the types that modules have registered, in ascending order.
func Registered() []Type { return KnownTypes()[Standard:] }

// End returns the type after the last known one: the length of tables by type that are made
// while a program runs. With Types they would have room for types that most programs do not
// know.
func End() Type {
	end := Types
	for !(end - 1).Known() {
		end--
	}
	return end
}

// TypeNames returns the name of each type of signal, in the order of their values, up to the
// last known one. One that is not known is type4.
func TypeNames() []string {
	var names []string
	for t := range End() {
		names = append(names, t.String())
	}
	return names
}

// KnownNames returns the names of the known types, in the order of their values.
func KnownNames() []string {
	var names []string
	for _, t := range KnownTypes() {
		names = append(names, t.String())
	}
	return names
}

var typeAliases = map[string]Type{"abwc": ABWC, "abw/c": ABWC}

// ParseType reads the name of a known type, such as abw, also with the aggregation in front
// (min-abw, max-delay). Case does not matter.
func ParseType(text string) (Type, error) {
	lower := strings.ToLower(text)
	if t, ok := typeAliases[lower]; ok {
		return t, nil
	}
	for _, t := range KnownTypes() {
		if lower == definitions[t].Name || lower == t.aggregation()+"-"+definitions[t].Name {
			return t, nil
		}
	}
	if text == "" {
		return 0, fmt.Errorf("signal type: none given; use %s", choices(KnownNames()))
	}
	return 0, fmt.Errorf("signal type %q: unknown; use %s", text, choices(KnownNames()))
}

// UnmarshalText implements encoding.TextUnmarshaler by ParseType.
func (t *Type) UnmarshalText(text []byte) error {
	parsed, err := ParseType(string(text))
	if err == nil {
		*t = parsed
	}
	return err
}

// aggregation returns min or max.
func (t Type) aggregation() string {
	if t.Min() {
		return "min"
	}
	return "max"
}
