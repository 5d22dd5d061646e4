// Package compare compares two run folders, or two sweeps: values by variant and seed, with
// intervals, and figures of both over each other. Its pages are parts of sections.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/words"
)

// Measured is what a run folder or the folder of a sweep has for a comparison: values of
// metrics by case and seed. It holds no records.
type Measured struct {
	Folder     string    `json:"folder"`
	Sweep      bool      `json:"sweep,omitempty"`
	Experiment string    `json:"experiment"`
	Version    string    `json:"version"` // of csiglab
	Clock      string    `json:"clock,omitempty"`
	Command    []string  `json:"command,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	// LeftOut are the kinds of metrics that are too many for the summary of a run folder.
	LeftOut []string `json:"leftOut,omitempty"`
	// Cases are in the order of the experiment, those of a sweep by point.
	Cases []Case `json:"-"`

	facts []fact // of all cases
}

// Case is one variant of an experiment, in a sweep of one point.
type Case struct {
	Point   []Setting // of a sweep
	Variant string
	Seeds   []Seed // by seed, ascending

	ofOne map[string]bool // metrics of one flow or port
	facts []fact
}

// Setting is what a sweep sets in a point.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Seed is one run: the values of its metrics.
type Seed struct {
	Seed      uint64
	TraceHash string // "": it has none
	Metrics   map[string]float64
}

// pointName returns the point's settings as PATH=VALUE; "" for a run folder.
func (c *Case) pointName() string {
	var parts []string
	for _, s := range c.Point {
		parts = append(parts, s.Path+"="+s.Value)
	}
	return strings.Join(parts, " ")
}

// Name names the case among those of its folder.
func (c *Case) Name() string {
	return strings.TrimSpace(c.pointName() + " " + c.Variant)
}

// fact is a property of a case that two sides of a comparison may differ in.
type fact struct{ name, value string }

// Measure returns what a run folder has for a comparison.
func Measure(f *runfolder.Folder) *Measured {
	m, s := &f.Manifest, &f.Summary
	all := &Measured{Folder: f.Dir, Experiment: m.Name, Version: m.Version, Clock: m.Clock, Command: m.Command, Started: m.Started}
	if s.Details != nil {
		all.LeftOut = s.Details.Of
	}
	all.facts = factsOf(m)
	noUnits := func(string) meaning.Meaning { return meaning.Meaning{} } // a comparison asks for itself
	for _, v := range reading.VariantsOf(m, s, nil, noUnits) {
		c := Case{Variant: v.Name, ofOne: map[string]bool{}}
		for _, metric := range v.Metrics {
			c.ofOne[metric.Name] = metric.OfFlow
		}
		for _, r := range s.Variants[v.Name].Runs {
			c.Seeds = append(c.Seeds, Seed{r.Seed, r.TraceHash, r.Metrics})
		}
		slices.SortFunc(c.Seeds, func(a, b Seed) int { return cmp.Compare(a.Seed, b.Seed) })
		c.facts = variantFacts(m, &v)
		all.Cases = append(all.Cases, c)
	}
	return all
}

// factsOf returns what a manifest says of all variants.
func factsOf(m *runfolder.Manifest) []fact {
	facts := []fact{{"experiment", m.Name}, {"clock", m.Clock}, {"runtime", m.Runtime}}
	if m.Dilation != 0 {
		facts = append(facts, fact{"dilation", number(m.Dilation)})
	}
	facts = append(facts, fact{"telemetry interval", number(m.IntervalUS) + " µs"}, fact{"measuring window", window(m.Measure)})
	if m.Clock == "wall" {
		facts = append(facts, fact{"machine", fmt.Sprintf("%s, %d cores, %s", m.Machine.CPU, m.Machine.Cores, m.Machine.Kernel)})
	}
	version := m.Version
	for _, module := range m.Modules {
		version += " with " + strings.TrimSpace(module.Path+" "+module.Version) + " (" + words.Prefix(strings.TrimPrefix(module.Sum, "h1:")) + ")"
	}
	return append(facts, fact{"csiglab", version})
}

func number(v float64) string { return fmt.Sprintf("%g", v) }

func window(w runfolder.Window) string {
	if w.ToUS == 0 {
		return number(w.FromUS) + " µs to the end"
	}
	return number(w.FromUS) + " to " + number(w.ToUS) + " µs"
}

// variantFacts returns what a manifest says of one variant.
func variantFacts(m *runfolder.Manifest, v *reading.Variant) []fact {
	hosts, switches := 0, 0
	for _, n := range m.NodesOf(v.Name) {
		if n.Kind == runfolder.KindHost {
			hosts++
		} else {
			switches++
		}
	}
	flows, programs, bytes := 0, 0, int64(0)
	for _, f := range m.FirstFlows(v.Name) {
		if reading.OfPrograms(f) {
			programs++
			continue
		}
		flows++
		bytes += f.Size
	}
	facts := []fact{{"hosts", fmt.Sprint(hosts)}, {"switches", fmt.Sprint(switches)}, {"ports", fmt.Sprint(len(m.PortsOf(v.Name)))},
		{"rates of ports", ratesOf(m.PortsOf(v.Name))}, {"flows", fmt.Sprint(flows)}, {"bytes of flows", fmt.Sprint(bytes)}}
	if programs > 0 {
		facts = append(facts, fact{"pairs of hosts with programs", fmt.Sprint(programs)})
	}
	for _, j := range m.JobsOf(v.Name) {
		facts = append(facts, fact{"job " + j.Name, fmt.Sprintf("%d ranks, %d steps", len(j.Ranks), j.Steps)})
	}
	facts = append(facts, fact{"cc", v.CC}, fact{"lb", v.LB}, fact{"aqm", v.AQM}, fact{"routing", cmp.Or(v.Routing, "ecmp")}, fact{"csig", v.CSIG},
		fact{"MTU", fmt.Sprintf("%d B", v.MTU)}, fact{"header", fmt.Sprintf("%d B", v.Header)})
	if i := slices.IndexFunc(m.Variants, func(of runfolder.Variant) bool { return of.Name == v.Name }); i >= 0 {
		facts = append(facts, fact{"tunnels", m.Variants[i].Tunnels}, fact{"switches without CSIG", strings.Join(m.Variants[i].Silent, " ")})
	}
	if v.Parameters != nil {
		facts = append(facts, parameterFacts(v.Parameters)...)
	}
	return facts
}

func ratesOf(ports []runfolder.Port) string {
	rates := map[int64]bool{}
	for _, p := range ports {
		rates[p.RateBPS] = true
	}
	var parts []string
	for _, r := range slices.Sorted(maps.Keys(rates)) {
		parts = append(parts, number(float64(r)/1e9)+" Gb/s")
	}
	return strings.Join(parts, ", ")
}

// parameterFacts returns the parameters of classes of ports and flows. A class is named by
// its ports, or by one of its flows.
func parameterFacts(p *runfolder.Parameters) (facts []fact) {
	size := func(of, name string, bytes int64) {
		if bytes != 0 {
			facts = append(facts, fact{name + " of " + of, fmt.Sprintf("%d B", bytes)})
		}
	}
	all := func(of, prefix string, parameters map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(parameters)) {
			facts = append(facts, fact{prefix + name + " of " + of, parameters[name]})
		}
	}
	for i := range p.Ports {
		c := &p.Ports[i]
		of := fmt.Sprintf("ports %s to %s", cmp.Or(c.Tier, "other"), cmp.Or(c.PeerTier, "other"))
		size(of, "queue", c.QueueBytes)
		size(of, "control queue", c.ControlQueueBytes)
		size(of, "ECN low threshold", c.ECNLowBytes)
		size(of, "ECN high threshold", c.ECNHighBytes)
		all(of, "aqm ", c.AQMParameters)
	}
	for i := range p.Flows {
		c := &p.Flows[i]
		of := "flows like " + c.First
		size(of, "first window", c.WindowBytes)
		size(of, "least window", c.WindowMinBytes)
		size(of, "greatest window", c.WindowMaxBytes)
		size(of, "bytes for an ACK", c.AckEveryBytes)
		facts = append(facts, fact{"base RTT of " + of, number(c.BaseRTTUS) + " µs"}, fact{"RTO of " + of, number(c.RTOUS) + " µs"})
		all(of, "cc ", c.CCParameters)
		all(of, "lb ", c.LBParameters)
	}
	return facts
}

// Disparity is a property in which the runs of two sides differ, beside their results.
type Disparity struct {
	What string `json:"what"`
	A    string `json:"a"` // "": this side has no such thing
	B    string `json:"b"`
}

// maxDisparities bounds a list of them.
const maxDisparities = 100

// disparities returns the facts that differ, in the order of a, then those of b alone.
func disparities(a, b []fact) []Disparity {
	all := []Disparity{}
	if len(a) == 0 || len(b) == 0 { // numbers of another program, of which nothing is known
		return all
	}
	index := func(facts []fact) map[string]string {
		values := make(map[string]string, len(facts))
		for _, f := range facts {
			if _, ok := values[f.name]; !ok {
				values[f.name] = f.value
			}
		}
		return values
	}
	inA, inB := index(a), index(b)
	seen := map[string]bool{}
	for _, f := range slices.Concat(a, b) {
		if !seen[f.name] && inA[f.name] != inB[f.name] && len(all) < maxDisparities {
			all = append(all, Disparity{f.name, inA[f.name], inB[f.name]})
		}
		seen[f.name] = true
	}
	return all
}

// Metrics returns the names of the metrics of all cases.
func (m *Measured) Metrics() []string {
	names := map[string]bool{}
	for i := range m.Cases {
		for _, s := range m.Cases[i].Seeds {
			for name := range s.Metrics {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
