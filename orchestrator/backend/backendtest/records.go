package backendtest

import (
	"sync"

	"github.com/csiglab/csiglab/metrics"
)

// Result is all that a node has left.
type Result struct {
	metrics.NodeTotals
	Windows metrics.Batch // the rest of its records
}

// Records keeps all records of the nodes of a run. It is a metrics.Consumer that may
// be called from several goroutines.
type Records struct {
	mu    sync.Mutex
	nodes []metrics.Batch
}

// NewRecords returns the Records of nodes 0 to nodes-1.
func NewRecords(nodes int) *Records {
	r := &Records{nodes: make([]metrics.Batch, nodes)}
	for i := range r.nodes {
		r.nodes[i].Node = int32(i)
	}
	return r
}

// Sink returns that of a node, which runs here.
func (r *Records) Sink(node int) metrics.Sink { return &r.nodes[node] }

// Consume keeps a batch.
func (r *Records) Consume(b *metrics.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to := &r.nodes[b.Node]
	b.Each(to)
	to.Dropped += b.Dropped
}

// Results returns what the nodes have left by now, in their order.
func (r *Records) Results() []Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	results := make([]Result, len(r.nodes))
	for i := range r.nodes {
		results[i] = Result{NodeTotals: r.nodes[i].NodeTotals(), Windows: r.nodes[i]}
		results[i].Windows.Totals, results[i].Windows.Traces = nil, nil
	}
	return results
}
