package experiment

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
)

// rule is what a value must satisfy beyond its type.
type rule struct {
	min, max int64          // of numbers and of values with a unit; max 0 is no bound
	word     string         // text that stands for special, such as auto for 0
	special  int64          // value that word stands for, besides the range
	enum     []string       // the only texts allowed
	pattern  *regexp.Regexp // that a text must match
	want     string         // the pattern in words
	file     bool           // a file name, taken from the folder of the experiment
	hex      bool           // printed as 0x...
}

var (
	namePattern   = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	initPattern   = regexp.MustCompile(`^(every|none|1/[1-9][0-9]{0,8}|probe/[1-9][0-9]{0,8}(ns|us|ms))$`)
	imagePattern  = regexp.MustCompile(`^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$`)
	metricPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	signals       = []string{"delay", "abw", "abw-c", "nqd"}
)

func between[T ~int64](low, high T) rule { return rule{min: int64(low), max: int64(high)} }

func auto[T ~int64](low, high T) rule {
	return rule{min: int64(low), max: int64(high), word: "auto"}
}

func oneOf(values ...string) rule { return rule{enum: values} }

// The bounds are what separates a typing error from an experiment: a rate of
// 100 Tbps is 60 times the fastest Ethernet port, a link of 1 s goes twice to
// the moon.
const (
	minRate   = units.Mbps
	maxRate   = 100 * units.Tbps
	minDelay  = units.Nanosecond
	maxDelay  = units.Second
	maxQueue  = 100 * units.GB
	maxLength = 24 * units.Hour  // of a run
	minMTU    = 576 * units.Byte // what every IPv4 host takes (RFC 791 §3.1)
)

// rules has the constraints of the values by path; [] stands for an index.
var rules = map[string]rule{
	"schema":      {min: Schema, max: Schema},
	"name":        {pattern: namePattern, want: "up to 64 of a-z 0-9 and -"},
	"end":         auto(units.Nanosecond, maxLength),
	"measure.to":  auto(units.Nanosecond, maxLength),
	"runtime":     oneOf("inproc", "netns", "containerlab"),
	"clock":       oneOf("virtual", "lockstep", "wall"),
	"seeds[]":     {min: 0},
	"expect[]":    {},
	"description": {},

	"wall.dilation": {min: 1, max: 1_000_000_000, word: "auto"},

	"measure.from":       between(0, maxLength),
	"telemetry.interval": between(units.Microsecond, maxDelay),
	"capture[]":          {pattern: regexp.MustCompile(`^[a-z0-9-]+(:[0-9]+)?-[a-z0-9-]+$`), want: "the name of a link, such as tor0-agg0"},

	"topology.file":                            {file: true},
	"topology.fat_tree.hosts":                  {min: 2, max: 1 << 20},
	"topology.fat_tree.pod":                    {min: 1, max: 1 << 20},
	"topology.fat_tree.tiers[].down":           {min: 1, max: 4096},
	"topology.fat_tree.tiers[].up":             {min: 0, max: 4096},
	"topology.fat_tree.tiers[].oversubscribed": {min: 1, max: 4096, word: "auto"},
	"topology.fat_tree.tiers[].bundle":         {min: 1, max: 4096},
	"topology.fat_tree.tiers[].rate":           between(minRate, maxRate),
	"topology.fat_tree.tiers[].delay":          between(minDelay, maxDelay),
	"topology.fat_tree.tiers[].switch_delay":   between(0, maxDelay),

	"topology.k_ary.k":                   {min: 2, max: 160},
	"topology.k_ary.rate":                between(minRate, maxRate),
	"topology.k_ary.delay":               between(minDelay, maxDelay),
	"topology.k_ary.switch_delay":        between(0, maxDelay),
	"topology.leaf_spine.leaves":         {min: 1, max: 4096},
	"topology.leaf_spine.spines":         {min: 1, max: 4096},
	"topology.leaf_spine.hosts_per_leaf": {min: 1, max: 4096},
	"topology.leaf_spine.bundle":         {min: 1, max: 4096},
	"topology.leaf_spine.rate":           between(minRate, maxRate),
	"topology.leaf_spine.spine_rate":     auto(minRate, maxRate),
	"topology.leaf_spine.delay":          between(minDelay, maxDelay),
	"topology.leaf_spine.switch_delay":   between(0, maxDelay),
	"topology.dragonfly.p":               {min: 1, max: 4096},
	"topology.dragonfly.a":               {min: 1, max: 4096},
	"topology.dragonfly.h":               {min: 1, max: 4096},
	"topology.dragonfly.groups":          {min: 2, max: 1 << 20, word: "auto"},
	"topology.dragonfly.rate":            between(minRate, maxRate),
	"topology.dragonfly.global_rate":     auto(minRate, maxRate),
	"topology.dragonfly.delay":           between(minDelay, maxDelay),
	"topology.dragonfly.global_delay":    auto(minDelay, maxDelay),
	"topology.dragonfly.switch_delay":    between(0, maxDelay),

	"links.mtu":           between(256*units.Byte, 65000*units.Byte),
	"links.header":        between(16*units.Byte, 1024*units.Byte),
	"links.queue":         auto(256*units.Byte, maxQueue),
	"links.control_queue": auto(256*units.Byte, maxQueue),
	"links.ecn.low":       auto(units.Byte, maxQueue),
	"links.ecn.high":      auto(units.Byte, maxQueue),

	"csig.format":         oneOf("none", "compact", "wide"),
	"csig.dialect":        oneOf("uec-0.50", "draft-01"),
	"csig.tpid_compact":   {min: 0x0600, max: math.MaxUint16, hex: true},
	"csig.tpid_wide":      {min: 0x0600, max: math.MaxUint16, hex: true},
	"csig.signal":         oneOf(signals...),
	"csig.interval":       between(100*units.Nanosecond, maxDelay),
	"csig.meter":          oneOf("tumbling", "sliding"),
	"csig.delay":          oneOf("residence", "wait"),
	"csig.nqd":            oneOf("occupancy", "drain"),
	"csig.decode":         oneOf("auto", "midpoint", "lower", "geometric"),
	"csig.trim_rule":      oneOf("force_local", "measured", "none"),
	"csig.init":           {pattern: initPattern, want: "every, none, 1/N (one packet in N) or probe/INTERVAL, such as probe/20us"},
	"csig.ports[].switch": {pattern: regexp.MustCompile(`^[a-z0-9*-]{1,64}$`), want: "a switch's name or a pattern with *, such as tor0 or agg*"},
	"csig.ports[].port":   {min: 0, max: 1 << 16, word: "all", special: -1},
	"csig.ports[].type":   oneOf(append([]string{"all"}, signals...)...),
	"csig.ports[].policy": oneOf("update", "pass", "strip", "terminate"),

	"hosts.ack_every": between(units.Byte, units.GB),
	"hosts.min_rto":   auto(units.Microsecond, 10*units.Second),

	"workload.file":                {file: true},
	"workload.start_unit":          oneOf("auto", "ps", "us"),
	"workload.transfers[].src":     {min: 0, max: 1 << 20},
	"workload.transfers[].dst":     {min: 0, max: 1 << 20},
	"workload.transfers[].size":    between(units.Byte, 1000*units.TB),
	"workload.transfers[].start":   between(0, maxLength),
	"workload.permutation.size":    between(units.Byte, 1000*units.TB),
	"workload.permutation.seed":    {min: 0},
	"workload.incast.dst":          {min: 0, max: 1 << 20},
	"workload.incast.fan_in":       {min: 1, max: 1 << 20},
	"workload.incast.size":         between(units.Byte, 1000*units.TB),
	"workload.all_to_all.size":     between(units.Byte, 1000*units.TB),
	"workload.all_to_all.parallel": {min: 1, max: 1 << 20, word: "all"},
	"workload.all_to_all.hosts":    {min: 2, max: 1 << 20, word: "all"},
	"workload.start_jitter":        between(0, maxDelay),
	"workload.control_delay":       auto(minDelay, maxDelay),

	"applications.hosts[]":          {min: 0, max: 1 << 20},
	"applications.signals[]":        oneOf(signals...),
	"applications.queue":            auto(256*units.Byte, maxQueue),
	"applications.mtu":              between(minMTU, 65000*units.Byte),
	"applications.image":            {pattern: imagePattern, want: "the name of an image, such as iperf3:1"},
	"applications.programs[].host":  {min: 0, max: 1 << 20},
	"applications.programs[].run":   {pattern: regexp.MustCompile(`\S`), want: "a command line"},
	"applications.programs[].start": between(0, maxLength),

	"derived[].name": {pattern: metricPattern, want: "letters, digits and _, such as fairness_ratio"},
}

// required are the keys that have no default. The path of the mapping comes
// first.
var required = map[string][]string{
	"":                          {"schema", "name", "topology", "workload"},
	"topology.fat_tree":         {"hosts", "pod", "tiers"},
	"topology.fat_tree.tiers[]": {"down", "rate", "delay"},
	"topology.k_ary":            {"k", "rate", "delay"},
	"topology.leaf_spine":       {"leaves", "spines", "hosts_per_leaf", "rate", "delay"},
	"topology.dragonfly":        {"p", "a", "h", "rate", "delay"},
	"csig.ports[]":              {"switch", "policy"},
	"workload.transfers[]":      {"src", "dst", "size"},
	"workload.permutation":      {"size"},
	"workload.incast":           {"fan_in", "size"},
	"workload.all_to_all":       {"size"},
	"applications":              {"hosts"},
	"applications.programs[]":   {"host", "run"},
	"derived[]":                 {"name", "expr"},
	"published[]":               {"variant", "metric", "value", "low", "high", "source"},
}

// excused are the keys of required that another one makes needless.
var excused = map[string]string{"workload": "applications"}

// DefaultLinks are the links of an experiment that says nothing of them.
func DefaultLinks() Links { return defaults().Links }

// defaults is the experiment that a file starts from. Its transport and queue
// values are those of the NSCC reference simulator.
func defaults() *Experiment {
	return &Experiment{
		Links: Links{
			MTU: 4150 * units.Byte, Header: 64 * units.Byte, Trim: true,
			ECN: ECN{Enabled: true},
		},
		CSIG: CSIG{
			Format: "none", Dialect: "uec-0.50",
			TPIDCompact: 0x88B5, TPIDWide: 0x88B6, // IEEE 802 local experimental EtherTypes 1 and 2
			Signal: "delay", Interval: 128 * units.Microsecond, Meter: "tumbling",
			Delay: "residence", NQD: "occupancy", Decode: "auto", TrimRule: "force_local", Init: "every",
		},
		Hosts:     Hosts{AckEvery: 16384 * units.Byte},
		Workload:  Workload{StartUnit: "auto"},
		Telemetry: Telemetry{Interval: 100 * units.Microsecond},
		Seeds:     []uint64{1},
		Runtime:   "inproc",
		Clock:     "virtual",
		Wall:      Wall{Budget: Budget{Lateness: 0.25, Displaced: 0.01, Rate: 0.05}},
	}
}

// fixed are the top-level keys that a variant cannot change, because the
// variants of an experiment share them.
var fixed = []string{"schema", "name", "description", "variants", "seeds", "derived", "expect", "published", "runtime", "clock", "wall"}

func unknown(what, text string, known []string) error {
	return fmt.Errorf("unknown %s %q; known: %s", what, text, strings.Join(known, " "))
}

// keysOf returns the YAML keys of a struct type, in order.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// Paths returns the dotted paths of all single values of an experiment outside
// lists, the parameters of the algorithms included: what an environment
// variable can set.
func Paths(tables Tables) []string {
	var paths []string
	walkPaths(reflect.TypeFor[Experiment](), "", func(path string, leaf bool) {
		if leaf {
			paths = append(paths, path)
		}
	})
	for _, c := range choices {
		paths = append(paths, c.path, join(c.path, "name"))
		for _, spec := range c.table(&tables) {
			for _, p := range spec.Params {
				if path := join(c.path, p.Name); !slices.Contains(paths, path) {
					paths = append(paths, path)
				}
			}
		}
	}
	for _, signal := range signals {
		paths = append(paths, "csig.quantisers."+signal)
	}
	return append(paths, "seeds")
}

func walkPaths(t reflect.Type, path string, visit func(path string, leaf bool)) {
	switch {
	case t == reflect.TypeFor[Algorithm]():
		visit(path, false)
	case t.Kind() == reflect.Pointer:
		walkPaths(t.Elem(), path, visit)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if key := t.Field(i).Tag.Get("yaml"); key != "" && !(path == "" && key == "variants") {
				walkPaths(t.Field(i).Type, join(path, key), visit)
			}
		}
	case t.Kind() == reflect.Slice:
		visit(path, false)
		walkPaths(t.Elem(), path+"[]", func(p string, _ bool) { visit(p, false) })
	case t.Kind() == reflect.Map:
		visit(path, false)
	default:
		visit(path, true)
	}
}

// elsewhere returns the path of the only key of that name in the schema, for
// the message about a key in the wrong place, or "".
func elsewhere(key string) string {
	var found []string
	walkPaths(reflect.TypeFor[Experiment](), "", func(path string, _ bool) {
		if strings.HasSuffix(path, "."+key) {
			found = append(found, path)
		}
	})
	if len(found) != 1 {
		return ""
	}
	return found[0]
}
