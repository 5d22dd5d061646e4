package experiment

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/workloads/htsim"
)

// derive fills the defaults that depend on other values.
func (d *decoder) derive(e *Experiment) {
	if e.Workload.matrix() && !d.given("workload.start_jitter") {
		e.Workload.StartJitter = 0
	}
	if e.CSIG.Second == nil && e.CSIG.wantsSecond() {
		e.CSIG.Second = &CSIGSecond{}
		d.fill(nil, reflect.ValueOf(e.CSIG.Second).Elem(), "csig.second")
	}
	if t := e.Trace; t != nil && len(t.Flows) > 0 && len(t.Events) == 0 {
		t.Events = metrics.EventNames()
	}
}

// check reports values that do not fit one another. It leaves out what follows from a
// value that is wrong by itself.
func (d *decoder) check(e *Experiment, declared []declaredVariant) {
	d.checking = true
	if d.given(topologySection) { // otherwise it is reported as missing
		d.exactlyOne(topologySection)
	}
	if d.given(workloadSection) && (e.Applications == nil && len(e.Generators) == 0 && len(e.Jobs) == 0 || e.Workload.Spec != nil) {
		d.exactlyOne(workloadSection)
	}
	hosts := d.topology(e)
	d.workload(e, hosts)
	d.jobs(e, hosts)
	d.links(e)
	d.buffers(e)
	d.classes(e, hosts)
	d.csig(e)
	d.policies(e, hosts)
	d.hostPolicies(e, hosts)
	d.applications(e, hosts)
	d.generators(e, hosts)
	d.foreign(e)
	d.datapath(e)
	d.tunnels(e)
	d.faults(e)
	d.trace(e)
	d.window(e)
	if !runtimes.Fits(e.Runtime, e.Clock) && d.sound("runtime", "clock") {
		msg, suggestion := runtimes.Misfit(e.Runtime, e.Clock)
		d.failAt("clock", msg, suggestion)
	}
	if e.Telemetry.Untraced() && !e.Way().Has(runtimes.Untraced) && d.sound("telemetry", "runtime", "clock") {
		d.failAt("telemetry.trace_hash", fmt.Sprintf("none needs clock %s; under clock %s every node has a trace hash", runtimes.Virtual, e.Clock), "")
	}
	for _, share := range []struct {
		path  string
		value float64
	}{{"lateness", e.Wall.Budget.Lateness}, {"displaced", e.Wall.Budget.Displaced}, {"rate", e.Wall.Budget.Rate}, {"underlay", e.Wall.Budget.Underlay}} {
		if share.value < 0 {
			d.failAt("wall.budget."+share.path, fmt.Sprintf("%v is not a share; want 0 or more, such as 0.05 for 5 %%", share.value), "")
		}
	}
	d.groups(e)
	d.seeds(e)
	d.tuned(e)
	if len(declared) > 0 { // otherwise their names are not known
		d.results(e, declared)
	}
}

// groups checks the groups of flows.
func (d *decoder) groups(e *Experiment) {
	for _, name := range slices.Sorted(maps.Keys(e.Measure.Groups)) {
		path := "measure.groups." + name
		items := e.Measure.Groups[name]
		switch {
		case !vocabulary["group"].allows(name):
			d.failAt(path, fmt.Sprintf("%q is no name of a group; want up to 64 of a-z 0-9 _ and -, the first a letter", name), "")
		case name == "all" || strings.HasPrefix(name, "job-"):
			d.failAt(path, fmt.Sprintf("the name %q is taken: all is every transfer, job-0 the transfers of job 0", name), "")
		case len(items) == 0:
			d.failAt(path, `the group is empty; want names of flows or patterns, such as ["0-8", "1-*"]`, "")
		}
		for i, item := range items {
			if err := checkFlowPattern(item); err != nil {
				d.failAt(fmt.Sprintf("%s[%d]", path, i), err.Error(), "")
			}
		}
	}
}

// window checks the measuring window.
func (d *decoder) window(e *Experiment) {
	if !d.sound("measure", "end") {
		return
	}
	if e.Measure.To != 0 && e.Measure.To <= e.Measure.From {
		d.failAt("measure.to", fmt.Sprintf("the window ends at %v, before it begins at %v", e.Measure.To, e.Measure.From), "")
	}
	if e.End != 0 && e.Measure.To > e.End {
		d.failAt("measure.to", fmt.Sprintf("the window ends at %v, after the run's end %v", e.Measure.To, e.End), "")
	}
	if e.End != 0 && e.Measure.From >= e.End {
		d.failAt("measure.from", fmt.Sprintf("the window begins at %v, not before the run's end %v", e.Measure.From, e.End), "")
	}
}

func (d *decoder) exactlyOne(path string) {
	group := alternatives(path)
	var given []string
	for _, key := range group {
		if d.given(join(path, key)) {
			given = append(given, key)
		}
	}
	switch {
	case len(given) == 0:
		d.failAt(path, "one of these keys is missing: "+strings.Join(group, ", "), "")
	case len(given) > 1:
		d.fail(d.node[join(path, given[1])].at, join(path, given[1]), fmt.Sprintf("excludes %s.%s; give one of them", path, given[0]), "")
	}
}

// topology calls the check of the topology's kind. It returns the number of hosts, or
// 0 when that is not known before the topology is built.
func (d *decoder) topology(e *Experiment) int {
	if e.Topology.Spec == nil || !d.sound(topologySection) {
		return 0
	}
	kind := kindOf(topologySection, reflect.TypeOf(e.Topology.Spec))
	c := &Check{decoder: d, experiment: e, path: join(topologySection, kind.Name)}
	switch spec := e.Topology.Spec.(type) {
	case TopologyChecker:
		return spec.Check(c)
	case Sized:
		return c.fabric(spec)
	}
	return 0
}

func (d *decoder) workload(e *Experiment, hosts int) {
	if w := e.Workload; w.Spec != nil {
		kind := kindOf(workloadSection, reflect.TypeOf(w.Spec))
		w.Spec.Check(&Check{decoder: d, experiment: e, path: join(workloadSection, kind.Name), hosts: hosts})
	}
	if e.Workload.StartUnit != htsim.Auto && !e.Workload.matrix() && d.sound(workloadSection) {
		d.failAt("workload.start_unit", "is for a file's start times; here there is no workload.file", "")
	}
}

func (d *decoder) links(e *Experiment) {
	l := e.Links
	if !d.sound("links") {
		return
	}
	if l.Header >= l.MTU {
		d.failAt("links.header", fmt.Sprintf("a header of %v leaves no payload in a packet of %v", l.Header, l.MTU), "")
	}
	if l.Queue != 0 && l.Queue < l.MTU {
		d.failAt("links.queue", fmt.Sprintf("%v does not hold one packet of %v", l.Queue, l.MTU), "")
	}
	if l.ECN.Low != 0 && l.ECN.High != 0 && l.ECN.Low > l.ECN.High {
		d.failAt("links.ecn.low", fmt.Sprintf("%v lies above links.ecn.high, %v", l.ECN.Low, l.ECN.High), "")
	}
}

func (d *decoder) csig(e *Experiment) {
	c := e.CSIG
	for i, tpid := range []uint16{c.TPIDCompact, c.TPIDWide} {
		if csig.ReservedTPID(tpid) {
			d.failAt([]string{"csig.tpid_compact", "csig.tpid_wide"}[i], fmt.Sprintf("%#04x is the EtherType of another protocol", tpid), "")
		}
	}
	if c.TPIDCompact == c.TPIDWide && d.sound("csig.tpid_compact") {
		d.failAt("csig.tpid_wide", fmt.Sprintf("%#04x is also tpid_compact; the formats need different ones", c.TPIDWide), "")
	}
	if len(c.OverrideD) > 0 && c.Dialect == csig.Draft01 && d.sound("csig.dialect", "csig.override_d") {
		d.failAt("csig.override_d", "tags of dialect draft-01 have no D bit", "")
	}
	if d.sound("csig.format", "csig.dialect") {
		d.locators("csig.locators", c.Format, c.Dialect, c.Locators)
	}
	d.quantisers("csig.quantisers", c.Format, c.Quantisers)
	d.secondFormat(c)
	if s := c.Second; s != nil {
		format := c.SecondFormat()
		if d.sound("csig.format", "csig.dialect", "csig.second") {
			d.locators("csig.second.locators", format, c.Dialect, s.Locators)
		}
		d.quantisers("csig.second.quantisers", format, s.Quantisers)
	}
	if c.Format == csig.FormatNone && d.sound("csig.format", "hosts", "links") {
		d.needTags(e)
	}
	switch {
	case c.ABW == meter.PauseAware && !e.Lossless() && d.sound("classes"):
		d.failAt("csig.abw", "pause-aware needs a lossless class; without one nothing is paused, and it reads what raw reads", "")
	case c.ABW == meter.PerClass && len(e.Classes) == 0 && d.sound("classes"):
		d.failAt("csig.abw", "per-class needs classes", "")
	}
	if e.Hosts.TrimPlace == transport.ByLocator && c.TrimRule != csig.TrimForceLocal && d.sound("csig", "hosts.trim_place") {
		d.failAt("hosts.trim_place", fmt.Sprintf("locator needs csig.trim_rule: %v; with %s the tag may name another port than the one that trimmed", csig.TrimForceLocal, c.TrimRule), "")
	}
	if c.Collector != nil && c.Collector.Loop != Loops()[0] && e.Routing.Name != "wcmp" && d.sound("csig.collector", "routing") {
		d.failAt("csig.collector.loop", fmt.Sprintf("sets the weights of routing: wcmp; this is %s", e.Routing.Name), "")
	}
	if share := c.Speakers.Share; !(share >= 0 && share <= 1) {
		d.failAt("csig.speakers.share", fmt.Sprintf("want 0 to 1, got %v", share), "")
	}
	for i := range c.Ports {
		path := fmt.Sprintf("csig.ports[%d]", i)
		switch p := &c.Ports[i]; {
		case p.Policy == "" && p.Outside == nil && p.Init == "":
			d.failAt(path, "says nothing; want one of the keys policy, outside and init", "")
		case p.Policy == "" && p.Init == "" && p.Format != allFormats:
			d.failAt(path+".format", "a format is for a policy or for init; outside holds for all", "")
		case p.Policy == "" && p.Type != "all":
			d.failAt(path+".type", "a type is for a policy; outside and init hold for all", "")
		case p.Init == "" && len(p.Signals) > 0:
			d.failAt(path+".signals", "are for init", "")
		}
	}
}

// quantisers refuses quantisers of unknown signals, and those that a format does not have.
func (d *decoder) quantisers(path string, format csig.Format, list map[string]string) {
	for _, signal := range slices.Sorted(maps.Keys(list)) {
		at := join(path, signal)
		if !slices.Contains(signals(), signal) {
			d.failAt(at, unknown("signal", signal, signals()).Error(), spelling.Nearest(signal, signals()))
			continue
		}
		if format != csig.FormatNone && d.sound("csig.format") && d.tables.Quantisers != nil {
			t, err := csig.ParseType(signal)
			if err == nil {
				err = d.tables.Quantisers(format, t, list[signal])
			}
			if err != nil {
				d.failAt(at, err.Error(), "")
			}
		}
	}
}

// locators refuses widths and labels that do not fit the scheme or the tag.
func (d *decoder) locators(path string, format csig.Format, dialect csig.Dialect, l Locators) {
	named := d.sound(path + ".scheme")
	if named && l.Widths != nil && l.Scheme != csig.Structured {
		d.failAt(path+".widths", fmt.Sprintf("belong to the scheme %v; this is %s", csig.Structured, l.Scheme), "")
	}
	if named && len(l.Labels) > 0 && l.Scheme != csig.Registry {
		d.failAt(path+".labels", fmt.Sprintf("belong to the scheme %v; this is %s", csig.Registry, l.Scheme), "")
	}
	bits := csig.MaxLocatorBits
	tags := d.sound("csig.dialect") && format != csig.FormatNone
	if tags {
		bits = csig.LocatorBits(format, dialect)
	}
	if w := l.Widths; w != nil && tags {
		if sum := w.Tier + w.Direction + w.Switch + w.Port; sum != bits {
			d.failAt(path+".widths", fmt.Sprintf("the sum is %d; locators of format %v and dialect %v have %d bits", sum, format, dialect, bits), "")
		}
	}
	locators, ports := map[int]int{}, map[LocatorLabel]int{}
	for i, label := range l.Labels {
		at := fmt.Sprintf("%s.labels[%d]", path, i)
		port := LocatorLabel{Switch: label.Switch, Port: label.Port}
		if first, twice := locators[label.Locator]; twice {
			d.failAt(at+".locator", fmt.Sprintf("locator %d is also that of labels[%d]", label.Locator, first), "")
		}
		if first, twice := ports[port]; twice {
			d.failAt(at, fmt.Sprintf("%s port %d has a label already, labels[%d]", label.Switch, label.Port, first), "")
		}
		if label.Locator >= 1<<bits {
			d.failAt(at+".locator", fmt.Sprintf("%d is too large; locators of format %v and dialect %v end at %d", label.Locator, format, dialect, 1<<bits-1), "")
		}
		locators[label.Locator], ports[port] = i, i
	}
}

// needTags refuses algorithms, and parameters of theirs, that need CSIG tags, of which there are none.
func (d *decoder) needTags(e *Experiment) {
	if e.CSIG.PortDown != dataplane.Silent {
		d.failAt("csig.port_down", e.CSIG.PortDown.String()+" needs the locators of CSIG; set csig.format to compact or wide", "")
	}
	if e.Hosts.TrimPlace == transport.ByLocator {
		d.failAt("hosts.trim_place", "locator needs CSIG tags; set csig.format to compact or wide", "")
	}
	for _, c := range choices {
		chosen := c.of(e)
		for _, s := range c.table(&d.tables) {
			if s.Name == chosen.Name && s.NeedsTag {
				d.failAt(c.path+".name", s.Name+" needs CSIG tags; set csig.format to compact or wide", "")
			}
			for _, p := range s.Params {
				if text := chosen.Params[p.Name]; s.Name == chosen.Name && p.NeedsTag && text != "" && text != p.Default {
					d.failAt(c.path+"."+p.Name, fmt.Sprintf("%s needs a CSIG tag; set csig.format to compact or wide", text), "")
				}
			}
		}
	}
}

func (d *decoder) seeds(e *Experiment) {
	if len(e.Seeds) == 0 || len(e.Seeds) > maxSeeds {
		d.failAt("seeds", fmt.Sprintf("want 1 to %d seeds, got %d", maxSeeds, len(e.Seeds)), "")
	}
	seen := make(map[uint64]bool, len(e.Seeds))
	for i, s := range e.Seeds {
		if seen[s] {
			d.failAt(fmt.Sprintf("seeds[%d]", i), fmt.Sprintf("seed %d is given twice", s), "")
		}
		seen[s] = true
	}
}

// setSeeds takes the first n seeds; 0 is all. If there are fewer, the numbers after the
// greatest one follow.
func (d *decoder) setSeeds(e *Experiment, n int) {
	if n == 0 || !d.sound("seeds") || len(e.Seeds) == 0 {
		return
	}
	fail := func(format string, args ...any) {
		d.errs = append(d.errs, &Error{File: fmt.Sprintf("--seeds %d", n), Msg: fmt.Sprintf(format, args...)})
	}
	greatest := slices.Max(e.Seeds)
	switch more := n - len(e.Seeds); {
	case n < 0 || n > maxSeeds:
		fail("want 1 to %d", maxSeeds)
	case more <= 0:
		e.Seeds = e.Seeds[:n]
	case greatest > math.MaxUint64-uint64(more):
		fail("there are no %d numbers after the greatest seed, %d", more, greatest)
	default:
		e.Seeds = slices.Clone(e.Seeds)
		for i := range more {
			e.Seeds = append(e.Seeds, greatest+1+uint64(i))
		}
	}
}
