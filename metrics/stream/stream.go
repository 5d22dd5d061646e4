// Package stream carries records from a node to their consumer while the run goes
// on: a bounded buffer stands between the goroutine that drives the node, which must
// not wait for a disk or a pipe longer than its clock allows, and the consumer, which
// may be slow. It knows neither files nor pipes: a consumer does. The drivers of real
// nodes (nodes/emu) use it; a simulation hands batches on by itself
// (metrics.Batcher).
package stream

import "github.com/csiglab/csiglab/metrics"

const (
	// batchRecords is how many records are handed on at a time.
	batchRecords = 128
	// exactBatches and lossyBatches are how many batches a Buffer holds at most: enough
	// to let both sides work at once, and enough for a consumer that has stopped for a
	// moment, such as for a slow disk.
	exactBatches = 32
	lossyBatches = 512
)

// Overflow is what a Buffer does with records when it is full.
type Overflow bool

const (
	Block Overflow = false // the node waits: nothing is lost. For a clock that waits for the nodes.
	Drop  Overflow = true  // the records are dropped and counted. For a clock that waits for nobody.
)

// Buffer is the Sink of one node, bounded, with a goroutine that hands the records on
// in batches. Its methods belong to the goroutine of the node. Build it with
// NewBuffer, and end it with Close.
type Buffer struct {
	node     int32
	batch    *metrics.Batch // the node's: takes the records
	held     int            // records in batch
	overflow Overflow
	dropped  int64               // records since the last batch that was handed on
	full     chan *metrics.Batch // to the consumer's goroutine
	free     chan *metrics.Batch // and back
	done     chan struct{}
}

// NewBuffer returns a Buffer for the records of a node. It calls the consumer on a
// goroutine of its own; a consumer of several buffers must expect calls from all of
// them at once.
func NewBuffer(node int, overflow Overflow, to metrics.Consumer) *Buffer {
	limit := exactBatches
	if overflow == Drop {
		limit = lossyBatches
	}
	b := &Buffer{
		node:     int32(node),
		batch:    &metrics.Batch{Node: int32(node)},
		overflow: overflow,
		full:     make(chan *metrics.Batch, limit),
		free:     make(chan *metrics.Batch, limit+1),
		done:     make(chan struct{}),
	}
	go b.handOn(to)
	return b
}

// Emit keeps a copy of the record until it has been handed on.
func (b *Buffer) Emit(r metrics.Record) {
	b.batch.Emit(r)
	if b.held++; b.held == batchRecords || metrics.Urgent(r) {
		b.hand()
	}
}

// HandOn hands on the records that the Buffer holds, if any, before they make a full
// batch. Whoever drives the node in real time calls it now and then, so that readers of
// the records see those of a quiet node too.
func (b *Buffer) HandOn() {
	if b.held > 0 {
		b.hand()
	}
}

// Finish makes a full buffer block from now on, so that nothing of what a node emits
// at its end is dropped: its totals. The clock has stopped by then.
func (b *Buffer) Finish() { b.overflow = Block }

// Close hands on what is left and returns when the consumer has had everything.
func (b *Buffer) Close() {
	b.Finish()
	if b.held > 0 || b.dropped > 0 {
		b.hand()
	}
	close(b.full)
	<-b.done
}

// hand gives the batch to the consumer's goroutine and takes another one.
func (b *Buffer) hand() {
	b.batch.Dropped = b.dropped
	if b.overflow == Drop {
		select {
		case b.full <- b.batch:
		default:
			b.dropped += int64(b.held)
			b.batch.Reset()
			b.held = 0
			return
		}
	} else {
		b.full <- b.batch
	}
	b.dropped, b.held = 0, 0
	select {
	case b.batch = <-b.free:
	default:
		b.batch = &metrics.Batch{Node: b.node}
	}
}

func (b *Buffer) handOn(to metrics.Consumer) {
	defer close(b.done)
	for batch := range b.full {
		to.Consume(batch)
		batch.Reset()
		b.free <- batch // does not block: the buffer holds all batches
	}
}
