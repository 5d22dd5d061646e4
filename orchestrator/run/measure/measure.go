// Package measure computes a run's metrics from its plan and its outcome. Each metric is an
// entry of the Catalogue, in the file that computes it. Values are emitted by entry, and so
// none has a name that the catalogue does not know. The names that runs of a plan can have
// (Names), what reports say of a metric (Meaning) and docs/reference/metrics.md follow from the entries.
package measure

import (
	"crypto/sha256"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Take gets one metric of a run; v is the caller's again when it returns.
type Take func(v *metrics.Value, of Kind)

// Each computes the metrics of a run and gives each to take, in a fixed order. A metric
// without a finite value is absent.
func Each(p *plan.Plan, out *backend.Outcome, r *Records, take Take) {
	e := emitter{take: take, fluid: p.NoPackets()}
	r.finish()
	for _, c := range p.Constants {
		e.set(constant, c.Value, c.Name)
	}
	run := newRun(p, out, r)
	run.addScalars(&e)
	addCounters(&e, run.Nodes)
	addFaults(&e, run)
	addForeign(&e, run)
	addFairness(&e, run)
	addGroups(&e, run)
	r.cc.measure(&e)
	r.signals.measure(&e)
	r.truths.measure(&e)
	r.ports.measure(&e, out)
	r.classes.measure(&e, run.Nodes)
	r.jobs.measure(&e)
	addPredictions(&e, p)
}

// Metrics returns all metrics of a run by name. Of a large fabric they may be millions;
// see Each.
func Metrics(p *plan.Plan, out *backend.Outcome, r *Records) map[string]float64 {
	m := map[string]float64{}
	Each(p, out, r, func(v *metrics.Value, _ Kind) { m[v.Name] = v.Value })
	return m
}

// emitter gives metrics to a Take.
type emitter struct {
	take  Take
	fluid bool          // the run has no packets
	value metrics.Value // here because a pointer that goes to a func would be a new object each time
}

// set emits a value of a metric, with the words of its placeholders.
func (e *emitter) set(m *Entry, value float64, words ...string) { e.setOf(asForm, m, value, words...) }

// asForm stands for what the form of a metric says that it is about.
const asForm Kind = kinds

// setOf emits a value of a metric that is about something else than its form says.
func (e *emitter) setOf(kind Kind, m *Entry, value float64, words ...string) {
	if math.IsNaN(value) || math.IsInf(value, 0) || m.Packets && e.fluid {
		return
	}
	of := m.name(&e.value, words)
	if e.value.Value = value; kind == asForm {
		kind = of
	}
	e.take(&e.value, kind)
}

// tagMetrics and programMetrics have the sums of the counters that have names of their own.
var (
	tagMetrics     = Group{Title: "CSIG tags", Entries: []*Entry{tagOutcomes}}
	programMetrics = Group{Title: "Programs", Of: "programs", Entries: []*Entry{programFrames, rawBandwidth},
		Doc: "The flow `h0-h3 app` is all traffic from [programs](../how-to/applications.md) on h0 to programs on h3. Flows of [generators](../how-to/applications.md#generators), `h0-h3 raw`, have the same. Both have the [metrics of flows](#flows) and of [samples](#csig-samples) too."}
)

var (
	tagOutcomes = &Entry{Form: "tags.<outcome>", Packets: true, Words: []*words{countersOf(func(tags, _ []string) []string { return tags })}, Unit: "tags",
		Doc: "times that a switch did this to a CSIG tag as a packet left. Outcomes are `updated` (the switch's value was the worse one), `kept`, `frozen` (the D bit), `unknown` (a type or code that is none), `passed`, `stripped`, `terminated`, `untouched` (terminated without a sample, as no hop could measure), `several` (the frame has more than one tag and is left alone), `refused` (a tag that came from outside the domain) and `initiated` (put on as the frame came in). Hosts with [generators](../how-to/applications.md#generators) count the frames that still have a tag where they arrive: `delivered`, and `delivered_several` with more than one"}
	programFrames = &Entry{Form: "programs.<what>", Words: []*words{countersOf(func(_, programs []string) []string { return programs })}, Unit: "packets", Needs: []*need{needPrograms},
		Doc: "frames of [programs](../how-to/applications.md) that did not enter the fabric: questions that the host answers itself (`arp_answered`, `nd_answered`), other broadcast and `multicast`, to hosts that have `no_programs`, from a source address that is not the host's (`other_source`), with a `csig_tag` already, or for UDP 4793, the `transport_port`"}
	needPrograms = &need{"programs", func(p *plan.Plan) bool {
		return slices.ContainsFunc(p.Nodes, func(n machine.Spec) bool { _, programs := n.Counters(); return len(programs) > 0 })
	}, "it has no programs"}
)

// countersOf returns the names of counters of all machines, of the two kinds that
// machine.Spec.Counters returns.
func countersOf(kind func(tags, programs []string) []string) *words {
	return &words{of: func(s *subjects) (all []string) {
		for i := range s.Plan.Nodes {
			for _, name := range kind(s.Plan.Nodes[i].Counters()) {
				if !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
		return all
	}}
}

// addCounters adds them.
func addCounters(e *emitter, nodes []metrics.NodeTotals) {
	tags, programs := map[string]float64{}, map[string]float64{}
	for _, n := range nodes {
		for _, t := range n.Tags {
			tags[t.Name] += float64(t.Packets)
		}
		for _, c := range n.Programs {
			programs[c.Name] += float64(c.Packets)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		e.set(programFrames, programs[name], name)
	}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		e.set(tagOutcomes, tags[name], name)
	}
}

// TraceHash combines the nodes' trace hashes in node order. It is zero if the nodes have
// none.
func TraceHash(nodes []metrics.NodeTotals) [32]byte {
	if !slices.ContainsFunc(nodes, func(n metrics.NodeTotals) bool { return n.TraceHash != [32]byte{} }) {
		return [32]byte{}
	}
	h := sha256.New()
	for i := range nodes {
		h.Write(nodes[i].TraceHash[:])
	}
	return [32]byte(h.Sum(nil))
}
