package metrics

import "slices"

// Consumer takes batches of records. The batch is the caller's again when Consume
// returns: a consumer copies what it keeps. Unless an implementation says
// otherwise, only one goroutine at a time may call it (see package stream).
type Consumer interface{ Consume(b *Batch) }

// Consumers hands every batch to each of its elements, in order; without any it drops
// all batches.
type Consumers []Consumer

// Consume hands on a batch.
func (c Consumers) Consume(b *Batch) {
	for _, to := range c {
		to.Consume(b)
	}
}

// Batcher is a Sink that hands the records of one node on in batches. Build it
// with NewBatcher.
type Batcher struct {
	batch Batch
	held  int // records in batch
	limit int
	to    Consumer
}

// NewBatcher returns a Batcher for the records of a node that hands on as soon as
// it holds limit records, which must be positive.
func NewBatcher(node, limit int, to Consumer) *Batcher {
	return &Batcher{batch: Batch{Node: int32(node)}, limit: limit, to: to}
}

// Emit keeps a copy of the record until it is handed on.
func (b *Batcher) Emit(r Record) {
	r.appendTo(&b.batch)
	if b.held++; b.held >= b.limit || Urgent(r) {
		b.Flush()
	}
}

// Flush hands on what the Batcher holds. Whoever drives the node calls it after
// the node was closed.
func (b *Batcher) Flush() {
	if b.held == 0 {
		return
	}
	b.to.Consume(&b.batch)
	b.batch.Reset()
	b.held = 0
}

// Collector is a Consumer that keeps what the nodes of a run emit at their end,
// and drops the windows. Build it with NewCollector.
type Collector struct{ nodes []collected }

// collected is what a Collector keeps of a node.
type collected struct {
	totals  []NodeTotals
	traces  []Trace
	dropped int64
}

// NewCollector returns the Collector of a run of nodes 0 to nodes-1.
func NewCollector(nodes int) *Collector { return &Collector{nodes: make([]collected, nodes)} }

// Consume keeps the totals of a batch.
func (c *Collector) Consume(b *Batch) {
	to := &c.nodes[b.Node]
	to.dropped += b.Dropped
	to.totals = append(to.totals, b.Totals...)
	to.traces = append(to.traces, b.Traces...)
}

// Totals returns the totals of all nodes, in their order. A node that has emitted
// none has those of NodeTotals{Node: its number}.
func (c *Collector) Totals() []NodeTotals {
	all := make([]NodeTotals, len(c.nodes))
	for i := range c.nodes {
		of := &c.nodes[i]
		all[i] = (&Batch{Node: int32(i), Totals: of.totals, Traces: of.traces}).NodeTotals()
	}
	return all
}

// Dropped returns how many records of all nodes were dropped.
func (c *Collector) Dropped() (records int64) {
	for i := range c.nodes {
		records += c.nodes[i].dropped
	}
	return records
}

// NodeTotals returns the totals in the batch, with the trace of the node and the
// ingress half of its ports filled in. It shares the lists of the batch.
func (b *Batch) NodeTotals() NodeTotals {
	t := NodeTotals{Node: b.Node}
	for i := range b.Totals {
		one := &b.Totals[i]
		if i == 0 {
			t = *one
			continue
		}
		t.Node, t.Name, t.Memory = one.Node, one.Name, one.Memory
		t.Made, t.Postcards, t.Taken = t.Made+one.Made, t.Postcards+one.Postcards, t.Taken+one.Taken
		t.Ports = slices.Concat(t.Ports, one.Ports)
		t.Senders = slices.Concat(t.Senders, one.Senders)
		t.Receivers = slices.Concat(t.Receivers, one.Receivers)
		t.Drops = slices.Concat(t.Drops, one.Drops)
		t.Tags = slices.Concat(t.Tags, one.Tags)
		t.Programs = slices.Concat(t.Programs, one.Programs)
		t.Faults = slices.Concat(t.Faults, one.Faults)
		t.Jobs = slices.Concat(t.Jobs, one.Jobs)
	}
	for i := range b.Traces {
		trace := &b.Traces[i]
		t.TraceHash, t.Events = trace.Hash, trace.Events
		for k := range t.Ports {
			p := &t.Ports[k]
			p.RxPackets, p.RxBytes = trace.Received[p.Port].Packets, trace.Received[p.Port].Bytes
		}
	}
	return t
}
