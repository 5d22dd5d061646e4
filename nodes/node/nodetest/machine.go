package nodetest

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Machine is a machine whose behaviour a test writes down: what it does with a
// packet and at its deadline. Its ports send what Send has queued. Build it with
// NewMachine.
type Machine struct {
	OnReceive func(now units.Time, port int, p *wire.Packet)
	OnTimeout func(now units.Time)
	Deadline  units.Time     // NextTimeout; HandleTimeout makes it units.Never
	Takes     units.Duration // a packet's time on the wire
	// Source, if not nil, is asked for a packet of a port where none is queued, after
	// Wake; nil: there is none now.
	Source func(now units.Time, port int) *wire.Packet
	Lazy   bool // a port stays in Ready until Transmit has found it empty

	// Log has a line for each call, if it is asked for: "2000 port 0 psn 3", "3000
	// timeout", and, with LogTransmits, "3000 transmit 0 of 2", where 2 packets wait.
	Log                    []string
	LogCalls, LogTransmits bool

	Totals  metrics.NodeTotals // that it emits at the end
	Sink    metrics.Sink       // NewMachine sets Records
	Records metrics.Batch
	End     units.Time // of Close

	ready  node.PortSet
	queues []wire.Queue
}

// NewMachine returns a machine that does nothing with packets and has no deadline.
func NewMachine(ports int) *Machine {
	m := &Machine{Deadline: units.Never, ready: node.NewPortSet(ports), queues: make([]wire.Queue, ports)}
	m.Sink = &m.Records
	return m
}

// AddMachine gives a Rig a machine of NewMachine.
func AddMachine(r *Rig, ports int) *Machine {
	return Add(r, ports, func(ports int, _ *wire.Pool, sink metrics.Sink) (*Machine, error) {
		m := NewMachine(ports)
		m.Sink = sink
		return m, nil
	}, ports)
}

// Send queues a packet at a port.
func (m *Machine) Send(port int, p *wire.Packet) {
	m.queues[port].Push(p)
	m.ready.Add(port)
}

// Wake has Source asked for the packets of a port.
func (m *Machine) Wake(port int) { m.ready.Add(port) }

// Receive implements node.Machine.
func (m *Machine) Receive(now units.Time, port int, p *wire.Packet) {
	if m.LogCalls {
		m.Log = append(m.Log, fmt.Sprintf("%d port %d psn %d", now, port, p.PSN()))
	}
	if m.OnReceive != nil {
		m.OnReceive(now, port, p)
	}
}

// Transmit implements node.Machine.
func (m *Machine) Transmit(now units.Time, port int) (*wire.Packet, units.Time, bool) {
	q := &m.queues[port]
	if m.LogTransmits {
		m.Log = append(m.Log, fmt.Sprintf("%d transmit %d of %d", now, port, q.Len()))
	}
	p := q.Pop()
	if p == nil && m.Source != nil {
		p = m.Source(now, port)
	}
	if p == nil || q.Len() == 0 && !m.Lazy && m.Source == nil {
		m.ready.Remove(port)
	}
	return p, now.Add(m.Takes), p != nil
}

// HandleTimeout implements node.Machine.
func (m *Machine) HandleTimeout(now units.Time) {
	if m.LogCalls {
		m.Log = append(m.Log, fmt.Sprintf("%d timeout", now))
	}
	m.Deadline = units.Never
	if m.OnTimeout != nil {
		m.OnTimeout(now)
	}
}

// NextTimeout implements node.Machine.
func (m *Machine) NextTimeout() units.Time { return m.Deadline }

// Ready implements node.Machine.
func (m *Machine) Ready() node.PortSet { return m.ready }

// Profile implements node.Machine: the machine has no CSIG.
func (m *Machine) Profile() uint32 { return 0 }

// Close implements node.Machine.
func (m *Machine) Close(end units.Time) {
	m.End = end
	m.Sink.Emit(&m.Totals)
}
