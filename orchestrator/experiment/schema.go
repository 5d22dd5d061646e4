package experiment

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/htsim"
)

var (
	namePattern   = lazy.Regexp(`^[a-z0-9-]{1,64}$`)
	imagePattern  = lazy.Regexp(`^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$`)
	groupPattern  = lazy.Regexp(`^[a-z][a-z0-9_-]{0,63}$`)
	jobPattern    = lazy.Regexp(`^[a-z][a-z0-9-]{0,63}$`)
	faultPattern  = lazy.Regexp(`^[a-z0-9._*:-]{1,136}$`)
	metricPattern = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
)

// signals returns the types of signal, also those of modules, the default of csig.signal
// first.
func signals() []string {
	names := csig.KnownNames()
	i := slices.Index(names, csig.Delay.String())
	return slices.Concat(names[i:i+1], names[:i], names[i+1:])
}

// rules has the constraints of the values by path; [] stands for an index. The
// kinds of topology and workload add theirs; see RegisterTopology.
var rules = map[string]Rule{
	"schema":      {min: Schema, max: Schema},
	"name":        {pattern: namePattern, want: "up to 64 of a-z 0-9 and -"},
	"end":         Between(units.Nanosecond, maxLength).Or("auto"),
	"measure.to":  Between(units.Nanosecond, maxLength).Or("auto"),
	"runtime":     oneOfTable(runtimes.Names),
	"clock":       OneOf(runtimes.Clocks()...),
	"seeds[]":     {min: 0},
	"expect[]":    {},
	"description": {},

	"wall.dilation": Between(1, 1_000_000_000).Or("auto"),

	"measure.from":         Between(0, maxLength),
	"telemetry.interval":   Between(units.Microsecond, maxDelay).Or("auto"),
	"telemetry.trace_hash": OneOf(traceHashFull, traceHashNone),
	"telemetry.operations": {parse: func(text string) error { _, err := ParseOperations(text); return err }},
	"telemetry.truth":      Between(1, maxTruth).Or("none"),
	"trace.flows[]":        {parse: checkFlowPattern},
	"trace.events[]":       OneOf(metrics.EventNames()...),
	"capture[]":            {pattern: lazy.Regexp(`^[A-Za-z0-9._-]+(:[0-9]+)?-[A-Za-z0-9._-]+$`), want: "the name of a link, such as tor0-agg0"},

	"links.mtu":             Between(256*units.Byte, 65000*units.Byte),
	"links.header":          Between(16*units.Byte, 1024*units.Byte),
	"links.queue":           Between(256*units.Byte, maxQueue).Or("auto"),
	"links.control_queue":   Between(256*units.Byte, maxQueue).Or("auto"),
	"links.overhead":        Between(0, 1024*units.Byte),
	"links.trim_threshold":  Between(256*units.Byte, maxQueue).Or("auto"),
	"links.buffer.shared":   Between(256*units.Byte, maxQueue).Or("none"),
	"links.buffer.reserved": Between(units.Byte, maxQueue).Or("auto"),
	"links.pfc.xoff":        Between(units.Byte, maxQueue).Or("auto"),
	"links.pfc.xon":         Between(units.Byte, maxQueue).Or("auto"),
	"links.pfc.headroom":    Between(units.Byte, maxQueue).Or("auto"),
	"links.pfc.deadlock":    Between(units.Microsecond, maxDelay),

	"classes[].name":          {pattern: groupPattern, want: "up to 64 of a-z 0-9 _ and -, the first a letter"},
	"classes[].dscp":          Between(1, 63).Or("auto"),
	"classes[].weight":        Between(1, maxWeight),
	"classes[].queue":         Between(256*units.Byte, maxQueue).Or("auto"),
	"classes[].ecn.low":       Between(units.Byte, maxQueue).Or("auto"),
	"classes[].ecn.high":      Between(units.Byte, maxQueue).Or("auto"),
	"classes[].match.flows[]": {parse: checkFlowPattern},
	"classes[].match.src[]":   Between(0, maxHosts),
	"classes[].match.dst[]":   Between(0, maxHosts),
	"classes[].match.hosts[]": Between(0, maxHosts),
	"classes[].match.jobs[]":  Between(0, maxJobs),

	"links.ecn.low":  Between(units.Byte, maxQueue).Or("auto"),
	"links.ecn.high": Between(units.Byte, maxQueue).Or("auto"),

	"csig.format":            OneOf(csig.Formats()...),
	"csig.dialect":           OneOf(csig.Dialects()...),
	"csig.tpid_compact":      {min: 0x0600, max: math.MaxUint16, hex: true},
	"csig.tpid_wide":         {min: 0x0600, max: math.MaxUint16, hex: true},
	"csig.signal":            oneOfTable(signals),
	"csig.interval":          Between(100*units.Nanosecond, maxDelay),
	"csig.meter":             OneOf(meter.Modes()...),
	"csig.phase":             OneOf(meter.Phases()...),
	"csig.delay":             OneOf(dataplane.DelayModes()...),
	"csig.abw":               OneOf(meter.Scopes()...),
	"csig.nqd":               OneOf(meter.DepthModes()...),
	"csig.decode":            OneOf(csig.DecodeModes()...),
	"csig.trim_rule":         OneOf(csig.TrimRules()...),
	"csig.override_d[]":      OneOf(csig.ABW.String(), csig.ABWC.String()), // SAI-CSIG §5.3
	"csig.port_down":         OneOf(dataplane.PortDowns()...),
	"csig.init":              {parse: func(text string) error { _, _, err := ParseInit(text); return err }},
	"csig.max_age":           Between(units.Nanosecond, maxDelay).Or("auto"),
	"csig.ports[].switch":    {pattern: lazy.Regexp(`^[A-Za-z0-9*._-]{1,64}$`), want: "a switch's name or a pattern with *, such as tor0 or agg*"},
	"csig.ports[].port":      {min: 0, max: 1 << 16, word: "all", special: -1},
	"csig.ports[].type":      oneOfTable(func() []string { return append([]string{"all"}, signals()...) }),
	"csig.ports[].format":    OneOf(append([]string{allFormats}, csig.Formats()[1:]...)...),
	"csig.ports[].policy":    OneOf(dataplane.Policies()...),
	"csig.ports[].tier":      OneOf(topologies.TierToR.String(), topologies.TierAgg.String(), topologies.TierCore.String()),
	"csig.ports[].to":        OneOf("host", "switch"),
	"csig.ports[].init":      {parse: func(text string) error { _, err := csig.ParseSampling(text); return err }},
	"csig.ports[].signals[]": oneOfTable(signals),

	"csig.policies[].format":        OneOf(csig.Formats()[1:]...),
	"csig.policies[].init":          {parse: func(text string) error { _, _, err := ParseInit(text); return err }},
	"csig.policies[].match.src[]":   Between(0, maxHosts),
	"csig.policies[].match.dst[]":   Between(0, maxHosts),
	"csig.policies[].match.hosts[]": Between(0, maxHosts),
	"csig.policies[].match.jobs[]":  Between(0, maxJobs),
	"csig.policies[].match.dscp[]":  Between(0, 63),

	"hosts.policies[].match.src[]":   Between(0, maxHosts),
	"hosts.policies[].match.dst[]":   Between(0, maxHosts),
	"hosts.policies[].match.hosts[]": Between(0, maxHosts),
	"hosts.policies[].match.jobs[]":  Between(0, maxJobs),

	"csig.collector.host":     Between(0, maxHosts),
	"csig.collector.interval": Between(units.Microsecond, 10*units.Second),
	"csig.collector.loop":     OneOf(Loops()...),
	"csig.collector.period":   Between(units.Microsecond, 10*units.Second),

	"csig.locators.scheme":           OneOf(csig.SchemeKinds()...),
	"csig.locators.widths.tier":      Between(0, csig.MaxLocatorBits),
	"csig.locators.widths.direction": Between(0, 1),
	"csig.locators.widths.switch":    Between(0, csig.MaxLocatorBits),
	"csig.locators.widths.port":      Between(1, csig.MaxLocatorBits), // it keeps locators different from 0
	"csig.locators.labels[].locator": Between(1, 1<<csig.MaxLocatorBits-1),
	"csig.locators.labels[].switch":  {pattern: lazy.Regexp(`^[A-Za-z0-9._-]{1,64}$`), want: "a switch's name, such as tor0"},
	"csig.locators.labels[].port":    Between(0, 1<<16),

	"hosts.ack_every":  Between(units.Byte, units.GB),
	"hosts.recovery":   OneOf(transport.Recoveries()...),
	"hosts.trim_place": OneOf(transport.TrimPlaces()...),
	"hosts.min_rto":    Between(units.Microsecond, 10*units.Second).Or("auto"),

	"workload.start_unit":    OneOf(htsim.StartUnits()...),
	"workload.start_jitter":  Between(0, maxDelay),
	"workload.control_delay": Between(minDelay, maxDelay).Or("auto"),

	"jobs[].name":                {pattern: jobPattern, want: "up to 64 of a-z 0-9 and -, the first a letter"},
	"jobs[].ranks":               Between(2, maxHosts).Or("auto"),
	"jobs[].hosts[]":             {parse: func(text string) error { _, err := ParseHosts([]string{text}, maxHosts); return err }},
	"jobs[].ranks_per_host":      Between(1, maxRanksPerHost),
	"jobs[].placement":           OneOf(placements...),
	"jobs[].order":               OneOf(orders...),
	"jobs[].start":               Between(0, maxLength),
	"jobs[].steps":               Between(1, maxSteps),
	"jobs[].stragglers[].rank":   Between(0, maxHosts),
	"jobs[].stragglers[].pause":  Between(0, maxLength),
	"jobs[].stragglers[].step":   Between(0, maxSteps),
	"jobs[].schedule.period":     {min: int64(units.Microsecond), max: int64(maxLength), word: "none", special: int64(noSchedule)},
	"jobs[].schedule.offset":     {min: 0, max: int64(maxLength), word: "auto", special: int64(autoSchedule)},
	"jobs[].schedule.correction": {min: 0, max: int64(maxLength), word: "auto", special: int64(autoSchedule)},
	"jobs[].local.rate":          Between(minRate, maxLocal).Or("unlimited"),
	"jobs[].local.delay":         Between(minDelay, maxDelay).Or("auto"),

	"applications.hosts[]":          Between(0, maxHosts),
	"applications.signals[]":        oneOfTable(signals),
	"applications.queue":            Between(256*units.Byte, maxQueue).Or("auto"),
	"applications.mtu":              Between(minMTU, 65000*units.Byte),
	"applications.image":            {pattern: imagePattern, want: "the name of an image, such as iperf3:1"},
	"applications.programs[].host":  Between(0, maxHosts),
	"applications.programs[].run":   {pattern: lazy.Regexp(`\S`), want: "a command line"},
	"applications.programs[].start": Between(0, maxLength),

	"generators[].host":  Between(0, maxHosts),
	"generators[].to":    Between(0, maxHosts),
	"generators[].size":  Between(generator.MinSize, 65000*units.Byte),
	"generators[].count": Between(1, maxFrames).Or("auto"),
	"generators[].start": Between(0, maxLength),
	"generators[].every": Between(units.Nanosecond, maxLength).Or("auto"),
	"generators[].rate":  Between(units.Kbps, maxRate).Or("auto"),
	"generators[].dscp":  Between(0, maxDSCP),
	"generators[].paths": Between(1, maxPaths),

	"faults[].name":          {pattern: groupPattern, want: "up to 64 of a-z 0-9 _ and -, the first a letter"},
	"faults[].kind":          OneOf(FaultKinds()...),
	"faults[].links":         {pattern: faultPattern, want: "the name of a link or a pattern with *, such as tor0-agg0 or agg*-core*"},
	"faults[].switches":      {pattern: faultPattern, want: "the name of a switch or a pattern with *, such as agg0 or agg*"},
	"faults[].hosts":         {pattern: faultPattern, want: "the name of a host or a pattern with *, such as h0 or h*"},
	"faults[].random":        Between(1, 1<<24).Or("all"),
	"faults[].direction":     OneOf(FaultDirections...),
	"faults[].buffers":       OneOf(FaultBuffers...),
	"faults[].at":            Between(0, maxLength),
	"faults[].for":           Between(units.Nanosecond, maxLength).Or("auto"),
	"faults[].until":         Between(units.Nanosecond, maxLength).Or("auto"),
	"faults[].reroute_delay": {min: 0, max: int64(maxLength), word: "never", special: int64(NoReroute)},
	"faults[].rate":          Between(minRate, maxRate).Or("auto"),

	"robust[].settings[]": oneOfTable(stressNames),
	"robust[].expect[]":   {},
	"robust[].except[]":   {},

	"derived[].name": {pattern: metricPattern, want: "letters, digits and _, such as fairness_ratio"},
}

// required are the keys that have no default, by the path of the mapping. The kinds
// of topology and workload add theirs.
var required = map[string][]string{
	"":                        {"schema", "name", "topology", "workload"},
	"csig.policies[]":         {"match"},
	"hosts.policies[]":        {"match", "cc"},
	"csig.collector":          {"host"},
	"csig.locators.widths":    {"tier", "direction", "switch", "port"},
	"csig.locators.labels[]":  {"locator", "switch", "port"},
	"applications":            {"hosts"},
	"applications.programs[]": {"host", "run"},
	"generators[]":            {"host", "to"},
	"classes[]":               {"name"},
	"faults[]":                {"kind"},
	"jobs[]":                  {"name"},
	"jobs[].stragglers[]":     {"rank"},
	"derived[]":               {"name", "expr"},
	"robust[]":                {"settings"},
	"published[]":             {"variant", "metric", "value", "low", "high", "source"},
}

// excused has the required keys that may be missing when one of other keys is given.
var excused = map[string][]string{"workload": {"applications", "generators", "jobs"}}

// DefaultLinks returns the links of an experiment whose file does not mention them.
func DefaultLinks() Links { return defaults().Links }

// defaults is the experiment that a file starts from. Its transport and queue
// values are those of the NSCC reference simulator.
func defaults() *Experiment {
	return &Experiment{
		Links: Links{
			MTU: 4150 * units.Byte, Header: 64 * units.Byte, Trim: true,
			ECN: ECN{Enabled: true}, LastHopTrim: 1,
			Buffer: Buffer{Alpha: 1}, PFC: PFC{Deadlock: units.Millisecond},
		},
		CSIG: CSIG{
			Format: csig.FormatNone.String(), Dialect: csig.UEC050,
			TPIDCompact: 0x88B5, TPIDWide: 0x88B6, // IEEE 802 local experimental EtherTypes 1 and 2
			Locators: Locators{Scheme: csig.Structured.String()}, Signal: csig.Delay.String(), Interval: 128 * units.Microsecond,
			Meter: meter.Tumbling, Phase: meter.Seeded, Delay: dataplane.Residence,
			ABW: meter.Raw, NQD: meter.Occupancy, Decode: csig.DecodeAuto,
			TrimRule: csig.TrimForceLocal, Init: "every", PortDown: dataplane.Silent,
		},
		Hosts:     Hosts{AckEvery: 16384 * units.Byte, Recovery: transport.Selective, TrimPlace: transport.ByDSCP},
		Workload:  Workload{StartUnit: htsim.Auto.String()},
		Telemetry: Telemetry{Interval: 100 * units.Microsecond, TraceHash: traceHashFull, Operations: operationsAuto},
		Seeds:     []uint64{1},
		Runtime:   runtimes.Inproc,
		Clock:     runtimes.Virtual,
		Wall:      Wall{Budget: Budget{Lateness: 0.25, Displaced: 0.01, Rate: 0.05, Underlay: 0.5}},
	}
}

// fixed are the top-level keys that a variant cannot change, because the
// variants of an experiment share them.
var fixed = []string{"schema", "name", "description", "variants", "sweep", "seeds", "derived", "expect", "robust", "published", "runtime", "clock", "wall", "telemetry"}

func unknown(what, text string, known []string) error {
	return fmt.Errorf("unknown %s %q; known: %s", what, text, strings.Join(known, " "))
}

// member is a key of a mapping, and the field of the struct that it sets.
type member struct {
	key   string
	field int
	kind  reflect.Type // of the value, if the field takes a value of one of several kinds; nil otherwise
}

// members returns the keys of a struct type, in order.
func members(t reflect.Type) []member {
	var list []member
	for i := range t.NumField() {
		field := t.Field(i)
		if section, ok := sectionOf[field.Type]; ok {
			for _, k := range kinds[section] {
				list = append(list, member{k.Name, i, k.value})
			}
		} else if key := field.Tag.Get("yaml"); key != "" {
			list = append(list, member{key: key, field: i})
		}
	}
	return list
}

// keysOf returns the YAML keys of a struct type, in order.
func keysOf(t reflect.Type) []string {
	var keys []string
	for _, m := range members(t) {
		keys = append(keys, m.key)
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
	for _, signal := range signals() {
		paths = append(paths, "csig.quantisers."+signal, "csig.second.quantisers."+signal)
	}
	return append(paths, "seeds")
}

// AutoPaths returns the paths of all values that may be auto, the parameters of the
// algorithms included, in order; [] stands for an index.
func AutoPaths(tables Tables) []string {
	var paths []string
	for path, r := range rules {
		if r.word == algorithm.Auto || r.enum != nil && slices.Contains(r.enum(), algorithm.Auto) {
			paths = append(paths, path)
		}
	}
	for _, c := range choices {
		for _, spec := range c.table(&tables) {
			for _, p := range spec.Params {
				if p.Default == algorithm.Auto {
					paths = append(paths, join(c.path, p.Name))
				}
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func walkPaths(t reflect.Type, path string, visit func(path string, leaf bool)) {
	switch {
	case t == reflect.TypeFor[Algorithm]():
		visit(path, false)
	case t.Kind() == reflect.Pointer:
		walkPaths(t.Elem(), path, visit)
	case t.Kind() == reflect.Struct:
		if nameKey(path) != "" {
			visit(path, true) // the name alone
		}
		for _, m := range members(t) {
			value := m.kind
			if value == nil {
				value = t.Field(m.field).Type
			}
			if path != "" || m.key != "variants" && m.key != "sweep" {
				walkPaths(value, join(path, m.key), visit)
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

// CheckName returns an error if a text cannot be the name of an experiment.
func CheckName(name string) error {
	if r := rules["name"]; !r.allows(name) {
		return fmt.Errorf("the name %q is not %s", name, r.want)
	}
	return nil
}
