package exposition_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/units"
)

// large returns the Set of a switch with 32 ports and 16 flows, and the records of one of
// its windows.
func large() (*exposition.Set, *metrics.Batch) {
	d := description()
	d.Ports, d.Flows = nil, nil
	b := &metrics.Batch{Node: 3}
	for i := range int32(32) {
		d.Ports = append(d.Ports, exposition.PortDescription{Node: 3, Port: i, NodeName: "tor0", Name: fmt.Sprintf("tor0-h%d", i), Tier: "tor", Direction: "down", Rate: 1e11})
		b.Ports = append(b.Ports, metrics.PortWindow{Node: 3, Port: i, TxPackets: 100, TxBytes: 400_000, QueueMax: 5000, Busy: window / 3, ABW: 1e9})
	}
	for i := range int32(16) {
		d.Flows = append(d.Flows, exposition.FlowDescription{Flow: i, Name: fmt.Sprintf("%d-20", i)})
		b.Flows = append(b.Flows, metrics.FlowWindow{Flow: i, PayloadBytes: 400_000})
		b.CC = append(b.CC, metrics.CCWindow{Flow: i, Acks: 100, Delay: window, Cwnd: 100_000, Actions: []metrics.Count{{Name: "hold", Packets: 90}, {Name: "cut", Packets: 10}}})
		b.Signals = append(b.Signals, metrics.SignalWindow{Flow: i, Type: 2, Locator: 9, Samples: 100, PointMax: 1000})
	}
	return exposition.NewSet(d), b
}

// advance moves the records of a batch to a window.
func advance(b *metrics.Batch, i int) {
	at := units.Time(i) * units.Time(window)
	for k := range b.Ports {
		b.Ports[k].Start = at
	}
	for k := range b.Flows {
		b.Flows[k].Start, b.CC[k].Start, b.Signals[k].Start = at, at, at
	}
}

// The garbage collector of a node's process is off while it paces: counting and writing
// again and again must keep its memory.
func TestMemoryIsKept(t *testing.T) {
	s, b := large()
	i := 0
	if allocs := testing.AllocsPerRun(100, func() {
		i++
		advance(b, i)
		s.Consume(b)
	}); allocs != 0 {
		t.Errorf("%v allocations to count 80 records", allocs)
	}
	if checkout.SlowRace(t) {
		return // it makes sync.Pool forget at random
	}
	node := exposition.Of(exposition.NodeSent)
	if allocs := testing.AllocsPerRun(100, func() {
		s.SetValue(node, 5, "tor0")
		if err := s.WriteText(io.Discard); err != nil {
			t.Error(err)
		}
	}); allocs > 4 {
		t.Errorf("%v allocations to write all series, want at most 4", allocs)
	}
}

// BenchmarkConsume is what a record costs that a node's process counts.
func BenchmarkConsume(b *testing.B) {
	s, batch := large()
	for i := range b.N {
		advance(batch, i)
		s.Consume(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch.Len()), "ns/record")
}

// BenchmarkWrite is what a scrape of a switch with 32 ports costs.
func BenchmarkWrite(b *testing.B) {
	s, batch := large()
	s.Consume(batch)
	bytes := counter(0)
	for range b.N {
		if err := s.WriteText(&bytes); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(bytes) / int64(b.N))
	b.ReportAllocs()
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
