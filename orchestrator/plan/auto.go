package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
)

// Auto says in words what values auto of an experiment became. A value that depends on
// the port or the host is given for each rate of links; one that follows from events of
// the run is described.
type Auto struct {
	Experiment *experiment.Experiment // of a variant
	Plan       *Plan                  // of the same
	Dilation   float64                // of clock wall; 0 under other clocks
}

// Value returns what the value auto at a path became, such as 97.2kB at 100Gbps. It
// returns "" for a path that is not among experiment.AutoPaths.
func (a *Auto) Value(path string) string {
	var at []int
	for _, index := range indices().FindAllStringSubmatch(path, -1) {
		i, _ := strconv.Atoi(index[1]) // digits
		at = append(at, i)
	}
	if value, ok := autoValues[indices().ReplaceAllString(path, "[]")]; ok {
		return value(a, at)
	}
	if rest, ok := strings.CutPrefix(path, "topology."); ok {
		_, key, _ := strings.Cut(rest, ".")
		return a.Experiment.Topology.Auto(key)
	}
	if job, key, ok := strings.Cut(path, "]."); ok && strings.HasPrefix(job, "jobs[") {
		var hosts []int
		for _, h := range a.Plan.Jobs[at[0]].Ranks {
			hosts = append(hosts, int(h))
		}
		return a.Experiment.AutoJob(at[0], key, a.Plan.Graph, hosts)
	}
	for prefix, params := range autoParams {
		if param, ok := strings.CutPrefix(path, prefix); ok {
			return params(a, param)
		}
	}
	return ""
}

var indices = lazy.Regexp(`\[(\d+)\]`)

// autoValue returns what auto became; at are the indices in its path.
type autoValue func(a *Auto, at []int) string

// autoValues has what auto became, by path.
var autoValues = map[string]autoValue{
	"end":        fixed("when nothing is left to do"),
	"measure.to": fixed("the end of each flow"),
	"wall.dilation": func(a *Auto, _ []int) string {
		if a.Dilation == 0 {
			return "not used: the clock is " + a.Experiment.Clock
		}
		return strconv.FormatFloat(a.Dilation, 'g', 4, 64)
	},
	"links.queue":          ofPorts(func(p *dataplane.Port) units.Size { return p.Buffer.Data }),
	"links.control_queue":  ofPorts(func(p *dataplane.Port) units.Size { return p.Buffer.Control }),
	"links.trim_threshold": ofPorts(func(p *dataplane.Port) units.Size { return p.Buffer.Data }),
	"links.ecn.low": func(a *Auto, _ []int) string {
		return a.thresholds(func(p *dataplane.Port) string { return p.ECN.Low.String() })
	},
	"links.ecn.high": func(a *Auto, _ []int) string {
		return a.thresholds(func(p *dataplane.Port) string { return p.ECN.High.String() })
	},
	"links.buffer.reserved": func(a *Auto, _ []int) string {
		if c := a.classes(); c != nil && c.Memory != nil {
			return c.Memory.Reserved.String()
		}
		return "not used: ports share no memory"
	},
	"links.pfc.xoff":     ofIngress(func(l buffer.IngressLimits) units.Size { return l.XOff }),
	"links.pfc.xon":      ofIngress(func(l buffer.IngressLimits) units.Size { return l.XOn }),
	"links.pfc.headroom": ofIngress(func(l buffer.IngressLimits) units.Size { return l.Headroom }),
	"classes[].dscp":     fixed(strconv.Itoa(wire.DSCPTrimmable)),
	"classes[].queue":    ofClass(func(p *dataplane.PortClass) units.Size { return p.Queue }),
	"classes[].ecn.low":  ofClass(func(p *dataplane.PortClass) units.Size { return p.ECN.Low }),
	"classes[].ecn.high": ofClass(func(p *dataplane.PortClass) units.Size { return p.ECN.High }),
	"csig.decode":        func(a *Auto, _ []int) string { return a.decode() },
	"csig.max_age":       fixed("twice the last RTT of each flow"),
	"hosts.min_rto": func(a *Auto, _ []int) string {
		return a.hosts(func(c *host.Config) string { return c.RTO.String() })
	},
	"telemetry.interval": func(a *Auto, _ []int) string { return a.Plan.Interval.String() },
	"telemetry.thin":     fixed(experiment.AutoThin + ", of labs"),
	"telemetry.disk":     func(a *Auto, _ []int) string { return a.Experiment.Telemetry.DiskLimit().String() + ", of labs" },
	"telemetry.operations": func(a *Auto, _ []int) string {
		switch {
		case len(a.Plan.Jobs) == 0:
			return "not used: there are no jobs"
		case slices.ContainsFunc(a.Plan.Jobs, func(j metrics.JobInfo) bool { return j.Kept.First < j.Steps || !j.Kept.Messages }):
			return "not all; a note says which"
		}
		return "all"
	},
	"workload.start_unit": func(a *Auto, _ []int) string {
		return cmp.Or(a.Plan.StartUnit, "not used: the start times are from no file")
	},
	"workload.control_delay": func(a *Auto, _ []int) string { return leastDelay(a.Plan.Graph).String() },
	"applications.queue": func(a *Auto, _ []int) string {
		var all []rated
		for n := range a.Plan.Nodes {
			if edge := a.Plan.Nodes[n].Edge(); edge != nil {
				all = append(all, rated{a.Plan.hostRate(n), edge.Queue.String()})
			}
		}
		return byRate(all)
	},
	"faults[].for":       func(a *Auto, at []int) string { return a.faultEnd(at[0]) },
	"faults[].until":     func(a *Auto, at []int) string { return a.faultEnd(at[0]) },
	"faults[].rate":      fixed("by share, or not used"),
	"generators[].count": fixed("without end"),
	"generators[].every": func(a *Auto, at []int) string {
		g := a.Experiment.Generators[at[0]]
		return g.Rate.Serialisation(g.Size).String() + " on average"
	},
	"generators[].rate": func(a *Auto, at []int) string {
		g := a.Experiment.Generators[at[0]]
		return units.Rate(int64(g.Size) * 8 * int64(units.Second) / int64(g.Every)).String()
	},
}

// fixed is a value that is the same everywhere.
func fixed(text string) autoValue { return func(*Auto, []int) string { return text } }

// ofPorts is a value of the switches' ports.
func ofPorts(size func(p *dataplane.Port) units.Size) autoValue {
	return func(a *Auto, _ []int) string {
		return a.ports(func(p *dataplane.Port) string { return size(p).String() })
	}
}

// ofIngress is a threshold of flow control.
func ofIngress(size func(l buffer.IngressLimits) units.Size) autoValue {
	return func(a *Auto, _ []int) string { return a.ingress(size) }
}

// ofClass is a value of a class of the experiment's list at the switches' ports.
func ofClass(size func(p *dataplane.PortClass) units.Size) autoValue {
	return func(a *Auto, at []int) string {
		k := slices.IndexFunc(a.Plan.Classes, func(c class.Class) bool { return c.Name == a.Experiment.Classes[at[0]].Name })
		if k < 0 {
			return "not used"
		}
		return a.ports(func(p *dataplane.Port) string { return size(&p.Classes[k]).String() })
	}
}

// autoParams has the parameters of algorithms, by what is in front of their names.
var autoParams = map[string]func(a *Auto, param string) string{
	"hosts.cc.": func(a *Auto, param string) string {
		cc, _ := congestion.Table.Lookup(a.Experiment.Hosts.CC.Name)
		return a.hosts(func(c *host.Config) string { return checked(cc.Resolve(c.Path, c.CC.Params))[param] })
	},
	"hosts.lb.": func(a *Auto, param string) string {
		lb, _ := balance.Table.Lookup(a.Experiment.Hosts.LB.Name)
		return a.hosts(func(c *host.Config) string {
			return checked(lb.Resolve(sampleFlow(c.Path, c.CSIG), c.LB.Params))[param]
		})
	},
	"links.aqm.": func(a *Auto, param string) string {
		return a.thresholds(func(p *dataplane.Port) string {
			policy, _ := aqm.Table.Lookup(a.Experiment.Links.AQM.Name)
			return checked(policy.Resolve(policyPort(p.Rate, p.Buffer.Data, p.ECN), a.Experiment.Links.AQM.Params))[param]
		})
	},
}

// rated is a value at a rate of links.
type rated struct {
	rate units.Rate
	text string
}

// values is values at different rates.
type values []rated

// add adds the value at a rate, unless there is one: what ports and hosts derive depends on their
// rates.
func (v *values) add(rate units.Rate, text func() string) {
	if !slices.ContainsFunc(*v, func(r rated) bool { return r.rate == rate }) {
		*v = append(*v, rated{rate, text()})
	}
}

// mostRates is how many rates byRate lists.
const mostRates = 4

// byRate returns the values in the order of the rates: one if all are the same, else each
// with its rate, and the first and last of many.
func byRate(all []rated) string {
	if len(all) == 0 {
		return "not used"
	}
	slices.SortStableFunc(all, func(a, b rated) int { return cmp.Compare(a.rate, b.rate) })
	all = slices.Compact(all)
	if !slices.ContainsFunc(all, func(r rated) bool { return r.text != all[0].text }) {
		return all[0].text
	}
	first, last := all[0], all[len(all)-1]
	if len(all) > mostRates {
		return fmt.Sprintf("%s at %v to %s at %v", first.text, first.rate, last.text, last.rate)
	}
	var texts []string
	for _, r := range all {
		texts = append(texts, fmt.Sprintf("%s at %v", r.text, r.rate))
	}
	return strings.Join(texts, ", ")
}

// ports returns a value of the switches' ports.
func (a *Auto) ports(value func(p *dataplane.Port) string) string {
	var all values
	for _, p := range a.Plan.switchPorts {
		all.add(p.Rate, func() string { return value(p) })
	}
	return byRate(all)
}

// classes returns the data classes of the switches, which all have the same; nil for one.
func (a *Auto) classes() *dataplane.Classes {
	for s := range a.Plan.switches {
		return s.Classes
	}
	return nil
}

// ingress returns a threshold of flow control, of links by rate and delay.
func (a *Auto) ingress(value func(buffer.IngressLimits) units.Size) string {
	k := slices.IndexFunc(a.Plan.Classes, func(c class.Class) bool { return c.Lossless })
	if k < 0 {
		return "not used: no class is lossless"
	}
	type link struct {
		rate units.Rate
		size units.Size
	}
	seen := map[link]bool{}
	var all []rated
	for _, p := range a.Plan.switchPorts {
		l := link{p.Rate, value(p.Classes[k].Ingress)}
		if !seen[l] {
			seen[l] = true
			all = append(all, rated{l.rate, l.size.String()})
		}
	}
	return byRate(all)
}

// thresholds returns a value of the switches' ports if these mark.
func (a *Auto) thresholds(value func(p *dataplane.Port) string) string {
	if a.Plan.AQM() == noMarks {
		return "not used: no port marks"
	}
	return a.ports(value)
}

// hosts returns a value of the hosts with the transport.
func (a *Auto) hosts(value func(c *host.Config) string) string {
	var all values
	for n := range a.Plan.Nodes {
		if c := a.Plan.Nodes[n].Host; c != nil {
			all.add(c.Rate, func() string { return value(c) })
		}
	}
	return byRate(all)
}

// faultEnd returns when a fault ends.
func (a *Auto) faultEnd(i int) string {
	if until := a.Plan.Faults[i].Until; until != units.Never {
		return fmt.Sprintf("until %v", units.Duration(until))
	}
	return "until the end of the run"
}

// decode returns how the codes of each type are decoded.
func (a *Auto) decode() string {
	domain := a.Plan.Domain()
	if domain == nil {
		return "not used: no CSIG"
	}
	if second := domain.Second(); second != nil {
		return fmt.Sprintf("%v: %s; %v: %s", domain.Format(), decodeModes(domain), second.Format(), decodeModes(second))
	}
	return decodeModes(domain)
}

// decodeModes returns how the codes of each type are decoded.
func decodeModes(domain *csig.Domain) string {
	var texts []string
	for _, t := range csig.KnownTypes() {
		texts = append(texts, fmt.Sprintf("%v %v", t, domain.DecodeMode(t)))
	}
	return strings.Join(texts, ", ")
}

// hostRate returns the rate of a host's link.
func (p *Plan) hostRate(h int) units.Rate {
	switch spec := p.Nodes[h]; {
	case spec.Host != nil:
		return spec.Host.Rate
	case spec.Shim != nil:
		return spec.Shim.Rate
	}
	return p.Nodes[h].Generator.Rate
}

// flowControlNote says when ports pause their peers, and what they keep free for what comes
// in until these have stopped.
func flowControlNote(p *Plan) string {
	a := &Auto{Plan: p}
	headroom := a.ingress(func(l buffer.IngressLimits) units.Size { return l.Headroom })
	if c := a.classes(); c != nil && c.Memory != nil {
		return fmt.Sprintf("links.pfc: for each lossless class a port has headroom of %s beyond XOFF, the dynamic threshold of the shared memory; XON is %s below it",
			headroom, a.ingress(func(l buffer.IngressLimits) units.Size { return l.XOff - l.XOn }))
	}
	return fmt.Sprintf("links.pfc: for each lossless class a port has headroom of %s beyond XOFF at %s; XON is at %s",
		headroom,
		a.ingress(func(l buffer.IngressLimits) units.Size { return l.XOff }),
		a.ingress(func(l buffer.IngressLimits) units.Size { return l.XOn }))
}
