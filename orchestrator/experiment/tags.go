package experiment

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/pipeline"
	"github.com/csiglab/csiglab/workloads/traffic"
	"github.com/csiglab/csiglab/workloads/training"
)

// The tags of a field say all that csiglab knows of a key of the experiment file. The decoder,
// csiglab list, csiglab schema and docs/reference/experiment.md read them.
//
//	Queue units.Size `yaml:"queue" is:"queue or auto" default:"auto" doc:"data queue of a switch port"`
//
//   - yaml is the name of the key. Words behind it: "required"; "short", the value of this key may
//     stand in place of the mapping around it; "owner", which is short, and another value drops the
//     other keys of the mapping.
//   - is says which values there are: a word of the vocabulary, such as "rate"; bounds, "2 to 160" or
//     "1 or more"; names, "up|down". Behind it may stand a word for a value besides, "or auto": of a
//     number this word is 0, or "or never as -1". For a list, it says what its items are. Without it,
//     the type decides: an enumeration has its Names, a number is 0 or more.
//   - default is the value of a key that is not given, as in the file; of a list its items,
//     separated by blanks.
//   - doc is one line. What stands between 'quotes' is code.
//   - unless names the keys of which one may stand in place of a required one.

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
	table    *choice               // of the name of an algorithm
}

// allows reports whether the rule accepts a text that is one of no enumeration.
func (r Rule) allows(text string) bool {
	return (r.parse == nil || r.parse(text) == nil) && (r.pattern == nil || r.pattern().MatchString(text))
}

func between[T ~int | ~int64](low, high T) Rule { return Rule{min: int64(low), max: int64(high)} }

func oneOf(names func() []string) Rule { return Rule{enum: names} }

func matching(pattern, want string) Rule { return Rule{pattern: lazy.Regexp(pattern), want: want} }

func parsedBy[T any](parse func(string) (T, error)) Rule {
	return Rule{parse: func(text string) error { _, err := parse(text); return err }}
}

// Bounds of values. A value outside of them is a typing error rather than an
// experiment: 100 Tbps is 60 times the rate of the fastest Ethernet port, and a
// link of 1 s would be 200000 km long.
const (
	minRate     = units.Mbps
	maxRate     = 100 * units.Tbps
	maxDelay    = units.Second
	maxQueue    = 100 * units.GB
	maxLength   = 24 * units.Hour // of a run
	maxTransfer = 1000 * units.TB
	maxHosts    = 1 << 20
	maxPorts    = 4096
	maxJobs     = 1 << 20
	maxWeight   = math.MaxUint8 // of a signal, see csig.Weights
	maxTruth    = 1_000_000
	maxSteps    = 1_000_000 // of a job
)

// vocabulary has the words of is.
var vocabulary = map[string]Rule{
	// Rates, times and sizes.
	"rate":         between(minRate, maxRate),
	"local rate":   between(minRate, 1000*units.Tbps), // within a server
	"frame rate":   between(units.Kbps, maxRate),
	"link delay":   between(units.Nanosecond, maxDelay),
	"delay":        between(0, maxDelay),
	"time":         between(0, maxLength),
	"span":         between(units.Nanosecond, maxLength),
	"compute time": between(units.Picosecond, maxLength),
	"payload":      between(units.Byte, maxTransfer),
	"some payload": between(0, maxTransfer),
	"queue":        between(256*units.Byte, maxQueue),
	"threshold":    between(units.Byte, maxQueue),
	"frame":        between(generator.MinSize, 65000*units.Byte),
	"packet":       between(576*units.Byte, 65000*units.Byte), // RFC 791 §3.1: what every IPv4 host takes

	// Numbers.
	"host":         between(0, maxHosts),
	"hosts":        between(1, maxHosts),
	"ports":        between(1, maxPorts),
	"job":          between(0, maxJobs),
	"step":         between(0, maxSteps),
	"steps":        between(1, maxSteps),
	"weight":       between(1, maxWeight),
	"dscp":         between(0, maxDSCP),
	"frames":       between(1, maxFrames),
	"paths":        between(1, maxPaths),
	"transfers":    between(1, workloads.MaxTransfers),
	"channels":     between(1, 64), // of a collective
	"chunks":       between(1, pipeline.MaxChunks),
	"stages":       between(2, pipeline.MaxStages),
	"microbatches": between(1, pipeline.MaxMicrobatches),
	"model size":   between(1, training.MaxSize),
	"one in":       between(1, maxTruth),
	"disk":         between(units.Size(1e6), units.Size(1e12)),
	"locator":      between(1, 1<<csig.MaxLocatorBits-1),
	"locator bits": between(0, csig.MaxLocatorBits),
	"port bits":    between(1, csig.MaxLocatorBits), // it keeps locators different from 0

	// Names.
	"runtime":              oneOf(runtimes.Names),
	"clock":                oneOf(runtimes.Clocks),
	"signal":               oneOf(signals),
	"signal or all":        oneOf(func() []string { return append([]string{"all"}, signals()...) }),
	"port policy":          oneOf(dataplane.Policies),
	"tag format":           oneOf(tagFormats),
	"tag format or all":    oneOf(func() []string { return append([]string{allFormats}, tagFormats()...) }),
	"loop":                 oneOf(Loops),
	"trace hash":           oneOf(func() []string { return []string{traceHashFull, traceHashNone} }),
	"placement":            oneOf(func() []string { return placements }),
	"order":                oneOf(func() []string { return orders }),
	"fault direction":      oneOf(func() []string { return FaultDirections }),
	"fault buffers":        oneOf(func() []string { return FaultBuffers }),
	"event":                oneOf(metrics.EventNames),
	"fault":                oneOf(FaultKinds),
	"model":                oneOf(modelPresets),
	"profile":              oneOf(profilePresets),
	"setting":              oneOf(stressNames),
	"size distribution":    oneOf(traffic.PublishedNames),
	"all-reduce algorithm": oneOf(allReduceAlgorithms),

	// Texts.
	"name":             matching(`^[a-z0-9-]{1,64}$`, "up to 64 of a-z 0-9 and -"),
	"group":            matching(`^[a-z][a-z0-9_-]{0,63}$`, "up to 64 of a-z 0-9 _ and -, the first a letter"),
	"job name":         matching(`^[a-z][a-z0-9-]{0,63}$`, "up to 64 of a-z 0-9 and -, the first a letter"),
	"metric":           matching(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`, "letters, digits and _, such as fairness_ratio"),
	"node":             {parse: topologies.CheckName},
	"link":             matching(`^[A-Za-z0-9._-]+(:[0-9]+)?-[A-Za-z0-9._-]+$`, "the name of a link, such as tor0-agg0"),
	"switch":           matching(`^[A-Za-z0-9._-]{1,64}$`, "a switch's name, such as tor0"),
	"switch pattern":   matching(`^[A-Za-z0-9*._-]{1,64}$`, "a switch's name or a pattern with *, such as tor0 or agg*"),
	"links pattern":    matching(faultPlace, "the name of a link or a pattern with *, such as tor0-agg0 or agg*-core*"),
	"switches pattern": matching(faultPlace, "the name of a switch or a pattern with *, such as agg0 or agg*"),
	"hosts pattern":    matching(faultPlace, "the name of a host or a pattern with *, such as h0 or h*"),
	"nodes pattern":    matching(faultPlace, "the name of a host or a switch or a pattern with *, such as tor0 or h1*"),
	"flow":             {parse: checkFlowPattern},
	"host range":       parsedBy(func(text string) ([]int, error) { return ParseHosts([]string{text}, maxHosts) }),
	"seed":             {parse: checkSeed},
	"init":             {parse: func(text string) error { _, _, err := ParseInit(text); return err }},
	"sampling":         parsedBy(csig.ParseSampling),
	"trace format":     {parse: checkFormat},
	"image":            matching(`^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$`, "the name of an image, such as iperf3:1"),
	"command":          matching(`\S`, "a command line"),

	// Files. A relative name is taken from the folder of the experiment file.
	"file":            {file: true},
	"file or nothing": {file: true, noFile: true}, // so that an override can take it back
	"file or folder":  {file: true, packed: true},
}

const faultPlace = `^[a-z0-9._*:-]{1,136}$`

// signals returns the types of signal, also those of modules, the default of csig.signal
// first.
func signals() []string {
	names := csig.KnownNames()
	i := slices.Index(names, csig.Delay.String())
	return slices.Concat(names[i:i+1], names[:i], names[i+1:])
}

// tagFormats returns the formats that tags have.
func tagFormats() []string { return csig.FormatNone.Names()[1:] }

// allReduceAlgorithms returns the names of the algorithms of an all-reduce, auto first.
func allReduceAlgorithms() []string {
	names := []string{collective.Auto.String()}
	for _, a := range collective.AlgorithmsOf(collective.AllReduce) {
		names = append(names, a.String())
	}
	return names
}

// newRule reads the tag is of a field of type t. Its error is about the tag.
func newRule(is string, t reflect.Type) (r Rule, err error) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if r, err = parseRule(is, t); err == nil {
		err = r.suits(t)
	}
	return r, err
}

// parseRule reads the tag is of values of type t.
func parseRule(is string, t reflect.Type) (r Rule, err error) {
	if is == "" {
		if names, ok := reflect.New(t).Interface().(interface{ Names() []string }); ok {
			r.enum = names.Names
		}
		return r, nil
	}
	if r, ok := vocabulary[is]; ok {
		return r, nil
	}
	if i := slices.IndexFunc(choices, func(c choice) bool { return c.name() == is }); i >= 0 {
		return Rule{table: &choices[i]}, nil
	}
	if names := strings.Split(is, "|"); len(names) > 1 {
		return oneOf(func() []string { return names }), nil
	}
	word, special, besides := "", int64(0), false
	if i := strings.LastIndex(is, " or "); i >= 0 && is[i:] != " or more" {
		is, word = is[:i], is[i+len(" or "):]
		if word, besides = strings.CutSuffix(word, " as -1"); besides {
			special = -1
		}
	}
	r, known := vocabulary[is]
	if !known {
		low, high, ok := strings.Cut(is, " to ")
		if !ok {
			low, ok = strings.CutSuffix(is, " or more")
		}
		if !ok {
			return r, fmt.Errorf("is:%q is no word of the vocabulary, and neither bounds nor names", is)
		}
		r.hex = strings.HasPrefix(low, "0x")
		if r.min, err = bound(low, t); err == nil && high != "" {
			r.max, err = bound(high, t)
		}
	}
	r.word, r.special = word, special
	return r, err
}

// suits returns an error if the decoder cannot hold values of type t to the rule.
func (r Rule) suits(t reflect.Type) error {
	v, bounded := reflect.New(t).Elem(), r.min != 0 || r.max != 0
	switch {
	case r.word != "" && !v.CanInt(), bounded && !v.CanInt() && v.Kind() != reflect.Uint16:
		return fmt.Errorf("is has bounds or a word besides, which values of %v cannot have; check them in Check", t)
	case bounded || r.enum != nil || readsText(t):
		return nil
	}
	switch v.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Float32:
		return fmt.Errorf("values of %v are not read without bounds; use int, uint64 or float64", t)
	}
	return nil
}

// bound reads a bound of values of type t.
func bound(text string, t reflect.Type) (int64, error) {
	v := reflect.New(t).Elem()
	err := between(int64(math.MinInt64), math.MaxInt64).read(text, v)
	switch {
	case err != nil:
		return 0, err
	case v.CanInt():
		return v.Int(), nil
	case v.Kind() == reflect.Uint16:
		return int64(v.Uint()), nil
	}
	return 0, fmt.Errorf("values of %v have no bounds; check them in Check", t)
}
