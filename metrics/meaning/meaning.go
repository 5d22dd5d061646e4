// Package meaning is what comparisons and reports know of a metric of a run: its unit, and in
// which direction it improves. The catalogue of orchestrator/run/measure says so; what reads run
// folders alone is given an Of.
package meaning

import "strings"

// Better is the direction in which a metric improves.
type Better int

// Directions. Many counts are neither good nor bad.
const (
	Neutral Better = iota
	Lower
	Higher
)

// String returns lower or higher; "" for Neutral.
func (b Better) String() string { return [...]string{Neutral: "", Lower: "lower", Higher: "higher"}[b] }

// Meaning of a metric.
type Meaning struct {
	Unit   string // for people, such as µs, Gb/s, packets; empty: a bare number
	Better Better
	Single bool // of one flow, one port or one switch
	// Machine: it is about the machine that runs, not about the model, and differs from run to
	// run of the same seed.
	Machine bool
}

// Of returns the meaning of a metric by its name, QUANTITY[.STATISTIC][.SUBJECT].
type Of func(metric string) Meaning

// suffixes are the units that the end of a quantity's name says.
var suffixes = []struct{ suffix, unit string }{
	{"_us", "µs"}, {"_ns", "ns"}, {"_ms", "ms"}, {"_seconds", "s"}, {"_gbps", "Gb/s"}, {"_kb", "kB"}, {"_bytes", "B"}, {"_ppm", "ppm"}, {"_percent", "%"},
	{"packets", "packets"}, {"postcards", "packets"}, {"weights", "packets"}, {"trims", "packets"}, {"drops", "packets"}, {"marks", "packets"}, {"flows", "flows"},
}

// UnitOf returns the unit that the end of a metric's quantity says; "" if it says none.
func UnitOf(metric string) string {
	quantity, _, _ := strings.Cut(metric, ".")
	for _, s := range suffixes {
		if strings.HasSuffix(quantity, s.suffix) {
			return s.unit
		}
	}
	return ""
}

// SignalUnit says in which unit results have the values of a type of CSIG signal.
type SignalUnit struct {
	Suffix string  // of the quantity; "": a number or a share
	Per    float64 // units of the values in tags and tables that one of results has
	Share  bool
}

// SignalUnits is by the unit of values in tags and tables: csig.Unit as text.
var SignalUnits = map[string]SignalUnit{
	"": {Per: 1}, "B": {Suffix: "_kb", Per: 1e3}, "B/s": {Suffix: "_gbps", Per: 1e9 / 8}, "ppm": {Per: 1e6, Share: true}, "ns": {Suffix: "_us", Per: 1e3},
}
