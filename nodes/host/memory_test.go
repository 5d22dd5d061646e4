package host_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/wire"
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

// Packets cost no allocation once two hosts, that send each other flows, have warmed up:
// neither those of the flows nor the ACKs and NACKs, with tags and without.
func TestAllocations(t *testing.T) {
	for name, edit := range map[string]func(*host.Config){
		"without CSIG": func(*host.Config) {},
		"tags": func(c *host.Config) {
			c.CSIG = &csig.Config{Format: csig.FormatWide, MaxRate: 100 * units.Gbps}
			c.Tagging = transport.Tagging{Sampling: csig.Sampling{Every: 3}, Signal: csig.ABW}
		},
		"probes": func(c *host.Config) {
			c.CSIG = &csig.Config{Format: csig.FormatWide, MaxRate: 100 * units.Gbps}
			c.Tagging = transport.Tagging{Probe: 20 * units.Microsecond, Signal: csig.Delay}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c [2]host.Config
			for i := range c {
				c[i] = config(i)
				c[i].Records = units.Second
				for id := range 10 {
					if id%2 == i {
						sends(&c[i], id, 100_000*mss, 0)
					} else {
						receives(&c[i], id, 100_000*mss)
					}
				}
				edit(&c[i])
			}
			w := newWirePair(t, c, [2]metrics.Sink{metrics.Discard, metrics.Discard})
			w.begin()
			checkNoAllocations(t, 30_000, w.step)
			for i, h := range w.hosts {
				if got := h.Delivered(); got < 20_000*int64(mss) {
					t.Errorf("host %d has received %d bytes, too few for a steady state", i, got)
				}
			}
		})
	}
}

// wirePair is two hosts whose packets are under way for a number of steps: one in 50 is
// trimmed, one in 20 is marked.
type wirePair struct {
	hosts  [2]*host.Host
	flying [2][10]*wire.Packet // from each host, a place per step
	pool   *wire.Pool
	steps  int
	random *rand.Rand
}

func (w *wirePair) now() units.Time { return units.Time(w.steps) * units.Time(perPacket) }

func newWirePair(t testing.TB, c [2]host.Config, sinks [2]metrics.Sink) *wirePair {
	t.Helper()
	w := &wirePair{pool: new(wire.Pool), random: rand.New(rand.NewPCG(1, 2))}
	for i := range c {
		var err error
		if w.hosts[i], err = host.New(&c[i], w.pool, sinks[i]); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// begin starts the flows that start at time 0.
func (w *wirePair) begin() {
	for _, h := range w.hosts {
		h.HandleTimeout(0)
	}
}

// step lets each host receive a packet and send one.
func (w *wirePair) step() {
	w.steps++
	now := w.now()
	for i, h := range w.hosts {
		place := &w.flying[i][w.steps%len(w.flying[i])]
		if p := *place; p != nil {
			w.hosts[1-i].Receive(now, host.NIC, p)
			*place = nil
		}
		if h.NextTimeout() <= now {
			h.HandleTimeout(now)
		}
		if h.Ready().Has(host.NIC) {
			*place, _, _ = h.Transmit(now, host.NIC)
		}
		if p := *place; p != nil && p.Kind() == wire.Data {
			switch n := w.random.IntN(100); {
			case n < 2:
				p.Trim(wire.Sizes{Header: header}, false)
			case n < 7:
				p.MarkCE()
			}
		}
	}
}

// checkNoAllocations checks that many steps together allocate nothing after some have
// warmed up what they use: less than one allocation per step would count as none
// otherwise.
func checkNoAllocations(t *testing.T, warm int, step func()) {
	t.Helper()
	const together = 200
	for range warm {
		step()
	}
	if n := testing.AllocsPerRun(20, func() {
		for range together {
			step()
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d steps, want 0", n, together)
	}
}

// Host.Delivered counts each payload byte once; a flow that has not started has totals as
// one of which nothing was sent.
func TestDelivered(t *testing.T) {
	c := [2]host.Config{config(0), config(1)}
	sends(&c[0], 7, 10*mss+1, 0)
	sends(&c[0], 3, 5*mss, 0) // ids need not ascend
	sends(&c[0], 9, mss, units.Time(units.Hour))
	receives(&c[1], 7, 10*mss+1)
	receives(&c[1], 3, 5*mss)
	receives(&c[1], 9, mss)
	var records [2]metrics.Batch
	w := newWirePair(t, c, [2]metrics.Sink{&records[0], &records[1]})
	w.begin()
	for range 1000 {
		w.step()
	}
	if got, want := w.hosts[1].Delivered(), int64(15*mss+1); got != want {
		t.Errorf("%d bytes delivered, want %d", got, want)
	}
	for _, h := range w.hosts {
		h.Close(w.now())
	}
	var ids []int32
	for _, s := range records[0].Totals[0].Senders {
		ids = append(ids, s.Flow)
	}
	if diff := cmp.Diff(ids, []int32{7, 3, 9}); diff != "" {
		t.Errorf("senders (-got +want):\n%s", diff)
	}
	path := c[0].Path
	window := 3 * path.LinkRate.Volume(path.NetworkRTT) / 2 // nscc: 1.5 BDP
	idle := metrics.SenderTotals{Flow: 9, Start: units.Never, Done: units.Never, BaseRTT: path.NetworkRTT, Cwnd: int64(window)}
	if diff := cmp.Diff(records[0].Totals[0].Senders[2], idle); diff != "" {
		t.Errorf("a flow that has not started (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(records[1].Totals[0].Receivers[2], metrics.ReceiverTotals{Flow: 9, Done: units.Never}); diff != "" {
		t.Errorf("its receiver (-got +want):\n%s", diff)
	}
}
