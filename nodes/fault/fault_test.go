package fault_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// toySwitch is a machine with the methods that faults need of a switch. It sends what it
// receives out of port 1, and a packet takes 10 ps.
type toySwitch struct {
	*nodetest.Machine
	rates    []string
	restarts []units.Time
	routes   []topologies.Routes
}

func (m *toySwitch) SetRate(now units.Time, port int, rate units.Rate) {
	m.rates = append(m.rates, fmt.Sprintf("%d port %d %v", now, port, rate))
}

func (m *toySwitch) Resize(_ units.Time, port, sizes int) {
	m.rates[len(m.rates)-1] += fmt.Sprintf(" sizes %d", sizes)
}

func (m *toySwitch) ResizeArrivals(port, sizes int) { m.Resize(0, port, sizes) }

func (m *toySwitch) SetArrivalRate(now units.Time, port int, rate units.Rate) {
	m.SetRate(now, port, rate)
	m.rates[len(m.rates)-1] += " in"
}

func (m *toySwitch) Discard(now units.Time, port int) (packets, bytes int64) {
	for p, _, ok := m.Machine.Transmit(now, port); ok; p, _, ok = m.Machine.Transmit(now, port) {
		packets++
		bytes += int64(p.Size)
	}
	return packets, bytes
}

func (m *toySwitch) Restart(now units.Time) (packets, bytes int64) {
	m.restarts = append(m.restarts, now)
	return m.Discard(now, 1)
}

func (m *toySwitch) SetRoutes(r topologies.Routes) { m.routes = append(m.routes, r) }

func packet() *wire.Packet { return nodetest.Data(nil, 1, 2, 0, 0, 100) }

// rig is a node with faults, driven by a Stepper.
type rig struct {
	*node.Stepper
	records metrics.Batch
	inner   *nodetest.Machine
	toy     *toySwitch
}

// newRig returns a switch, or a host, with the given changes.
func newRig(t testing.TB, isSwitch bool, changes ...fault.Change) *rig {
	t.Helper()
	r := &rig{inner: nodetest.NewMachine(2)}
	r.inner.Takes, r.inner.LogCalls = 10, true
	r.inner.OnReceive = func(_ units.Time, _ int, p *wire.Packet) { r.inner.Send(1, p) }
	r.toy = &toySwitch{Machine: r.inner}
	var m node.Machine = r.inner
	if isSwitch {
		m = r.toy
	}
	sink := fault.NewSink(&r.records)
	r.inner.Sink = sink
	f, err := fault.New(fault.Config{Node: 3, Seed: 1, Changes: changes}, m, 2, new(wire.Pool), sink)
	if err != nil {
		t.Fatal(err)
	}
	r.Stepper = node.NewStepper(f, 2, &r.records)
	return r
}

// totals closes the node and returns what its faults dropped.
func (r *rig) totals(end units.Time) []metrics.FaultTotals {
	r.Close(end)
	return r.records.NodeTotals().Faults
}

// What arrives while the link is down is lost, and so is what was on the link when it came
// up again: the link's delay later the first packet arrives. A change takes place before
// anything else at its instant.
func TestDownLosesWhatIsOnTheLink(t *testing.T) {
	r := newRig(t, false,
		fault.Change{At: 100, Kind: fault.Down, Begin: true, Fault: 7, Delay: 30},
		fault.Change{At: 200, Kind: fault.Down, Fault: 7, Delay: 30})
	for _, at := range []units.Time{99, 100, 199, 200, 229, 230} {
		r.Receive(at, 0, packet())
	}
	if want := []string{"99 port 0 psn 0", "230 port 0 psn 0"}; !slices.Equal(r.inner.Log, want) {
		t.Errorf("got %v, want %v", r.inner.Log, want)
	}
	if got, want := r.totals(300), (metrics.FaultTotals{Fault: 7, Reason: "link down", Arriving: 4, Bytes: 400}); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if drops := r.records.NodeTotals().Drops; len(drops) != 1 || drops[0] != (metrics.Count{Name: "link down", Packets: 4}) {
		t.Errorf("drops %+v, want 4", drops)
	}
}

// Of two faults that hold a link down the link is up after both.
func TestDownTwice(t *testing.T) {
	r := newRig(t, false,
		fault.Change{At: 100, Kind: fault.Down, Begin: true, Fault: 0},
		fault.Change{At: 150, Kind: fault.Down, Begin: true, Fault: 1},
		fault.Change{At: 200, Kind: fault.Down, Fault: 0},
		fault.Change{At: 250, Kind: fault.Down, Fault: 1})
	for _, at := range []units.Time{120, 160, 210, 260} {
		r.Receive(at, 0, packet())
	}
	if want := []string{"260 port 0 psn 0"}; !slices.Equal(r.inner.Log, want) {
		t.Errorf("got %v, want %v", r.inner.Log, want)
	}
	if got := r.totals(300); got[0].Arriving != 2 || got[1].Arriving != 1 {
		t.Errorf("got %+v, want 2 and 1", got)
	}
}

// A switch drops what is queued for a port when its link goes down, and what comes to it
// while the link is down.
func TestSwitchDropsForADeadPort(t *testing.T) {
	r := newRig(t, true,
		fault.Change{At: 5, Kind: fault.Down, Begin: true, Port: 1},
		fault.Change{At: 50, Kind: fault.Down, Port: 1})
	r.Receive(0, 0, packet()) // leaves at once
	r.Receive(1, 0, packet())
	r.Receive(2, 0, packet())
	r.PortFree(10, 1)
	r.Receive(20, 0, packet())
	if r.Ready().Has(1) {
		t.Error("the dead port is ready")
	}
	r.Receive(50, 0, packet())
	if len(r.Departures) != 1 {
		t.Errorf("%d packets left when the link was up again, want 1", len(r.Departures))
	}
	if got, want := r.totals(60), (metrics.FaultTotals{Reason: "link down", Queued: 3, Bytes: 300}); got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
}

func (r *rig) Ready() node.PortSet { return r.Machine.Ready() }

// A host holds what it has until the link is up, and asks for the time of a change only
// while it holds something, so that a fault makes no run longer.
func TestHostHolds(t *testing.T) {
	r := newRig(t, false,
		fault.Change{At: 5, Kind: fault.Down, Begin: true, Port: 1},
		fault.Change{At: 50, Kind: fault.Down, Port: 1})
	if got := r.NextTimeout(); got != units.Never {
		t.Errorf("next timeout %v, want never", got)
	}
	r.Receive(10, 0, packet())
	if len(r.Departures) != 0 || r.NextTimeout() != 50 {
		t.Errorf("%d packets left, next timeout %v, want none and 50", len(r.Departures), r.NextTimeout())
	}
	r.Timeout(50)
	if len(r.Departures) != 1 || r.NextTimeout() != units.Never {
		t.Errorf("%d packets left, next timeout %v, want 1 and never", len(r.Departures), r.NextTimeout())
	}
	if got := r.totals(60); got[0].Queued != 0 {
		t.Errorf("got %+v, want nothing dropped", got)
	}
}

func TestRatesRestartsAndRoutes(t *testing.T) {
	routes := topologies.NewRoutes([]uint16{1})
	r := newRig(t, true,
		fault.Change{At: 10, Kind: fault.Rate, Begin: true, Port: 1, Rate: units.Gbps},
		fault.Change{At: 20, Kind: fault.Restart, Begin: true, Fault: 1},
		fault.Change{At: 30, Kind: fault.Routes, Routes: routes},
		fault.Change{At: 40, Kind: fault.Rate, Port: 1, Rate: 2 * units.Gbps, Sizes: 2},
		fault.Change{At: 41, Kind: fault.Arrival, Begin: true, Fault: 2, Rate: 3 * units.Gbps, Sizes: 1})
	r.Receive(18, 0, packet())
	r.Receive(19, 0, packet())
	r.Receive(35, 0, packet())
	r.Receive(45, 0, packet())
	if want := []string{"10 port 1 1Gbps sizes 0", "40 port 1 2Gbps sizes 2", "41 port 0 3Gbps in sizes 1"}; !slices.Equal(r.toy.rates, want) {
		t.Errorf("rates %v, want %v", r.toy.rates, want)
	}
	if !slices.Equal(r.toy.restarts, []units.Time{20}) || len(r.toy.routes) != 1 {
		t.Errorf("restarts %v, %d routes, want one at 20 and one", r.toy.restarts, len(r.toy.routes))
	}
	got := r.totals(60)
	want := []metrics.FaultTotals{{Fault: 0}, {Fault: 1, Reason: "switch restart", Queued: 1, Bytes: 100}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Losses have the share that they are given and, in bursts, the mean length: "two-state
// Markov chain" with P(good -> bad) = p and P(bad -> good) = r, where the share of lost
// packets is p/(p+r) and bursts have 1/r packets on average (Gilbert 1960, with h = 0;
// Elliott 1963).
func TestShareAndBursts(t *testing.T) {
	for _, c := range []struct {
		kind         fault.Kind
		share, burst float64
	}{{fault.Loss, 0.1, 0}, {fault.Loss, 1, 0}, {fault.Corruption, 0.1, 0}, {fault.Loss, 0.1, 8}, {fault.Corruption, 0.3, 4}, {fault.Loss, 0.5, 1}} {
		r := newRig(t, false, fault.Change{Kind: c.kind, Begin: true, Share: c.share, Burst: c.burst})
		const packets = 100_000
		lost, bursts, before := 0, 0, false
		for i := range packets {
			got := len(r.inner.Log)
			r.Receive(units.Time(100*i), 0, packet())
			dropped := len(r.inner.Log) == got
			if dropped {
				lost++
				if !before {
					bursts++
				}
			}
			before = dropped
		}
		long := max(1, c.burst)
		if got := float64(lost) / packets; math.Abs(got-c.share) > 6*math.Sqrt(2*long*c.share*(1-c.share)/packets)+1e-12 {
			t.Errorf("%+v: %v of the packets were lost", c, got)
		}
		mean := float64(lost) / float64(bursts)
		want := c.burst
		if want == 0 {
			want = 1 / (1 - c.share) // of independent losses
		}
		if c.share < 1 && math.Abs(mean-want) > 0.1*want {
			t.Errorf("%+v: a burst has %v packets, want %v", c, mean, want)
		}
		if got := r.totals(math.MaxInt64 / 2)[0].Arriving; got != int64(lost) {
			t.Errorf("%+v: %d were counted, %d were lost", c, got, lost)
		}
	}
}

// Two faults of one link draw independently, and what is lost cannot fail a check.
func TestLossAndCorruptionOfOneLink(t *testing.T) {
	r := newRig(t, false,
		fault.Change{Kind: fault.Corruption, Begin: true, Fault: 0, Share: 0.5},
		fault.Change{Kind: fault.Loss, Begin: true, Fault: 1, Share: 0.5})
	const packets = 40_000
	for i := range packets {
		r.Receive(units.Time(100*i), 0, packet())
	}
	got := r.totals(math.MaxInt64 / 2)
	for i, want := range []float64{packets / 4, packets / 2} {
		if math.Abs(float64(got[i].Arriving)-want) > 6*math.Sqrt(want) {
			t.Errorf("fault %d dropped %d packets, want about %v", i, got[i].Arriving, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]fault.Change{
		"port":    {Kind: fault.Down, Begin: true, Port: 2},
		"kind":    {Kind: 99},
		"rate":    {Kind: fault.Rate, Begin: true},
		"a host":  {Kind: fault.Restart, Begin: true},
		"share":   {Kind: fault.Loss, Begin: true, Share: 1.5},
		"nothing": {Kind: fault.Loss, Begin: true},
		"burst":   {Kind: fault.Loss, Begin: true, Share: 0.9, Burst: 2},
	} {
		sink := fault.NewSink(metrics.Discard)
		if _, err := fault.New(fault.Config{Changes: []fault.Change{c}}, nodetest.NewMachine(2), 2, new(wire.Pool), sink); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	unordered := []fault.Change{{At: 2, Kind: fault.Down, Begin: true}, {At: 1, Kind: fault.Down}}
	if _, err := fault.New(fault.Config{Changes: unordered}, nodetest.NewMachine(2), 2, new(wire.Pool), fault.NewSink(metrics.Discard)); err == nil {
		t.Error("changes that are not in order of time: no error")
	}
}

// A packet that passes a machine with faults, or that these drop, allocates nothing.
func TestNoAllocation(t *testing.T) {
	sink := fault.NewSink(metrics.Discard)
	inner := &sinkhole{nodetest.NewMachine(1)}
	f, err := fault.New(fault.Config{Changes: []fault.Change{{Kind: fault.Loss, Begin: true, Share: 0.3, Burst: 5}}}, inner, 1, new(wire.Pool), sink)
	if err != nil {
		t.Fatal(err)
	}
	p := packet()
	f.Receive(0, 0, p)
	if got := testing.AllocsPerRun(1000, func() { f.Receive(1, 0, p) }); got != 0 {
		t.Errorf("%v allocations for a packet", got)
	}
}

// sinkhole keeps nothing.
type sinkhole struct{ *nodetest.Machine }

func (*sinkhole) Receive(units.Time, int, *wire.Packet) {}
