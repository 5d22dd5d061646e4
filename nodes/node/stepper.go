package node

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Departure is a packet on its way out of a port. The driver owns the packet.
type Departure struct {
	Port    int
	Departs units.Time
	Packet  *wire.Packet
	Digest  uint64 // of Packet, for ReceiveSent; 0 without trace hash
}

// Stepper drives one machine by the rules of the contract, knows which ports are
// busy, and folds every packet in and out into the node's trace. A driver calls
// it in canonical order and after each call takes Departures and Frees.
type Stepper struct {
	Machine Machine
	// Departures are the packets that the last call sent, in the order of
	// sending. Valid until the next call.
	Departures []Departure
	// Frees are the ports for which the last call wants PortFree at FreeAt.
	// Valid until the next call.
	Frees []int
	// Tap, if not nil, sees every packet that enters the machine or leaves it.
	Tap Tap

	sink  metrics.Sink
	trace Trace
	plain bool // the trace has no hash
	ready PortSet
	armed PortSet // a PortFree is due
	ports []stepperPort
}

type stepperPort struct {
	freeAt   units.Time // when the current packet's last bit leaves
	received metrics.Ingress
}

// Tap gets a packet: one received, before the machine gets it, or one that
// the machine has sent. It must neither keep nor change it.
type Tap func(now units.Time, port int, event Event, p *wire.Packet)

// NewStepper returns the stepper of a machine with the given number of ports. It
// emits into sink, which is the machine's.
func NewStepper(m Machine, ports int, sink metrics.Sink) *Stepper {
	return &Stepper{
		Machine: m,
		sink:    sink,
		ready:   m.Ready(),
		armed:   NewPortSet(ports),
		ports:   make([]stepperPort, ports),
	}
}

// LeaveOutHash makes the stepper count the events of the trace without hashing them,
// which is faster; the hash that Close emits is then zero. It comes before the first
// packet.
func (s *Stepper) LeaveOutHash() { s.plain = true }

// digest returns what a packet enters the trace as; 0 without hash.
func (s *Stepper) digest(p *wire.Packet) uint64 {
	if s.plain {
		return 0
	}
	return Digest(p)
}

// record adds an event to the trace.
func (s *Stepper) record(now units.Time, port int, event Event, digest uint64, size units.Size) {
	if s.plain {
		s.trace.events++
		return
	}
	s.trace.Add(now, port, event, digest, size)
}

// Receive gives the machine a packet.
func (s *Stepper) Receive(now units.Time, port int, p *wire.Packet) {
	s.ReceiveSent(now, port, p, s.digest(p))
}

// ReceiveSent is Receive for a driver that hands over the very packet of a
// Departure, untouched, and so knows its Digest.
func (s *Stepper) ReceiveSent(now units.Time, port int, p *wire.Packet, digest uint64) {
	s.ports[port].received.Packets++
	s.ports[port].received.Bytes += int64(p.Size)
	s.record(now, port, Received, digest, p.Size)
	if s.Tap != nil {
		s.Tap(now, port, Received, p)
	}
	s.Machine.Receive(now, port, p)
	s.drain(now)
}

// PortFree says that a port named in Frees has reached FreeAt.
func (s *Stepper) PortFree(now units.Time, port int) {
	s.armed.Remove(port)
	s.drain(now)
}

// Timeout says that NextTimeout has come.
func (s *Stepper) Timeout(now units.Time) {
	s.Machine.HandleTimeout(now)
	s.drain(now)
}

// NextTimeout is the machine's next deadline.
func (s *Stepper) NextTimeout() units.Time { return s.Machine.NextTimeout() }

// FreeAt returns when the packet that port is sending will have left.
func (s *Stepper) FreeAt(port int) units.Time { return s.ports[port].freeAt }

// Close closes the machine at end and emits the trace with the ingress counts. It
// is the last call.
func (s *Stepper) Close(end units.Time) {
	s.Machine.Close(end)
	received := make([]metrics.Ingress, len(s.ports))
	for i := range s.ports {
		received[i] = s.ports[i].received
	}
	t := metrics.Trace{Events: s.trace.Events(), Received: received}
	if !s.plain {
		t.Hash = s.trace.Sum()
	}
	s.sink.Emit(&t)
}

// drain sends from the ports that are ready and free. A port that is armed is not free
// until its PortFree, and then no longer armed.
func (s *Stepper) drain(now units.Time) {
	s.Departures, s.Frees = s.Departures[:0], s.Frees[:0]
	for port := s.ready.NextWithout(s.armed, 0); port >= 0; port = s.ready.NextWithout(s.armed, port+1) {
		state := &s.ports[port]
		for state.freeAt <= now {
			p, departs, ok := s.Machine.Transmit(now, port)
			if !ok {
				break
			}
			digest := s.digest(p)
			s.record(now, port, Sent, digest, p.Size)
			if s.Tap != nil {
				s.Tap(now, port, Sent, p)
			}
			state.freeAt = departs
			s.Departures = append(s.Departures, Departure{Port: port, Departs: departs, Packet: p, Digest: digest})
		}
		if state.freeAt > now && s.ready.Has(port) {
			s.armed.Add(port)
			s.Frees = append(s.Frees, port)
		}
	}
}
