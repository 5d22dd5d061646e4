package experiment

import (
	"math"
	"regexp"

	"github.com/csiglab/csiglab/units"
)

// Rule is what a value must satisfy beyond its type. The zero value allows every
// text and every number from 0.
type Rule struct {
	min, max int64                 // of numbers and of values with a unit; max 0 is no bound
	word     string                // text that stands for special, such as auto for 0
	special  int64                 // value that word stands for, besides the range
	enum     func() []string       // the only texts allowed; nil: any
	pattern  func() *regexp.Regexp // that a text must match
	want     string                // the pattern in words
	parse    func(string) error    // that must accept a text; nil: any
	file     bool                  // a file name, taken from the folder of the experiment
	packed   bool                  // the file may be packed, and may be a folder
	noFile   bool                  // "" stands for no file
	hex      bool                  // printed as 0x...
}

// allows reports whether the rule accepts a text that is one of no enumeration.
func (r Rule) allows(text string) bool {
	return (r.parse == nil || r.parse(text) == nil) && (r.pattern == nil || r.pattern().MatchString(text))
}

// Between allows the numbers from low to high, both included. A high of 0 is no
// bound.
func Between[T ~int | ~int64](low, high T) Rule { return Rule{min: int64(low), max: int64(high)} }

// Or returns the rule with a word that stands for the value 0, such as auto.
func (r Rule) Or(word string) Rule {
	r.word, r.special = word, 0
	return r
}

// OneOf allows these texts and no others.
func OneOf(values ...string) Rule { return Rule{enum: func() []string { return values }} }

// oneOfTable allows the names of a table, to which packages that import this one add
// entries when the program starts.
func oneOfTable(names func() []string) Rule { return Rule{enum: names} }

// InputFile asks for the name of a regular file that can be read. A relative name
// is taken from the folder of the experiment file.
func InputFile() Rule { return Rule{file: true} }

// OrNone returns the rule of a file with "" for no file, so that an override can take it back.
func (r Rule) OrNone() Rule {
	r.noFile = true
	return r
}

// InputPath asks for the name of a file or folder as InputFile does. The file may be
// compressed.
func InputPath() Rule { return Rule{file: true, packed: true} }

// Bounds of values. A value outside of them is a typing error rather than an
// experiment: 100 Tbps is 60 times the rate of the fastest Ethernet port, and a
// link of 1 s would be 200000 km long.
const (
	minRate     = units.Mbps
	maxRate     = 100 * units.Tbps
	minDelay    = units.Nanosecond
	maxDelay    = units.Second
	maxQueue    = 100 * units.GB
	maxLength   = 24 * units.Hour  // of a run
	minMTU      = 576 * units.Byte // what every IPv4 host takes (RFC 791 §3.1)
	maxTransfer = 1000 * units.TB
	maxHosts    = 1 << 20
	maxPorts    = 4096
	maxJobs     = 1 << 20
	maxWeight   = math.MaxUint8 // of a signal, see csig.Weights
	maxTruth    = 1_000_000
	maxSteps    = 1_000_000 // of a job
	maxLocal    = 1000 * units.Tbps

	maxRanksPerHost = 64
)
