// Package measure computes a run's metrics from its plan and its outcome. The suffix
// of a metric's name is its unit; docs/metrics.md describes them. A scalar metric is
// an entry of a table (Scalars, TransferScalars, FlowScalars), in this package alone. Each
// part of Metrics also declares from the plan the names that runs can have (Names).
package measure

import (
	"crypto/sha256"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Metrics returns the metrics of a run.
func Metrics(p *plan.Plan, out *backend.Outcome, r *Records) map[string]float64 {
	nodes := r.Nodes()
	m := map[string]float64{}
	for _, c := range p.Constants {
		m[c.Name] = c.Value
	}
	newRun(p, out, nodes).addScalars(m)
	addNamed(m, nodes)
	r.cc.measure(m)
	r.signals.measure(m)
	return m
}

// addNamed adds the sums of the counters that have names of their own.
func addNamed(m map[string]float64, nodes []metrics.NodeTotals) {
	for _, n := range nodes {
		for _, t := range n.Tags {
			m["tags."+t.Name] += float64(t.Packets)
		}
		for _, c := range n.Programs {
			m["programs."+c.Name] += float64(c.Packets)
		}
	}
}

// TraceHash combines the nodes' trace hashes in node order.
func TraceHash(nodes []metrics.NodeTotals) [32]byte {
	h := sha256.New()
	for i := range nodes {
		h.Write(nodes[i].TraceHash[:])
	}
	return [32]byte(h.Sum(nil))
}
