package host_test

import (
	"runtime"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/units"
)

// memory is the heap in bytes that a host takes, without what its configuration refers
// to, and what a flow adds to its two hosts together.
type memory struct{ idle, waiting, underway, done float64 }

// measureMemory measures it with pairs of hosts that send each other flows of so many
// packets.
func measureMemory(t testing.TB) (m memory) {
	const flows, packets = 100, 200
	idle := heapOf(t, 0, 0, 0)
	m.idle = idle / 2
	m.waiting = (heapOf(t, flows, packets, 0) - idle) / flows
	m.underway = (heapOf(t, flows, packets, flows*packets/4) - idle) / flows
	m.done = (heapOf(t, flows, packets, flows*packets*2) - idle) / flows
	return m
}

// heapOf returns the heap of a pair of hosts with so many flows, half of them each way,
// after so many steps.
func heapOf(t testing.TB, flows, packets, steps int) float64 {
	const pairs = 16
	var c [2]host.Config
	for i := range c {
		c[i] = config(i)
		c[i].Records = units.Second
		for id := range flows {
			if id%2 == i {
				sends(&c[i], id, units.Size(packets)*mss, 0)
			} else {
				receives(&c[i], id, units.Size(packets)*mss)
			}
		}
	}
	kept := make([]*wirePair, pairs)
	before := heap()
	for i := range kept {
		kept[i] = newWirePair(t, c, [2]metrics.Sink{metrics.Discard, metrics.Discard})
		if steps > 0 {
			kept[i].begin()
		}
		for range steps {
			kept[i].step()
		}
	}
	bytes := heap() - before
	runtime.KeepAlive(kept)
	return bytes / pairs
}

func heap() float64 {
	runtime.GC()
	runtime.GC() // what the first has found free
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// A host without flows and a flow that has not started take little memory. What only
// flows under way need is given back when they are done.
func TestMemory(t *testing.T) {
	m := measureMemory(t)
	if m.idle > 2500 || m.waiting > 150 || m.underway > 4500 || m.done > m.underway-800 {
		t.Errorf("an idle host takes %.0f B, a flow that waits %.0f B, under way %.0f B, done %.0f B; want at most 2500, 150, 4500 and 800 less",
			m.idle, m.waiting, m.underway, m.done)
	}
}

// BenchmarkMemory reports what memory measures.
func BenchmarkMemory(b *testing.B) {
	var m memory
	for b.Loop() {
		m = measureMemory(b)
	}
	b.ReportMetric(m.idle, "B/idle-host")
	b.ReportMetric(m.waiting, "B/waiting-flow")
	b.ReportMetric(m.underway, "B/flow-under-way")
	b.ReportMetric(m.done, "B/flow-done")
}
