// Package measure computes a run's metrics from its plan and its outcome. The suffix
// of a quantity's name is its unit; docs/metrics.md describes them. A scalar metric is
// an entry of a table (Scalars, completionScalars, TransferScalars, flowScalars), in this package alone. Each
// part of Each also declares from the plan the names that runs can have (Names).
package measure

import (
	"crypto/sha256"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Take gets one metric of a run; v is the caller's again when it returns.
type Take func(v *metrics.Value, of Kind)

// Each computes the metrics of a run and gives each to take, in a fixed order. A metric
// without a finite value is absent.
func Each(p *plan.Plan, out *backend.Outcome, r *Records, take Take) {
	e := emitter{take: take}
	r.finish()
	for _, c := range p.Constants {
		e.run(c.Name, c.Value)
	}
	run := newRun(p, out, r)
	run.addScalars(&e)
	addNamed(&e, run.Nodes)
	addFaults(&e, run)
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
	value metrics.Value // here because a pointer that goes to a func would be a new object each time
}

// run emits a metric of the whole run.
func (e *emitter) run(metric string, value float64) { e.named(metric, "", metric, value, ofRun) }

// of emits a metric of a subject, with the usual name.
func (e *emitter) of(metric, subject string, value float64, of Kind) {
	e.named(metric, subject, metric+"."+subject, value, of)
}

// named emits a metric with a name of its own.
func (e *emitter) named(metric, subject, name string, value float64, of Kind) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	e.value = metrics.Value{Metric: metric, Subject: subject, Name: name, Value: value}
	e.take(&e.value, of)
}

// addNamed adds the sums of the counters that have names of their own.
func addNamed(e *emitter, nodes []metrics.NodeTotals) {
	sums := map[string]float64{}
	for _, n := range nodes {
		for _, t := range n.Tags {
			sums["tags."+t.Name] += float64(t.Packets)
		}
		for _, c := range n.Programs {
			sums["programs."+c.Name] += float64(c.Packets)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		e.run(name, sums[name])
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
