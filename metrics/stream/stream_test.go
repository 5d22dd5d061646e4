package stream_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/stream"
)

// consumer keeps the windows' flows, once it may go on.
type consumer struct {
	open    chan struct{} // nil: at once
	flows   []int32
	totals  int
	nodes   map[int32]bool
	dropped int64
}

func (c *consumer) Consume(b *metrics.Batch) {
	if c.open != nil {
		<-c.open
	}
	for _, w := range b.Flows {
		c.flows = append(c.flows, w.Flow)
	}
	if c.nodes == nil {
		c.nodes = map[int32]bool{}
	}
	c.nodes[b.Node] = true
	c.totals += len(b.Totals)
	c.dropped += b.Dropped
}

func emit(b *stream.Buffer, from, to int) {
	for i := from; i < to; i++ {
		b.Emit(&metrics.FlowWindow{Flow: int32(i)})
	}
}

// Everything arrives once, in order, whatever becomes of the batches on their way.
func TestEverythingArrivesInOrder(t *testing.T) {
	const records = 100_000
	for _, overflow := range []stream.Overflow{stream.Block, stream.Drop} {
		var got consumer
		b := stream.NewBuffer(3, overflow, &got)
		emit(b, 0, records)
		b.Emit(&metrics.NodeTotals{})
		b.Close()
		if n := len(got.flows) + int(got.dropped); n != records || got.totals != 1 || len(got.nodes) != 1 || !got.nodes[3] {
			t.Fatalf("drop %v: %d records arrived and %d were dropped of %d; %d totals, of nodes %v", overflow, len(got.flows), got.dropped, records, got.totals, got.nodes)
		}
		if overflow == stream.Block && got.dropped != 0 {
			t.Errorf("%d records were dropped, none may be", got.dropped)
		}
		for i := 1; i < len(got.flows); i++ {
			if got.flows[i] <= got.flows[i-1] {
				t.Fatalf("drop %v: record %d after %d", overflow, got.flows[i], got.flows[i-1])
			}
		}
	}
}

// "under lockstep a full buffer blocks the node (exact, nothing lost)": with a
// consumer that has stopped, the node stops too, and the buffer stays bounded.
func TestBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := consumer{open: make(chan struct{})}
		b := stream.NewBuffer(0, stream.Block, &got)
		emitted := 0
		var node sync.WaitGroup
		node.Go(func() {
			for ; emitted < 1_000_000; emitted++ {
				emit(b, emitted, emitted+1)
			}
			b.Close()
		})
		synctest.Wait()
		if emitted == 0 || emitted > 10_000 {
			t.Errorf("the node has emitted %d records to a consumer that takes none", emitted)
		}
		close(got.open)
		node.Wait()
		if len(got.flows) != 1_000_000 || got.dropped != 0 {
			t.Errorf("%d records arrived, %d were dropped", len(got.flows), got.dropped)
		}
	})
}

// "under the wall clock records are dropped and counted (never block a pacing
// thread)"; the totals at the end are not among them.
func TestDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const records = 1_000_000
		got := consumer{open: make(chan struct{})}
		b := stream.NewBuffer(0, stream.Drop, &got)
		emit(b, 0, records) // returns, though nothing is consumed
		b.Finish()
		go func() {
			synctest.Wait()
			close(got.open)
		}()
		for range 1000 {
			b.Emit(&metrics.NodeTotals{})
		}
		b.Close()
		if got.dropped == 0 || len(got.flows)+int(got.dropped) != records || got.totals != 1000 {
			t.Errorf("%d records arrived and %d were dropped of %d, %d totals of 1000", len(got.flows), got.dropped, records, got.totals)
		}
		for i, flow := range got.flows[:10_000] {
			if flow != int32(i) {
				t.Fatalf("record %d is the %dth", flow, i)
			}
		}
	})
}

// What was dropped last is told as well, without a record behind it.
func TestDropsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const batch, batches = 128, 512
		got := consumer{open: make(chan struct{})}
		b := stream.NewBuffer(0, stream.Drop, &got)
		emit(b, 0, 1*batch)
		synctest.Wait() // the consumer holds the first batch
		emit(b, 0, (batches+1)*batch)
		go func() {
			synctest.Wait()
			close(got.open)
		}()
		b.Close()
		if got.dropped != batch {
			t.Errorf("%d dropped, want the last batch of %d", got.dropped, batch)
		}
	})
}

func ExampleNewBuffer() {
	totals := metrics.NewCollector(1)
	b := stream.NewBuffer(0, stream.Block, totals)
	b.Emit(&metrics.NodeTotals{Name: "h0"})
	b.Close()
	fmt.Println(cmp.Equal(totals.Totals()[0].Name, "h0"))
	// Output: true
}

// BenchmarkEmit is what a record costs the node.
func BenchmarkEmit(b *testing.B) {
	s := stream.NewBuffer(0, stream.Drop, metrics.NewCollector(1))
	w := metrics.PortWindow{TxPackets: 1}
	for b.Loop() {
		s.Emit(&w)
	}
	s.Close()
}

// lengths takes the numbers of records in batches.
type lengths chan int

func (l lengths) Consume(b *metrics.Batch) { l <- b.Len() }

// HandOn hands on a batch that is not full, and nothing if there are no records.
func TestHandOn(t *testing.T) {
	got := make(lengths, 10)
	b := stream.NewBuffer(0, stream.Drop, got)
	b.HandOn()
	b.Emit(&metrics.FlowWindow{})
	b.Emit(&metrics.FlowWindow{})
	b.HandOn()
	if n := <-got; n != 2 {
		t.Errorf("%d records were handed on, want the 2 that were held", n)
	}
	b.HandOn()
	b.Emit(&metrics.FlowWindow{})
	b.Close()
	if n := <-got; n != 1 || len(got) > 0 {
		t.Errorf("then %d records, and %d more batches, want 1 and none", n, len(got))
	}
}
