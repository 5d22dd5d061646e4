package nodetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

const delay = 900 * units.Picosecond

// star fills in the behaviour of a hub and its leaves: each leaf sends a packet at
// once and another later, in bursts that are the same for all; the hub passes each
// on to the next port.
func star(hub *nodetest.Machine, leaves []*nodetest.Machine) {
	hub.Takes = 70
	hub.OnReceive = func(_ units.Time, port int, p *wire.Packet) { hub.Send((port+1)%len(leaves), p) }
	for i, m := range leaves {
		m.Takes, m.Deadline = 100, 0
		m.OnTimeout = func(now units.Time) {
			m.Send(0, nodetest.Data(nil, i, 0, uint32(i), uint32(now), 64))
			if now < 50_000 {
				m.Deadline = now + 250
			}
		}
	}
}

// A Rig calls machines as sim does: the traces are the same, with many packets that
// arrive at one instant.
func TestRigIsADriver(t *testing.T) {
	const leaves = 5
	cfg := sim.Config{End: units.Never}
	r := nodetest.New(t)
	var machines [2][]*nodetest.Machine // of sim, of the rig
	for i := range leaves + 1 {
		ports := 1
		if i == 0 {
			ports = leaves
		}
		m := nodetest.NewMachine(ports)
		machines[0] = append(machines[0], m)
		machines[1] = append(machines[1], nodetest.AddMachine(r, ports))
		cfg.Nodes = append(cfg.Nodes, sim.Station{Machine: m, Ports: ports, Sink: m.Sink})
	}
	for i := range leaves {
		port := (3*i + 2) % leaves
		r.Join(1+i, 0, 0, port, delay)
		cfg.Links = append(cfg.Links, topologies.Link{A: topologies.End{Node: 1 + i}, B: topologies.End{Port: port}, Delay: delay})
	}
	for _, all := range machines {
		star(all[0], all[1:])
	}
	s := sim.New(cfg)
	s.Run()
	s.Close()
	r.Run(units.Never)
	for i, n := range r.Nodes {
		got, want := n.Totals(r.Now), machines[0][i].Records.NodeTotals()
		if got.TraceHash != want.TraceHash || got.Events != want.Events || got.Events < 100 {
			t.Errorf("node %d: %d events, sim has %d, or another trace", i, got.Events, want.Events)
		}
		if out := n.Pool.Out(); i > 0 && out > 0 { // what they send is from no pool
			t.Errorf("node %d keeps %d packets", i, out)
		}
	}
}

// A link may lose packets, repeat them and let one pass another.
func TestFault(t *testing.T) {
	r := nodetest.New(t)
	from, to := nodetest.AddMachine(r, 1), nodetest.AddMachine(r, 1)
	to.LogCalls = true
	r.Join(0, 0, 1, 0, delay)
	r.Fault = func(_ units.Time, from int, p *wire.Packet) []units.Duration {
		if from != 0 {
			t.Errorf("a packet from node %d", from)
		}
		return [][]units.Duration{nodetest.Intact, nil, {50, 0}, {10_000}, {}, nodetest.Intact}[p.PSN()]
	}
	from.Takes, from.Deadline = 100, 0
	from.OnTimeout = func(units.Time) {
		for psn := range uint32(6) {
			from.Send(0, nodetest.Data(nil, 0, 1, 1, psn, 64))
		}
	}
	r.Run(units.Never)
	want := "1000 port 0 psn 0, 1200 port 0 psn 2, 1250 port 0 psn 2, 1500 port 0 psn 5, 11300 port 0 psn 3"
	if got := strings.Join(to.Log, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// failing is a test that remembers why it has failed.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

// broken is a machine that breaks the contract of node.Machine as it is told.
type broken struct {
	*nodetest.Machine
	transmit func(now units.Time, port int) (*wire.Packet, units.Time, bool)
}

func (b *broken) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	return b.transmit(now, port)
}

// A machine that breaks the contract fails the test.
func TestRigChecksTheContract(t *testing.T) {
	p := nodetest.Data(nil, 0, 1, 1, 1, 64)
	for want, change := range map[string]func(*broken){
		"was not ready but has": func(b *broken) {
			b.transmit = func(now units.Time, _ int) (*wire.Packet, units.Time, bool) { return p, now, true }
		},
		"has nothing to send and is ready": func(b *broken) {
			b.transmit = func(units.Time, int) (*wire.Packet, units.Time, bool) { return nil, 0, false }
			b.Wake(0)
		},
		"departs at 4ps, now is 5ps": func(b *broken) {
			b.transmit = func(now units.Time, _ int) (*wire.Packet, units.Time, bool) {
				ready := b.Ready().Has(0)
				b.Ready().Remove(0)
				return p, now - 1, ready
			}
			b.Wake(0)
		},
		"next event is due at 4ps, now is 5ps": func(b *broken) {
			b.transmit = b.Machine.Transmit
			b.OnTimeout = func(units.Time) { b.Deadline = 4 }
		},
		"the limit 3600s": func(b *broken) {
			b.transmit = b.Machine.Transmit
			b.OnTimeout = func(now units.Time) { b.Deadline = now.Add(units.Hour) }
		},
	} {
		f := &failing{TB: t}
		func() {
			defer func() {
				if r := recover(); r != nil && r != f {
					panic(r)
				}
			}()
			r := nodetest.New(f)
			b := &broken{Machine: nodetest.AddMachine(r, 1)}
			r.Nodes[0].Stepper.Machine = b
			b.Deadline = 5
			change(b)
			r.Run(units.Never)
		}()
		if !strings.Contains(f.said, want) {
			t.Errorf("the test says %q, want %q", f.said, want)
		}
	}
}

func ExampleRig() {
	r := nodetest.New(new(testing.T))
	m := nodetest.AddMachine(r, 2)
	m.Takes = 332 * units.Nanosecond
	m.OnReceive = func(_ units.Time, _ int, p *wire.Packet) { m.Send(1, p) }
	r.Receive(0, 0, 0, nodetest.Data(nil, 0, 1, 7, 0, 4150), nodetest.Data(nil, 0, 1, 7, 1, 4150))
	r.Run(units.Never)
	for _, d := range r.Sent {
		fmt.Println(d.At, "port", d.Port, d.Packet)
	}
	// Output:
	// 0s port 1 data flow 7 psn 0
	// 332ns port 1 data flow 7 psn 1
}
